import { type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import type { AgentMessage, Entry, SessionTree } from '../../pod/index.ts';
import type { WireUsage } from './wire.ts';

/** A task as its session's file tells of it: what is known after every restart. */
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
  /** What was said and done in it, in order. */
  readonly messages: readonly AgentMessage[];
  readonly usage: WireUsage | undefined;
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
  #totals: JsonObject = {};
  #before: JsonObject = {};

  constructor(taskId: string) {
    this.#taskId = taskId;
  }

  take(entry: Entry): void {
    if (entry.type === 'message' && this.#isOpen) this.#messages.push(entry.message);
    if (entry.type !== 'custom') return;
    const fact = objectOf(entry.data);
    const seq = numberOf(entry.extras?.seq) ?? 0;
    switch (entry.customType) {
      case 'polypod.queued':
        if (fact.taskId !== this.#taskId) return;
        this.#queueId = stringOf(fact.queueId);
        this.#firstSeq ??= seq;
        return;
      case 'polypod.unqueued':
        if (!(Array.isArray(fact.queueIds) && fact.queueIds.includes(this.#queueId))) return;
        this.#end('cancelled', seq);
        return;
      case 'polypod.run-start':
        if (fact.taskId === this.#taskId) this.#begin(stringOf(fact.runId), seq);
        return;
      case 'polypod.run-end':
        if (this.#runIds.has(stringOf(fact.runId))) {
          this.#totals = objectOf(fact.totals);
          this.#reason = typeof fact.message === 'string' ? fact.message : undefined;
          this.#end(stringOf(fact.status), seq);
        } else if (this.#runIds.size === 0) this.#before = objectOf(fact.totals);
    }
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
      messages: this.#messages,
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

/** Totals are those of the whole conversation: a task's are the difference. */
function usageBetween(before: JsonObject, after: JsonObject): WireUsage {
  const more = (name: string): number => (numberOf(after[name]) ?? 0) - (numberOf(before[name]) ?? 0);
  const isKnown = numberOf(after.cost) !== undefined;
  return {
    inputTokens: Math.max(0, more('inputTokens')),
    outputTokens: Math.max(0, more('outputTokens')),
    turns: Math.max(0, more('turns')),
    toolCalls: Math.max(0, more('toolCalls')),
    ...(isKnown && { cost: Math.max(0, more('cost')) }),
  };
}
