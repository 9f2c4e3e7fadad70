import { PolypodError } from '../../../base/index.ts';
import type { PodEvent } from '../../../pod/index.ts';
import { anyTextIn, textIn } from '../arguments.ts';
import { TEXTS } from '../errors.ts';
import { type Seat, unlessConflict } from '../seat.ts';
import { bashResult } from '../shells.ts';
import type { Command } from './command.ts';

type CompactionEnd = Extract<PodEvent, { readonly type: 'compaction-end' }>;

/** Answered when it is done; a run that is under way is ended first. */
export const compact: Command = async (wish, seat, _, longWait) =>
  longWait(compactNow(anyTextIn(wish, 'customInstructions'), seat));

async function compactNow(instructions: string | undefined, seat: Seat): Promise<unknown> {
  await seat.endRun();
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
    case 'skipped': {
      const tree = await seat.parts.host.tree(seat.pod.id);
      // Facts of ours hang behind it, and say nothing to the model.
      const isDone = tree.path().findLast(({ type }) => type !== 'custom')?.type === 'compaction';
      throw new PolypodError('conflict', isDone ? TEXTS.compacted : TEXTS.smallSession);
    }
  }
}

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
