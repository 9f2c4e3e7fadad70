import { PolypodError } from '../../../base/index.ts';
import type { PodEvent } from '../../../pod/index.ts';
import { anyTextIn, textIn } from '../arguments.ts';
import { TEXTS } from '../errors.ts';
import { endRun, unlessConflict } from '../sessions/end-run.ts';
import type { Seat } from '../sessions/rpc-session.ts';
import { bashResult } from '../host-side/shells.ts';
import type { Command } from './command.ts';

type CompactionEnd = Extract<PodEvent, { readonly type: 'compaction-end' }>;

/** Answered when it is done; a run that is under way is ended first. */
export const compact: Command = async (wish, seat, _, longWait) =>
  longWait(compactNow(anyTextIn(wish, 'customInstructions'), seat));

async function compactNow(instructions: string | undefined, seat: Seat): Promise<unknown> {
  await endRun(seat);
  if (await isCompacted(seat)) throw new PolypodError('conflict', TEXTS.compacted);
  const ended = seat.listen(({ type }) => type === 'compaction-end');
  await seat
    .handle({ type: 'compact', ...(instructions === undefined ? {} : { instructions }) })
    .catch((thrown) => {
      ended.forget();
      throw thrown;
    });
  const end = await ended.heard;
  if (end.type !== 'compaction-end')
    throw new PolypodError('internal', 'a compaction ended as something else');
  return compacted(end, seat);
}

async function compacted({ result, entryId }: CompactionEnd, seat: Seat): Promise<unknown> {
  switch (result.status) {
    case 'compacted':
      return seat.compaction(entryId);
    case 'cancelled':
      throw new PolypodError('conflict', TEXTS.compactionCancelled);
    case 'failed':
      throw new PolypodError('provider-failed', result.failure.message);
    case 'skipped':
      throw new PolypodError('conflict', TEXTS.smallSession);
  }
}

/** Whether nothing was said since the last compaction. Facts of ours hang behind it, and say nothing to the model. */
async function isCompacted({ parts, pod }: Seat): Promise<boolean> {
  const path = (await parts.host.tree(pod.id)).path();
  return path.findLast(({ type }) => !QUIET.has(type))?.type === 'compaction';
}

const QUIET: ReadonlySet<string> = new Set([
  'custom',
  'model_change',
  'thinking_level_change',
  'session_info',
]);

export const bash: Command = async (wish, seat, _, longWait) => {
  const command = textIn(wish, 'command');
  const isPrivate = wish.fields.excludeFromContext === true;
  const starting = seat.handle({ type: 'shell', command, private: isPrivate });
  seat.shells.opening = starting.catch(() => {});
  const { shellId = '' } = await starting;
  return bashResult(await longWait(seat.whileFollowed(seat.shells.wait(shellId))));
};

export const abortBash: Command = async (_, seat) => {
  await seat.handle({ type: 'abort-shell' }).catch(unlessConflict);
};
