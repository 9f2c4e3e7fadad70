import type { PodEvent, Snapshot } from '../../../src/pod/index.ts';
import { PodView } from '../../../src/pod/view/view.ts';

/** The differences between the sum of all events and the pod's snapshot. */
export function snapshotDifferences(log: readonly PodEvent[], snapshot: Snapshot): readonly string[] {
  const view = new PodView();
  for (const event of log) view.apply(event);
  const { items, settings, todos, queue, state, compacting, run, turn } = view;
  const fromEvents = {
    items,
    settings,
    todos,
    queue,
    state,
    compacting,
    run,
    turn,
    approvals: view.approvals.pending(),
    tools: [...view.tools.values()],
    shells: [...view.shells.values()],
    blocks: view.blocks(),
  };
  return Object.entries(fromEvents).flatMap(([key, value]) => {
    const other: unknown = snapshot[key as keyof Snapshot];
    return JSON.stringify(value) === JSON.stringify(other) ? [] : [`${key} ${difference(value, other)}`];
  });
}

function difference(one: unknown, other: unknown): string {
  if (!Array.isArray(one) || !Array.isArray(other)) return mismatch(one, other);
  const at = one.findIndex((value, index) => JSON.stringify(value) !== JSON.stringify(other[index]));
  const first = at < 0 ? one.length : at;
  return `from ${first} on ${mismatch(one[first], other[first])}`;
}

function mismatch(one: unknown, other: unknown): string {
  return `by the events: ${JSON.stringify(one)}, by the snapshot: ${JSON.stringify(other)}`;
}
