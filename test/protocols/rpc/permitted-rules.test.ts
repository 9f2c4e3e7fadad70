import { expect, it } from 'vitest';
import { permittedRules, UNASKED } from '../../../src/protocols/rpc/permitted-rules.ts';
import type { Rule } from '../../../src/tools/index.ts';

const own: Rule = { tool: 'write', path: 'build/**', action: 'auto' };
const old: Rule = { command: 'git push', action: 'auto' };
const forbidden: Rule = { command: 'git push', action: 'deny' };

it('puts what the user decided before what the mode allows, and the session’s own first', () => {
  const rules = permittedRules([own], [forbidden], false);
  expect([rules[0], ...rules.slice(2)]).toEqual([own, forbidden, ...UNASKED]);
});

it('puts the rules of today in the place of those of an earlier link', () => {
  const earlier = permittedRules([own], [old], false);
  expect(permittedRules(earlier, [forbidden], false)).toEqual(permittedRules([own], [forbidden], false));
  expect(permittedRules([own, ...permittedRules([], [old], false)], [old], false)).toEqual(earlier);
});

it('takes them away for a client that wants to be asked', () => {
  expect(permittedRules(permittedRules([own], [old], false), [old], true)).toEqual([own]);
  expect(permittedRules([own], [old], true)).toEqual([own]);
});
