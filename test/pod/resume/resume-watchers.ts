import { setMaxListeners } from 'node:events';
import { PolypodError } from '../../../src/base/index.ts';
import type { Pod, PodEvent } from '../../../src/pod/index.ts';
import { type Random, turns } from './resume-random.ts';

/** What a watcher received over all its connections. */
export type Received =
  | { readonly type: 'events'; readonly events: readonly PodEvent[] }
  | { readonly type: 'snapshot'; readonly seq: number; readonly reason: 'joined' | 'gap' };

interface Cuts {
  /** How often it was disconnected, or disconnected itself, and resumed. */
  count: number;
}

/**
 * Watches a pod as a bad client does: it is slow, it stops, it is disconnected, and it resumes after the last number. Ends with
 * the signal.
 */
export async function watchUnreliably(
  pod: Pod,
  from: number | undefined,
  onReceived: (received: Received) => void,
  { random, cuts, signal }: { readonly random: Random; readonly cuts: Cuts; readonly signal: AbortSignal },
): Promise<void> {
  // Each connection adds a listener.
  setMaxListeners(0, signal);
  let after = from;
  while (!signal.aborted) {
    const patience = 1 + random(4);
    let taken = 0;
    try {
      for await (const step of pod.watch({ signal, ...(after === undefined ? {} : { after }) })) {
        if (step.type === 'snapshot') {
          const { seq } = step.snapshot;
          after = seq;
          onReceived({ type: 'snapshot', seq, reason: step.reason });
        } else if (step.type === 'events') {
          const { events, lastSeq } = step.batch;
          after = lastSeq;
          onReceived({ type: 'events', events });
        }
        taken += 1;
        if (taken > patience) break;
        if (random(8) === 0) await turns(random(40));
      }
    } catch (error) {
      if (!isOverloaded(error)) throw error;
    }
    cuts.count += 1;
    await turns(1);
  }
}

/** The log from its start up to a number. */
export async function logOf(pod: Pod, until: number): Promise<readonly PodEvent[]> {
  const events: PodEvent[] = [];
  for await (const step of pod.watch({ after: 0 })) {
    if (step.type !== 'events') throw new Error('the log is not kept from its start');
    events.push(...step.batch.events);
    if ((events.at(-1)?.seq ?? 0) >= until) break;
  }
  return events;
}

/** Sends prompts to a pod, one run after the other. */
export async function keepBusy(pod: Pod, prompts: number, text: string): Promise<void> {
  for (let at = 0; at < prompts; at += 1) {
    const receipt = await pod.handle({ type: 'prompt', content: [{ type: 'text', text }] });
    await quietAfter(pod, receipt.seq);
  }
}

/** Resumes if a watcher was too slow, which is no failure here. */
async function quietAfter(pod: Pod, after: number): Promise<void> {
  let isOver = false;
  try {
    for await (const step of pod.watch({ after })) {
      const events = step.type === 'events' ? step.batch.events : [];
      for (const event of events) {
        if (event.type === 'run-end') isOver = true;
        if (isOver && event.type === 'state' && event.state === 'idle') return;
      }
    }
  } catch (error) {
    if (!isOverloaded(error)) throw error;
    await quietAfter(pod, after);
  }
}

function isOverloaded(error: unknown): boolean {
  return error instanceof PolypodError && error.code === 'overloaded';
}
