import type { Cost, Item, Usage } from '../llm/index.ts';
import type { ModelUse } from '../tools/index.ts';
import type { Totals } from './event.ts';
import { estimateTokens } from './tokens.ts';
import type { JudgedCall, CallOutcome } from './decide-call.ts';
import { abandonedResult } from './tool-batch.ts';
import { countCalls, countTurn, NO_TOTALS, addTotals, withUse } from './totals.ts';

/** A measured context size in tokens, and the number of items at that time. */
export interface ContextMeasurement {
  readonly tokens: number;
  readonly items: number;
}

/** The items of a conversation and its token usage. */
export class Conversation {
  #items: readonly Item[];
  #totals: Totals;
  #turn: number;
  /** The context size according to the latest usage. */
  #measured: ContextMeasurement;
  /** The latest user message that was added to this object. */
  #prompt: Item | undefined;

  constructor(items: readonly Item[], totals: Totals, measured: ContextMeasurement = NOT_MEASURED) {
    this.#measured = measured;
    this.#items = items;
    this.#totals = totals;
    this.#turn = totals.turns;
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  get totals(): Totals {
    return this.#totals;
  }

  /** The number of the current or latest turn. */
  get turn(): number {
    return this.#turn;
  }

  /** The tokens in the context: measured where possible, otherwise estimated. */
  get contextTokens(): number {
    return this.#measured.tokens + estimateTokens(this.#items.slice(this.#measured.items));
  }

  beginTurn(): number {
    this.#turn += 1;
    return this.#turn;
  }

  add(...items: readonly Item[]): void {
    this.#items = [...this.#items, ...items];
  }

  /** Adds a prompt, a steering message or a follow-up. */
  addPrompt(item: Item): void {
    this.#prompt = item;
    this.add(item);
  }

  /**
   * The items between the latest prompt and `until`, for the loop guard. If the prompt was summarized, all remaining items
   * are newer. A restored conversation uses its last user message.
   */
  sincePrompt(until: Item | undefined): readonly Item[] {
    const end = until === undefined ? 0 : this.#items.indexOf(until);
    const before = this.#items.slice(0, Math.max(0, end));
    const prompt = this.#prompt;
    const start = before.findLastIndex((item) =>
      prompt === undefined ? isUserMessage(item) : item === prompt,
    );
    return before.slice(start + 1);
  }

  addAnswer(items: readonly Item[], usage: Usage | undefined, cost: Cost | undefined): void {
    this.add(...items);
    this.#totals = countTurn(this.#totals, usage, cost);
    if (usage?.inputTokens === undefined) return;
    this.#measured = { tokens: usage.inputTokens + (usage.outputTokens ?? 0), items: this.#items.length };
  }

  addResults(results: readonly Item[]): void {
    this.add(...results);
    this.#totals = countCalls(this.#totals, results.length);
  }

  /** Adds what a call used of models. */
  addUse(used: ModelUse): void {
    this.#totals = withUse(this.#totals, used);
  }

  /** Replaces the items after a compaction and adds its usage to the totals. */
  replace(items: readonly Item[], usage: Usage | undefined, cost: Cost | undefined): void {
    if (items !== this.#items) this.#measured = NOT_MEASURED;
    this.#items = items;
    this.count(usage, cost);
  }

  /** Adds the usage of a request that is not a turn. */
  count(usage: Usage | undefined, cost: Cost | undefined): void {
    if (usage) this.#totals = addTotals(this.#totals, { ...countTurn(NO_TOTALS, usage, cost), turns: 0 });
  }

  /** Calls without a result. Only the latest answer can have them, because every new prompt closes open calls. */
  openCalls(): readonly JudgedCall[] {
    const answered = new Set<string>();
    const open: JudgedCall[] = [];
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at];
      if (item?.type === 'tool-result') answered.add(item.callId);
      else if (item?.type === 'tool-call' && !answered.has(item.callId)) open.unshift(item);
      else if (item !== undefined && isUserMessage(item)) break;
    }
    return open;
  }

  /** Adds and returns a result for every open call: the known one, or one that says the call was not run. */
  closeCalls(finished: ReadonlyMap<string, CallOutcome>): readonly Item[] {
    const results = this.openCalls().map((call) => abandonedResult(call, finished.get(call.callId)));
    this.add(...results);
    return results;
  }
}

const NOT_MEASURED: ContextMeasurement = { tokens: 0, items: 0 };

function isUserMessage(item: Item): boolean {
  return item.type === 'message' && item.role === 'user';
}
