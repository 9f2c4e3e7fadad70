import { describe, expect, test } from 'vitest';
import { uuidv7 } from '../../src/base/index.ts';
import { findSession, shortIds } from '../../src/setup/index.ts';

const SESSIONS = [
  { id: '01a1de9a-2e17-76a0', name: 'refactoring' },
  { id: '01a1de9a-3fab-7365', name: 'twin' },
  { id: '01a1de9b-0000-7000', name: 'twin' },
  { id: '02b', name: '01a1' },
];

describe('a session', () => {
  test.each([
    ['its id', '01a1de9a-2e17-76a0', 0],
    ['the beginning of it', '01a1de9a-2', 0],
    ['the beginning in capitals', '01A1DE9B', 2],
    ['the end of its id', '17-76a0', 0],
    ['the end in capitals', '76A0', 0],
    ['its name', 'refactoring', 0],
    ['a name that looks like the beginning of other ids', '01a1', 3],
  ])('is found by %s', (_title, word, at) => {
    expect(findSession(SESSIONS, word)).toBe(SESSIONS[at]);
  });

  test.each([
    ['twin', /^"twin" matches 2 sessions: 01a1de9a-3fab-7365 \(twin\), 01a1de9b-0000-7000 \(twin\)\. Use/],
    ['01a1de9a', /^"01a1de9a" matches 2 sessions/],
    ['refactorign', /^there is no session "refactorign"; did you mean refactoring\?$/],
    ['elephant', /^there is no session "elephant"; polypod ls --all lists them$/],
    ['', /^there is no session ""/],
    ['6a0', /^there is no session "6a0"/],
  ])('is not guessed from %j', (word, sentence) => {
    expect(() => findSession(SESSIONS, word)).toThrow(sentence);
  });

  test('has a shortest unique end of its id, which finds it', () => {
    const sessions = [...SESSIONS, { id: '01a1de9c-9fab-7365' }];
    const ids = shortIds(sessions.map(({ id }) => id));
    expect(sessions.map(({ id }) => ids.get(id))).toEqual([
      'e17-76a0',
      '3fab-7365',
      '000-7000',
      '02b',
      '9fab-7365',
    ]);
    for (const [id, short] of ids) expect(findSession(sessions, short).id).toBe(id);
  });

  test('has a short id that differs from those of sessions created in the same millisecond', () => {
    const now = Date.now();
    const sessions = Array.from({ length: 50 }, () => ({ id: uuidv7(now) }));
    const ids = shortIds(sessions.map(({ id }) => id));
    for (const [id, short] of ids) {
      expect(short).toHaveLength(8);
      expect(findSession(sessions, short).id).toBe(id);
    }
  });
});
