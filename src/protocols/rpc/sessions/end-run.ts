import { PolypodError } from '../../../base/index.ts';
import type { Pod, PodCommand, PodEvent, Receipt, Snapshot } from '../../../pod/index.ts';
import type { CancelledRun } from '../arguments.ts';
import type { EventForwarder } from '../../event-forwarder.ts';

/** Waits for an event until it occurs or `forget` is called. */
export interface Listening {
  readonly received: Promise<PodEvent>;
  readonly forget: () => void;
}

/** The session whose run ends. */
interface RunSession {
  readonly pod: Pod;
  readonly followed: EventForwarder;
  readonly handle: (command: PodCommand) => Promise<Receipt>;
  readonly listen: (fits: (event: PodEvent) => boolean) => Listening;
}

/** Cancels the current run. Resolves with undefined if there is none. */
export async function cancelRun(
  session: Pick<RunSession, 'pod' | 'handle'>,
): Promise<CancelledRun | undefined> {
  // The snapshot is requested first, but the cancellation does not wait for it.
  const [{ run }, receipt] = await Promise.all([
    session.pod.snapshot(),
    session.handle({ type: 'cancel' }).catch(unlessConflict),
  ]);
  return receipt && { runId: receipt.runId ?? run?.runId };
}

/**
 * Cancels the current run, unless a command did so when it was received, and resolves after the client was sent the end of the run.
 * A queued prompt may start then, as another run.
 */
export async function endRun(
  session: RunSession,
  already?: Promise<CancelledRun | undefined>,
): Promise<void> {
  const pump = session.followed;
  const cancelled = (await already) ?? (await cancelRun(session));
  const isOver = ({ state, run }: Snapshot): boolean =>
    (state !== 'running' && state !== 'waiting') ||
    (cancelled?.runId !== undefined && run?.runId !== cancelled.runId);
  // `abort` overtakes other commands: one of them may have moved to another pod, with other event numbers.
  while (!pump.isStopped) {
    const changed = session.listen(({ type }) => type === 'state' || type === 'run-end' || type === 'closed');
    const now = await pump.pod.snapshot();
    if (isOver(now)) {
      changed.forget();
      await pump.reached(now.seq);
      return;
    }
    await changed.received.catch((thrown: unknown) => {
      if (!pump.isStopped) throw thrown;
    });
  }
}

/** Ignores a conflict: there was nothing to end, or it had ended already. */
export function unlessConflict(thrown: unknown): undefined {
  if (!(thrown instanceof PolypodError) || thrown.code !== 'conflict') throw thrown;
}
