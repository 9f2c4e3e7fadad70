import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import type { PodEventOf } from '../../../pod/index.ts';
import { anyTextIn, textIn } from '../arguments.ts';
import { TEXTS } from '../errors.ts';
import { endRun, unlessConflict } from '../sessions/end-run.ts';
import type { RpcSession } from '../sessions/rpc-session.ts';
import { bashResult } from '../host-side/shells.ts';
import type { CommandHandler } from './command.ts';

type CompactionEnd = PodEventOf<'compaction-end'>;

/** Responds when the compaction is done. A run in progress is ended first. */
export const compact: CommandHandler = async (request, session, _, longWait) =>
  longWait(compactNow(anyTextIn(request, 'customInstructions'), session));

async function compactNow(instructions: string | undefined, session: RpcSession): Promise<unknown> {
  await endRun(session);
  if (await session.parts.host.history.isCompacted(session.pod.id))
    throw new PolypodError('conflict', TEXTS.compacted);
  const ended = session.listen(({ type }) => type === 'compaction-end');
  // Clients of this protocol expect that a compaction succeeds whenever there is something to summarize.
  const command = { type: 'compact', mayGrow: true, ...withoutUndefined({ instructions }) } as const;
  await session.handle(command).catch((thrown) => {
    ended.forget();
    throw thrown;
  });
  const end = await ended.received;
  if (end.type !== 'compaction-end') throw new PolypodError('internal', 'unexpected outcome of a compaction');
  return compacted(end, session);
}

async function compacted({ result, entryId }: CompactionEnd, session: RpcSession): Promise<unknown> {
  switch (result.status) {
    case 'compacted':
      return session.compaction(entryId);
    case 'cancelled':
      throw new PolypodError('conflict', TEXTS.compactionCancelled);
    case 'failed':
      throw new PolypodError('provider-failed', result.failure.message);
    case 'skipped':
      throw new PolypodError('conflict', TEXTS.smallSession);
  }
}

export const bash: CommandHandler = async (request, session, _, longWait) => {
  const command = textIn(request, 'command');
  const isPrivate = request.fields.excludeFromContext === true;
  const starting = session.handle({ type: 'shell', command, private: isPrivate });
  session.shells.opening = starting.catch(() => {});
  const { shellId = '' } = await starting;
  return bashResult(await longWait(session.whileFollowed(session.shells.wait(shellId))));
};

export const abortBash: CommandHandler = async (_, session) => {
  await session.handle({ type: 'abort-shell' }).catch(unlessConflict);
};
