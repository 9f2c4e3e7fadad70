import { describe, expect, test } from 'vitest';
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
  ])('is not guessed from %j', (word, sentence) => {
    expect(() => findSession(SESSIONS, word)).toThrow(sentence);
  });

  test('has a shortest unique id prefix, which finds it', () => {
    const ids = shortIds(SESSIONS.map(({ id }) => id));
    expect([...ids.values()]).toEqual(['01a1de9a-2', '01a1de9a-3', '01a1de9b', '02b']);
    for (const [id, short] of ids) expect(findSession(SESSIONS, short).id).toBe(id);
  });
});
