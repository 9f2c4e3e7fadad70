import { userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { currentUserName } from '../../src/cli/current-user.ts';

it.each([
  [{ USER: 'ada', LOGNAME: 'bob' }, 'ada'],
  [{ USER: '', LOGNAME: 'bob' }, 'bob'],
  [{}, accountName() ?? 'someone'],
])('with %j the current user is %s', (env, name) => {
  expect(currentUserName({ env })).toBe(name);
});

/** Undefined for a user id without an account, which containers may have. */
function accountName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
