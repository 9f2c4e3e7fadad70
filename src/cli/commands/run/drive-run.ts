import { onAbort } from '../../../base/index.ts';
import type { PodHandle } from '../../../control/index.ts';
import type { Item } from '../../../llm/index.ts';
import type { Approval, Caller, PodCommandOf, Origin, PodEvent, Snapshot } from '../../../pod/index.ts';
import type { RunOutcome } from '../../../worker/index.ts';
import type { Ask } from './permission-prompt.ts';
import { type PodLocation, reconnectingWatch } from '../../hosting/index.ts';
import { isFromAnotherClient } from '../../hosting/headless-approvals.ts';

export interface Drive {
  readonly prompt: Omit<PodCommandOf<'prompt'>, 'type'>;
  /** Where the pod is hosted, and the origin of commands from here. */
  readonly location: Pick<PodLocation, 'me' | 'isUp'>;
  readonly ask: Ask;
  /** Receives the events of the run, from start to end. */
  readonly show: (events: readonly PodEvent[]) => void;
  /** Receives the conversation after events were lost, and the end of the run if it was among them. */
  readonly showGap: (items: readonly Item[], outcome: RunOutcome | undefined) => void;
  /** Prints a notice for the user. */
  readonly report: (text: string) => void;
  /** Cancels the run. */
  readonly signal: AbortSignal;
}

export interface RunResult {
  readonly outcome: RunOutcome;
  /** The snapshot of the pod before the run. */
  readonly before: Snapshot | undefined;
  /** Who cancelled the run, if it was cancelled. */
  readonly cancelledBy?: Origin | undefined;
}

/** Sends a prompt to a pod, waits for the end of the run and answers its approvals. Reconnects if the daemon restarts. */
export async function driveRun(
  pod: PodHandle,
  { prompt, location, ask, show, showGap, report, signal }: Drive,
): Promise<RunResult> {
  const leave = new AbortController();
  const questions = new Questions(pod, ask, location.me);
  let runId: string | undefined;
  let before: Snapshot | undefined;
  let forget = (): void => {};
  let cancelledBy: Origin | undefined;
  let isOurs = false;
  let isAway = false;
  const watching = reconnectingWatch(pod, {
    signal: leave.signal,
    isUp: location.isUp,
    ifLost: IF_LOST,
    onConnection: (state) => {
      isAway = state === 'lost';
      report(isAway ? 'the connection to the daemon is lost: reconnecting' : 'reconnected');
    },
  });
  const cancel = (): void => {
    // An unreachable pod cannot be cancelled: only stop watching.
    if (isAway) leave.abort();
    else void pod.handle({ type: 'cancel' }, location.me).catch(() => {});
  };
  try {
    for await (const watched of watching) {
      if (watched.type === 'snapshot') {
        const { run, lastRun, approvals, items } = watched.snapshot;
        if (before !== undefined) {
          // The start or the end of the run may be among the lost events.
          isOurs ||= run?.runId === runId;
          const outcome = run === undefined && lastRun?.runId === runId ? lastRun?.outcome : undefined;
          report('some events are no longer available');
          showGap(items, outcome);
          if (outcome !== undefined) return { outcome, before };
          for (const approval of approvals) questions.put(approval);
          continue;
        }
        before = watched.snapshot;
        runId = (await pod.handle({ type: 'prompt', ...prompt }, location.me)).runId;
        forget = onAbort(signal, cancel);
        continue;
      }
      const ours: PodEvent[] = [];
      let outcome: RunOutcome | undefined;
      for (const event of watched.batch.events) {
        if (event.type === 'run-start') isOurs ||= event.runId === runId;
        if (!isOurs) continue;
        ours.push(event);
        questions.observe(event);
        if (event.type === 'commanded' && event.command === 'cancel') cancelledBy = event;
        if (event.type === 'run-end' && event.runId === runId) {
          outcome = event.outcome;
          break;
        }
      }
      show(ours);
      if (outcome !== undefined) return { outcome, before, cancelledBy };
    }
    // The pod was closed, or the user has interrupted.
    return { outcome: signal.aborted ? { status: 'cancelled' } : LOST, before };
  } finally {
    forget();
    questions.close();
    leave.abort();
  }
}

const LOST: RunOutcome = { status: 'interrupted' };

const IF_LOST: PodLocation['ifLost'] = {
  giveUpAfterMs: 10_000,
  ending: (id) =>
    `the daemon has ended, and the run with it: start it with polypod serve, then resume with polypod run --resume ${id}`,
};

/** The pending approvals of a run. The first decision counts, from any client. */
class Questions {
  readonly #pod: PodHandle;
  readonly #ask: Ask;
  readonly #caller: Caller;
  readonly #open = new Map<string, AbortController>();
  #isAlone = true;

  constructor(pod: PodHandle, ask: Ask, caller: Caller) {
    this.#pod = pod;
    this.#ask = ask;
    this.#caller = caller;
  }

  observe(event: PodEvent): void {
    this.#isAlone &&= !isFromAnotherClient(event, this.#caller);
    if (event.type === 'approval-request') this.put(event.approval);
    if (event.type === 'approval-response') this.#settled(event.approvalId);
  }

  close(): void {
    for (const id of this.#open.keys()) this.#settled(id);
  }

  put(approval: Approval): void {
    if (this.#open.has(approval.approvalId)) return;
    const open = new AbortController();
    this.#open.set(approval.approvalId, open);
    void this.#answer(approval, open.signal);
  }

  async #answer(approval: Approval, signal: AbortSignal): Promise<void> {
    const { approvalId } = approval;
    const answer = await this.#ask(approval, { signal, isAlone: this.#isAlone });
    if (answer === undefined) return;
    const { by = this.#caller.by, ...decision } = answer;
    // Another client may have decided first, or the run has ended.
    await this.#pod
      .handle({ type: 'decide', approvalId, ...decision }, { ...this.#caller, by })
      .catch(() => {});
  }

  #settled(approvalId: string): void {
    this.#open.get(approvalId)?.abort();
    this.#open.delete(approvalId);
  }
}
