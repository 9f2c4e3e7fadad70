import { userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { nameOf } from '../../src/cli/me.ts';

it.each([
  [{ USER: 'ada', LOGNAME: 'bob' }, 'ada'],
  [{ USER: '', LOGNAME: 'bob' }, 'bob'],
  [{}, userInfo().username],
])('with %j one is called %s', (env, name) => {
  expect(nameOf({ env })).toBe(name);
});
