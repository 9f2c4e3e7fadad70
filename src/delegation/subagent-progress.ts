import { contentText, type Item, type Shortfall, shortfallOf, type StopReason } from '../llm/index.ts';
import { type Approval, NO_TOTALS, type PodEvent, type PodEventOf, type Snapshot } from '../pod/index.ts';

type Outcome = PodEventOf<'run-end'>['outcome'];
type Totals = PodEventOf<'run-end'>['totals'];

/** What is known about the run of a sub-agent: the sum of its events. */
export class SubagentProgress {
  readonly #runId: string;
  /** The titles of the running calls. */
  readonly #calls = new Map<string, string>();
  readonly #approvals = new Map<string, Approval>();
  #text = '';
  #stopReason: StopReason | undefined;
  #isContinued = false;
  #cost = 0;
  toolCalls = 0;
  outcome: Outcome | undefined;
  totals: Totals = NO_TOTALS;

  constructor(runId: string) {
    this.#runId = runId;
  }

  /** The last answer. */
  get text(): string {
    return this.#text;
  }

  /** Why the model did not complete the last answer. */
  get shortfall(): Shortfall | undefined {
    return shortfallOf(this.#stopReason, this.#text.trim() !== '');
  }

  /** In USD, as far as it is known. */
  get cost(): number {
    return this.outcome === undefined ? this.#cost : (this.totals.cost ?? this.#cost);
  }

  /** One line: what it is doing now. */
  get activity(): string {
    const [approval] = this.#approvals.values();
    if (approval !== undefined) return `waits for approval: ${approval.title}`;
    return [...this.#calls.values()].at(-1) ?? 'waiting for the model';
  }

  /** Returns whether the event is worth showing. */
  add(event: PodEvent): boolean {
    switch (event.type) {
      case 'turn-start':
        if (!this.#isContinued) this.#text = '';
        this.#isContinued = false;
        this.#stopReason = undefined;
        return false;
      case 'input':
        // The finished part of an answer that was cut: the next attempt continues it.
        if (event.origin === 'continuation') this.#text += answerText([event.item]);
        return false;
      case 'status':
        if (event.status === 'completed') this.#stopReason = event.stopReason;
        return false;
      case 'llm-end':
        if (event.outcome === 'completed') this.#text += answerText(event.items);
        this.#isContinued = this.#stopReason === 'pause-turn';
        this.#cost += event.cost?.total ?? 0;
        return false;
      case 'tool-start':
        this.toolCalls += 1;
        this.#calls.set(event.call.callId, event.call.title);
        return true;
      case 'tool-end':
        this.#calls.delete(event.callId);
        return true;
      case 'approval-request':
        this.#approvals.set(event.approval.approvalId, event.approval);
        return true;
      case 'approval-response':
        return this.#approvals.delete(event.approvalId);
      case 'run-end':
        // A person who joined the session can pause and resume its run.
        if (event.runId === this.#runId && event.outcome.status !== 'paused') {
          this.outcome = event.outcome;
          // Also of the part before a pause.
          this.totals = event.conversation ?? event.totals;
        }
        return false;
      default:
        return false;
    }
  }

  /** After a gap, for a reader that was too slow. */
  join({ lastRun, items, stats, state }: Snapshot): void {
    if (state !== 'idle' || lastRun?.runId !== this.#runId) return;
    this.outcome = lastRun.outcome;
    this.totals = stats.totals;
    const start = items.findLastIndex((item) => item.type === 'message' && item.role === 'user');
    this.#text = answerText(items.slice(start + 1));
  }
}

function answerText(items: readonly Item[]): string {
  return items
    .map((item) => (item.type === 'message' && item.role === 'assistant' ? contentText(item.content) : ''))
    .join('');
}
