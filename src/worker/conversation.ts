import type { Cost, Item, Usage } from '../llm/index.ts';
import type { Totals } from './event.ts';
import { estimateTokens } from './tokens.ts';
import type { Call, Finished } from './decide-call.ts';
import { abandonedResult } from './tool-batch.ts';
import { countCalls, countTurn, NO_TOTALS, sum } from './totals.ts';

/** How many tokens the context held, and how many items it was then. */
export interface Measured {
  readonly tokens: number;
  readonly items: number;
}

/** What has been said so far, and what it has used. */
export class Conversation {
  #items: readonly Item[];
  #totals: Totals;
  #turn: number;
  /** The last usage, and how many items there were then: what the context holds. */
  #measured: Measured;

  constructor(items: readonly Item[], totals: Totals, measured: Measured = NOT_MEASURED) {
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

  /** The number of the turn that is under way, or was last. */
  get turn(): number {
    return this.#turn;
  }

  /** Tokens in the context, as far as they are known. */
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

  /** Summaries are paid for, too. */
  replace(items: readonly Item[], usage: Usage | undefined, cost: Cost | undefined): void {
    if (items !== this.#items) this.#measured = NOT_MEASURED;
    this.#items = items;
    if (usage) this.#totals = sum(this.#totals, { ...countTurn(NO_TOTALS, usage, cost), turns: 0 });
  }

  /** Calls without a result, which only the latest answer can have: every new prompt closes what is left open. */
  openCalls(): readonly Call[] {
    const answered = new Set<string>();
    const open: Call[] = [];
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at];
      if (item?.type === 'tool-result') answered.add(item.callId);
      else if (item?.type === 'tool-call' && !answered.has(item.callId)) open.unshift(item);
      else if (item?.type === 'message' && item.role === 'user') break;
    }
    return open;
  }

  /** Gives every open call its result, or one that says it was not run; returns them. */
  closeCalls(finished: ReadonlyMap<string, Finished>): readonly Item[] {
    const results = this.openCalls().map((call) => abandonedResult(call, finished.get(call.callId)));
    this.add(...results);
    return results;
  }
}

const NOT_MEASURED: Measured = { tokens: 0, items: 0 };
