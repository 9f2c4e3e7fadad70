import { type JsonObject, numberOf, objectOf } from '../../base/index.ts';
import {
  type AgentMessage,
  type Entry,
  QUEUED,
  RUN_END,
  RUN_START,
  type SessionTree,
  TODOS,
  UNQUEUED,
} from '../session/index.ts';
import { messageText } from './message-text.ts';
import { outcomeIn, type TaskOutcome } from './task-outcome.ts';

/** A task as its session has recorded it. */
export interface TaskHistory {
  /** The numbers of its first event, and of its last once it is over. */
  readonly firstSeq: number;
  readonly lastSeq: number | undefined;
  /** The number of the start of its last run. */
  readonly runSeq: number | undefined;
  readonly queueId: string | undefined;
  readonly runIds: ReadonlySet<string>;
  /** As the run ended; `pending` before it began, `running` while it goes on. */
  readonly status: string;
  /** Why it failed or was stopped. */
  readonly reason: string | undefined;
  readonly outcome: TaskOutcome;
  /** Undefined for a task that has not ended. */
  readonly usage: TaskUsage | undefined;
  /** Why its last call was denied; undefined for one that was not. */
  readonly denied: string | undefined;
  /** How much of its own list of steps was done at most, from 0 to 1; undefined while it has none. */
  readonly stepsDone: number | undefined;
}

/** What the runs of a task used. */
export interface TaskUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly turns: number;
  readonly toolCalls: number;
  /** In USD; absent where a model's price is not known. */
  readonly cost?: number;
}

/** Finds a task in a session: one walk over its entries. */
export function taskIn(tree: SessionTree, taskId: string): TaskHistory | undefined {
  const walk = new Walk(taskId);
  for (const entry of tree.entries()) walk.take(entry);
  return walk.found();
}

class Walk {
  readonly #taskId: string;
  readonly #runIds = new Set<string>();
  readonly #messages: AgentMessage[] = [];
  #queueId: string | undefined;
  #firstSeq: number | undefined;
  #lastSeq: number | undefined;
  #runSeq: number | undefined;
  #status = 'pending';
  #reason: string | undefined;
  #isOpen = false;
  #stepsDone: number | undefined;
  #totals: RunTotals;
  #before: RunTotals;

  constructor(taskId: string) {
    this.#taskId = taskId;
  }

  take(entry: Entry): void {
    if (entry.type === 'message' && this.#isOpen) this.#messages.push(entry.message);
    if (entry.type !== 'custom') return;
    const seq = numberOf(entry.extras?.seq) ?? 0;
    const queued = QUEUED.in(entry);
    if (queued?.taskId === this.#taskId) {
      this.#queueId = queued.queueId;
      this.#firstSeq ??= seq;
    }
    if (this.#queueId !== undefined && UNQUEUED.in(entry)?.queueIds.includes(this.#queueId) === true)
      this.#end('cancelled', seq);
    const start = RUN_START.in(entry);
    if (start?.taskId === this.#taskId) this.#begin(start.runId, seq);
    const steps = this.#isOpen ? TODOS.in(entry)?.items : undefined;
    // A list that grows does not take back what was told: people read progress as a promise.
    if (steps !== undefined && steps.length > 0)
      this.#stepsDone = Math.max(this.#stepsDone ?? 0, shareDone(steps));
    const end = RUN_END.in(entry);
    if (end === undefined) return;
    if (this.#runIds.has(end.runId)) {
      this.#totals = end.totals;
      this.#reason = end.message;
      this.#end(end.status, seq);
    } else if (this.#runIds.size === 0) this.#before = end.totals;
  }

  found(): TaskHistory | undefined {
    if (this.#firstSeq === undefined) return undefined;
    return {
      firstSeq: this.#firstSeq,
      lastSeq: this.#lastSeq,
      runSeq: this.#runSeq,
      queueId: this.#queueId,
      runIds: this.#runIds,
      status: this.#status,
      reason: this.#reason,
      outcome: outcomeIn(this.#messages),
      denied: deniedIn(this.#messages),
      stepsDone: this.#stepsDone,
      usage: this.#lastSeq === undefined ? undefined : usageBetween(this.#before, this.#totals),
    };
  }

  /** Again after a pause: the task goes on. */
  #begin(runId: string, seq: number): void {
    this.#runIds.add(runId);
    this.#firstSeq ??= seq;
    this.#lastSeq = undefined;
    this.#runSeq = seq;
    this.#status = 'running';
    this.#isOpen = true;
  }

  #end(status: string, seq: number): void {
    this.#status = status;
    this.#lastSeq = seq;
    this.#isOpen = false;
  }
}

function deniedIn(messages: readonly AgentMessage[]): string | undefined {
  const last = messages.findLast(({ role }) => role === 'toolResult');
  return objectOf(last?.details).denied === true && last !== undefined ? messageText(last) : undefined;
}

function shareDone(steps: readonly JsonObject[]): number {
  return steps.filter(({ status }) => status === 'completed').length / steps.length;
}

type RunTotals = NonNullable<ReturnType<typeof RUN_END.in>>['totals'];
type Counted = 'inputTokens' | 'outputTokens' | 'turns' | 'toolCalls' | 'cost';

/** Totals are those of the whole conversation: a task's are the difference. */
function usageBetween(before: RunTotals, after: RunTotals): TaskUsage {
  const more = (name: Counted): number => Math.max(0, (after?.[name] ?? 0) - (before?.[name] ?? 0));
  return {
    inputTokens: more('inputTokens'),
    outputTokens: more('outputTokens'),
    turns: more('turns'),
    toolCalls: more('toolCalls'),
    ...(after?.cost !== undefined && { cost: more('cost') }),
  };
}
