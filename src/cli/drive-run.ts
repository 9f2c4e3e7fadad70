import { asPolypodError, onAbort } from '../base/index.ts';
import type { PodHandle } from '../daemon/index.ts';
import type { Approval, Caller, CommandOf, PodEvent, Snapshot } from '../pod/index.ts';
import type { RunOutcome } from '../worker/index.ts';
import type { Ask } from './permission-prompt.ts';

export interface Drive {
  readonly prompt: Omit<CommandOf<'prompt'>, 'type'>;
  readonly caller: Caller;
  readonly ask: Ask;
  /** What happens in the run, from its start to its end. */
  readonly show: (events: readonly PodEvent[]) => void;
  /** Cancels the run. */
  readonly signal: AbortSignal;
}

/** Gives a pod a prompt and stays until its run is over, answering what it asks. */
export async function driveRun(
  pod: PodHandle,
  { prompt, caller, ask, show, signal }: Drive,
): Promise<{ readonly outcome: RunOutcome; readonly before: Snapshot | undefined }> {
  const leave = new AbortController();
  const questions = new Questions(pod, ask, caller);
  let runId: string | undefined;
  let before: Snapshot | undefined;
  let forget = (): void => {};
  let isOurs = false;
  try {
    for await (const watched of steadily(pod, leave.signal)) {
      if (watched.type === 'snapshot') {
        const { run, lastRun } = watched.snapshot;
        // After a gap: the run may have ended where nobody could tell us.
        if (before !== undefined && run === undefined && lastRun?.runId === runId)
          return { outcome: lastRun?.outcome ?? LOST, before };
        if (before !== undefined) continue;
        before = watched.snapshot;
        runId = (await pod.handle({ type: 'prompt', ...prompt }, caller)).runId;
        forget = onAbort(signal, () => void pod.handle({ type: 'cancel' }, caller).catch(() => {}));
        continue;
      }
      const ours: PodEvent[] = [];
      let outcome: RunOutcome | undefined;
      for (const event of watched.batch.events) {
        if (event.type === 'run-start') isOurs ||= event.runId === runId;
        if (!isOurs) continue;
        ours.push(event);
        questions.see(event);
        if (event.type === 'run-end' && event.runId === runId) {
          outcome = event.outcome;
          break;
        }
      }
      show(ours);
      if (outcome !== undefined) return { outcome, before };
    }
    // The pod was closed under us.
    return { outcome: LOST, before };
  } finally {
    forget();
    questions.close();
    leave.abort();
  }
}

const LOST: RunOutcome = { status: 'interrupted' };

/** Everything in order, although a slow terminal may be cut off now and then: it goes on by number. */
async function* steadily(pod: PodHandle, signal: AbortSignal): ReturnType<PodHandle['watch']> {
  let after: number | undefined;
  for (;;) {
    try {
      for await (const watched of pod.watch({ signal, ...(after === undefined ? {} : { after }) })) {
        after = watched.type === 'snapshot' ? watched.snapshot.seq : watched.batch.lastSeq;
        yield watched;
      }
      return;
    } catch (thrown) {
      if (asPolypodError(thrown).code !== 'overloaded' || after === undefined) throw thrown;
    }
  }
}

/** The questions of a run while they stand. The first answer counts, whoever gives it. */
class Questions {
  readonly #pod: PodHandle;
  readonly #ask: Ask;
  readonly #caller: Caller;
  readonly #open = new Map<string, AbortController>();

  constructor(pod: PodHandle, ask: Ask, caller: Caller) {
    this.#pod = pod;
    this.#ask = ask;
    this.#caller = caller;
  }

  see(event: PodEvent): void {
    if (event.type === 'approval-request') void this.#put(event.approval);
    if (event.type === 'approval-response') this.#settled(event.approvalId);
  }

  close(): void {
    for (const id of this.#open.keys()) this.#settled(id);
  }

  async #put(approval: Approval): Promise<void> {
    const { approvalId } = approval;
    const open = new AbortController();
    this.#open.set(approvalId, open);
    const decision = await this.#ask(approval, open.signal);
    if (decision === undefined) return;
    // Somebody else may have been quicker, or the run is over: then there is nothing to decide.
    await this.#pod.handle({ type: 'decide', approvalId, ...decision }, this.#caller).catch(() => {});
  }

  #settled(approvalId: string): void {
    this.#open.get(approvalId)?.abort();
    this.#open.delete(approvalId);
  }
}
