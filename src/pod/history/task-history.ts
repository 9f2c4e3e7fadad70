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

/** A task as recorded in its session. */
export interface TaskHistory {
  /** The number of its first event and, once it has ended, of its last. */
  readonly firstSeq: number;
  readonly lastSeq: number | undefined;
  /** The number of the `run-start` event of its last run. */
  readonly runSeq: number | undefined;
  readonly queueId: string | undefined;
  readonly runIds: ReadonlySet<string>;
  /** The status of the run; `pending` before it starts, `running` while it is active. */
  readonly status: string;
  /** Why it failed or was cancelled. */
  readonly reason: string | undefined;
  readonly outcome: TaskOutcome;
  /** Undefined for a task that has not ended. */
  readonly usage: TaskUsage | undefined;
  /** Why its last call was denied; undefined if it was not denied. */
  readonly denied: string | undefined;
  /** The highest completed fraction of its todo list, from 0 to 1; undefined while it has no list. */
  readonly stepsDone: number | undefined;
}

/** The usage of a task's runs. */
export interface TaskUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly turns: number;
  readonly toolCalls: number;
  /** In USD; absent if a model's price is unknown. */
  readonly cost?: number;
}

/** Finds a task in one pass over the session's entries. */
export function taskIn(tree: SessionTree, taskId: string): TaskHistory | undefined {
  const known = FOUND.get(tree);
  const found = known?.size === tree.size ? known : { size: tree.size, tasks: new Map() };
  FOUND.set(tree, found);
  if (!found.tasks.has(taskId)) found.tasks.set(taskId, findTask(tree, taskId));
  return found.tasks.get(taskId);
}

function findTask(tree: SessionTree, taskId: string): TaskHistory | undefined {
  const walk = new Walk(taskId);
  for (const entry of tree.entries()) walk.take(entry);
  return walk.found();
}

interface FoundTasks {
  readonly size: number;
  readonly tasks: Map<string, TaskHistory | undefined>;
}

/** The results until the tree grows: clients poll a running task, and a long session has many entries. */
const FOUND = new WeakMap<SessionTree, FoundTasks>();

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
    // Progress never decreases, even if the list grows: clients expect it to be monotonic.
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

  /** The run resumes after a pause. */
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

/** Recorded totals cover the whole conversation, so a task's usage is a difference. */
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
