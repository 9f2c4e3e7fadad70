import { asPolypodError } from '../base/index.ts';
import type { Caller, Receipt } from './command.ts';
import type { PodEvent } from './event.ts';
import type { Pod } from './pod.ts';

/**
 * Cancels the run of a local or remote pod and waits for its end, not for an idle pod: a queued prompt may start another run, which
 * can wait for a person. Resolves with false if there was no run.
 */
export async function endRun(pod: Pick<Pod, 'handle' | 'watch'>, caller: Caller): Promise<boolean> {
  let runId: string | undefined;
  for await (const watched of pod.watch()) {
    if (watched.type === 'snapshot') {
      const receipt = await cancelled(pod, caller);
      if (receipt === undefined) return false;
      runId = receipt.runId ?? watched.snapshot.run?.runId;
    } else if (watched.batch.events.some((event) => isEnd(event, runId))) break;
  }
  return true;
}

async function cancelled(pod: Pick<Pod, 'handle'>, caller: Caller): Promise<Receipt | undefined> {
  return pod.handle({ type: 'cancel' }, caller).catch((thrown: unknown) => {
    // The run may have ended on its own.
    if (asPolypodError(thrown).code === 'conflict') return undefined;
    throw thrown;
  });
}

function isEnd(event: PodEvent, runId: string | undefined): boolean {
  if (event.type === 'run-end') return event.runId === runId;
  return event.type === 'closed' || (event.type === 'state' && event.state === 'idle');
}
