import { expect, it } from 'vitest';
import { podLines } from '../../../src/protocols/index.ts';
import type { Project } from '../../../src/protocols/tasks/index.ts';
import { textAnswer, STALLS, tasksFixture } from './fixture.ts';

it('a live event is serialized once for all clients of its task, also where the task starts and ends', async () => {
  const { project, counts } = counting(await podLines(100_000));
  const { client } = await tasksFixture(
    ({ messages }) => (messages.at(-1)?.text === 'wait' ? STALLS : textAnswer('mine')),
    { tasks: { project } },
  );
  const ada = client();
  const first = await ada.submit({ userPrompt: 'wait' });
  const second = await ada.submit({ userPrompt: 'go' });
  const readers = await Promise.all([1, 2, 3].map(() => ada.events(`/tasks/${second}/events`)));
  // All three have caught up: later events are live, and the same for each of them.
  for (const reader of readers) await reader.waitFor('queued');
  await ada.post(`/tasks/${first}/cancel`);
  for (const reader of readers) await reader.ended;
  expect(readers.map(({ names }) => names.at(-1))).toEqual(['run_end', 'run_end', 'run_end']);
  expect(new Set(counts.values())).toEqual(new Set([1]));
});

/** Counts how often the data of each line is serialized. */
function counting(base: Project): { readonly project: Project; readonly counts: Map<object, number> } {
  const counts = new Map<object, number>();
  const watched = new WeakSet<object>();
  const count = (data: object): void => {
    if (watched.has(data)) return;
    watched.add(data);
    const toJSON = (): object => {
      counts.set(data, (counts.get(data) ?? 0) + 1);
      return { ...data };
    };
    Object.defineProperty(data, 'toJSON', { value: toJSON });
  };
  return {
    counts,
    async *project(pod, options) {
      for await (const events of base(pod, options)) {
        for (const { lines } of events) for (const { data } of lines) count(data);
        yield events;
      }
    },
  };
}
