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
  /** The latest message from outside, if it came to this conversation object. */
  #prompt: Item | undefined;

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

  /** Adds a prompt, or a message that was steered or queued. */
  addPrompt(item: Item): void {
    this.#prompt = item;
    this.add(item);
  }

  /**
   * What happened since the latest prompt, up to an item: what the loop guard counts. When the prompt was summarised, all
   * that is left is newer. A conversation that was restored goes by its last user message.
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
      else if (item !== undefined && isUserMessage(item)) break;
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

function isUserMessage(item: Item): boolean {
  return item.type === 'message' && item.role === 'user';
}
