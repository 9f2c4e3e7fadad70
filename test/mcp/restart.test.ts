import { expect, test } from 'vitest';
import { decideRestart, type RestartPolicy } from '../../src/mcp/index.ts';

const POLICY: RestartPolicy = { maxRestarts: 4, baseMs: 100, capMs: 500, stableMs: 1000 };
const CRASH = { text: 'it crashed', permanent: false };

test.each([
  [
    { restarts: 0, livedMs: 0 },
    { type: 'restart', restarts: 1, delayMs: 100 },
  ],
  [
    { restarts: 1, livedMs: 0 },
    { type: 'restart', restarts: 2, delayMs: 200 },
  ],
  [
    { restarts: 2, livedMs: 999 },
    { type: 'restart', restarts: 3, delayMs: 400 },
  ],
  [
    { restarts: 3, livedMs: 0 },
    { type: 'restart', restarts: 4, delayMs: 500 },
  ],
  [
    { restarts: 4, livedMs: 999 },
    { type: 'give-up', restarts: 4 },
  ],
  [
    { restarts: 4, livedMs: 1000 },
    { type: 'restart', restarts: 1, delayMs: 100 },
  ],
])('after %j: %j', (ending, next) => {
  expect(decideRestart(POLICY, { failure: CRASH, ...ending })).toEqual(next);
});

test('a permanent failure is not retried', () => {
  const failure = { text: 'not found', permanent: true };
  expect(decideRestart(POLICY, { failure, restarts: 0, livedMs: 5000 })).toEqual({
    type: 'give-up',
    restarts: 0,
  });
});
