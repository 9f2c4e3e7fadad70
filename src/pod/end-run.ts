import { asPolypodError } from '../base/index.ts';
import type { Caller } from './command.ts';
import type { Pod } from './pod.ts';

/** Cancels the run of a pod, wherever that lives, and waits until nothing goes on there. False if nothing did. */
export async function endRun(pod: Pick<Pod, 'handle' | 'watch'>, caller: Caller): Promise<boolean> {
  const wasRunning = await pod.handle({ type: 'cancel' }, caller).then(
    () => true,
    (thrown: unknown) => {
      // It may have ended by itself.
      if (asPolypodError(thrown).code === 'conflict') return false;
      throw thrown;
    },
  );
  for await (const watched of pod.watch()) {
    if (watched.type === 'snapshot' && watched.snapshot.state === 'idle') break;
    if (
      watched.type === 'events' &&
      watched.batch.events.some((event) => event.type === 'state' && event.state === 'idle')
    )
      break;
  }
  return wasRunning;
}
