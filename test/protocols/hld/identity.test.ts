import { expect, it } from 'vitest';
import { uuidv7, uuidv7Time } from '../../../src/base/index.ts';
import {
  approvalIdIn,
  claudeSessionId,
  rowId,
  wireApprovalId,
} from '../../../src/protocols/hld/sessions/identity.ts';

it('a session has one stable Claude session id, which is a UUID', () => {
  const [one, other] = [uuidv7(), uuidv7()];
  expect(claudeSessionId(one)).toBe(claudeSessionId(one));
  expect(claudeSessionId(one)).not.toBe(claudeSessionId(other));
  expect(claudeSessionId(one)).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

it('row numbers increase within a session and are safe integers in JSON', () => {
  const sessionId = uuidv7();
  const [first, second] = [rowId(sessionId, 1), rowId(sessionId, 2)];
  expect(second - first).toBe(1);
  expect(Number.isSafeInteger(rowId(sessionId, 2 ** 20))).toBe(true);
  expect(rowId(uuidv7(), 1)).not.toBe(first);
});

it('the id of an approval contains its creation time', () => {
  const at = Date.parse('2026-01-02T03:04:05.678Z');
  const id = uuidv7(at);
  expect(uuidv7Time(approvalIdIn(wireApprovalId(id)))).toBe(at);
  expect(approvalIdIn(id)).toBe(id);
  expect(uuidv7Time('nonsense')).toBeUndefined();
  expect(uuidv7Time(claudeSessionId(id))).toBeUndefined();
});
