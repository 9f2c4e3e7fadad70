import { asPolypodError } from '../base/index.ts';
import type { Caller, Receipt } from './command.ts';
import type { PodEvent } from './event.ts';
import type { Pod } from './pod.ts';

/**
 * Cancels the run of a pod, wherever that lives, and waits for its end. What waits in the queue may begin then: that is another run,
 * and can wait for a person. False if there was no run.
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
    // It may have ended by itself.
    if (asPolypodError(thrown).code === 'conflict') return undefined;
    throw thrown;
  });
}

function isEnd(event: PodEvent, runId: string | undefined): boolean {
  if (event.type === 'run-end') return event.runId === runId;
  return event.type === 'closed' || (event.type === 'state' && event.state === 'idle');
}
