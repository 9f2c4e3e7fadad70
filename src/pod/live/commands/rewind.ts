import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import type { RecordedReceipt } from '../../receipts.ts';
import type { Handler, PodParts } from './parts.ts';

export const branch: Handler<'branch'> = async ({ entryId }, _, recordReceipt, pod) => {
  refuseWhileRunning(pod, 'branching');
  refuseForAgent(pod);
  await pod.reach(leafOf(entryId));
  // A run may have started while the file was read.
  refuseWhileRunning(pod, 'branching');
  moveTo(entryId, pod, recordReceipt({ entryId }));
  return { entryId };
};

/** Files first: if the process ends meanwhile, the same command continues, because the conversation has not moved. */
export const rewind: Handler<'rewind'> = async (command, { by, door }, recordReceipt, pod) => {
  const { entryId: target, parts = 'both' } = command;
  const { rewinds } = pod;
  refuseWhileRunning(pod, 'rewinding');
  if (parts !== 'files') refuseForAgent(pod);
  rewinds.isActive = true;
  try {
    const { leaf, files } = await rewinds.restore(command);
    if (leaf !== undefined) await pod.reach(leafOf(leaf));
    const from = leaf === undefined ? undefined : moveTo(leaf, pod);
    const fact = { type: 'rewound', target, parts, files, by, door, ...withoutUndefined({ from }) } as const;
    pod.publish({ fact, recorded: recordReceipt({ entryId: target }) });
    return { entryId: target };
  } finally {
    rewinds.isActive = false;
  }
};

/** Returns the leaf before. */
function moveTo(entryId: string, pod: PodParts, recorded?: RecordedReceipt): string {
  const branch = pod.branchTo(leafOf(entryId));
  pod.publish({ fact: { type: 'branched', ...branch }, recorded });
  const todos = pod.todosAtLeaf();
  if (todos !== undefined && JSON.stringify(todos) !== JSON.stringify(pod.view.todos))
    pod.publish({ fact: { type: 'todos', items: todos } });
  // Calls of an interrupted turn are not run a second time.
  pod.runner.abandon();
  return branch.from ?? 'root';
}

/** Another agent keeps its own conversation, and cannot return to an earlier point of it. */
function refuseForAgent({ agent }: PodParts): void {
  if (agent.backend === undefined) return;
  throw new PolypodError(
    'conflict',
    `${agent.backend.title} cannot return to an earlier point of its conversation: start a new session`,
  );
}

function leafOf(entryId: string): string | null {
  return entryId === 'root' ? null : entryId;
}

function refuseWhileRunning({ runner, view, rewinds }: PodParts, action: string): void {
  if (runner.active || view.state === 'waiting')
    throw new PolypodError('conflict', `a run is active: cancel it before ${action}`);
  if (rewinds.isActive) throw new PolypodError('conflict', 'files are being restored: try again');
}
