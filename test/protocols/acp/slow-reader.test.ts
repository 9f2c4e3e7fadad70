import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { arrayOf, objectOf } from '../../../src/base/index.ts';
import type { PodHandle } from '../../../src/control/index.ts';
import type { Snapshot } from '../../../src/pod/index.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { acpFixture, allow, calls, STALLS, textAnswer } from './fixture.ts';

/** More than the log of events keeps, so that a client that reads nothing of it has missed events. */
const MUCH: SimAnswer = { parts: [], pace: { deltas: 60, chunkSize: 1_000_000, delayMs: 5 } };
const OPTIONS = {
  daemon: true,
  config: { limits: { watcher: 10 } },
} as const;
const NOTICES = { session: { notices: {} } } as const;

async function snapshotOf(pod: PodHandle): Promise<Snapshot> {
  const leave = new AbortController();
  try {
    for await (const watched of pod.watch({ signal: leave.signal }))
      if (watched.type === 'snapshot') return watched.snapshot;
  } finally {
    leave.abort();
  }
  throw new Error('the pod was closed');
}

async function until(pod: PodHandle, matches: (snapshot: Snapshot) => boolean): Promise<void> {
  while (!matches(await snapshotOf(pod)));
}

test('a prompt whose run ended while the editor read nothing is answered when the editor reads again', async () => {
  const { editor, cwd, pod } = await acpFixture([textAnswer('Hello'), MUCH], OPTIONS);
  const one = await editor({ capabilities: NOTICES });
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  const session = await pod(sessionId);
  await session.handle({ type: 'configure', set: { autoCompaction: false } }, { by: 'ben', door: 'pod' });
  one.child.stdout.pause();
  const prompt = one.prompt(sessionId, 'much');
  await until(session, ({ state, items }) => state === 'idle' && items.length === 4);
  one.child.stdout.resume();
  expect(await prompt).toBe('end_turn');
  expect(await one.updateOf(sessionId, 'notice')).toMatchObject({
    title: expect.stringContaining('missed') as string,
  });
}, 120_000);

test('an editor that missed events closes its calls, and its prompts are answered by their own runs', async () => {
  const { editor, cwd, pod } = await acpFixture(
    [calls('bash', { command: 'cat go' }), MUCH, STALLS],
    OPTIONS,
  );
  execFileSync('mkfifo', [join(cwd, 'go')]);
  const one = await editor({ capabilities: NOTICES, permission: () => allow });
  const { sessionId } = await one.newSession(cwd);
  const first = one.prompt(sessionId, 'one');
  first.catch(() => {});
  await one.update(sessionId, ({ status }) => status === 'in_progress');
  const second = one.prompt(sessionId, 'two');
  const session = await pod(sessionId);
  await session.handle({ type: 'configure', set: { autoCompaction: false } }, { by: 'ben', door: 'pod' });
  await until(session, ({ queue }) => queue.length === 1);
  one.child.stdout.pause();
  await writeFile(join(cwd, 'go'), 'done\n');
  await until(session, ({ blocks }) => blocks.some(({ text }) => text.includes('I begin')));
  one.child.stdout.resume();
  await one.updateOf(sessionId, 'notice');
  await expect(first).rejects.toMatchObject({
    message: expect.stringContaining('load the session again') as string,
  });
  expect(await one.update(sessionId, ({ status }) => status === 'completed')).toMatchObject({
    toolCallId: 'call_1',
    content: [{ content: { text: expect.stringContaining('done') as string } }],
  });
  await one.agent.notify('session/cancel', { sessionId });
  expect(await second).toBe('cancelled');
  const announced = one.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === 'tool_call');
  expect(announced).toHaveLength(1);
  expect(arrayOf(announced).map((call) => objectOf(call).toolCallId)).toEqual(['call_1']);
}, 120_000);
