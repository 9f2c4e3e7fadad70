import { withoutUndefined } from '../base/index.ts';
import type { Content, Cost, Failure, Item, StopReason, Usage } from '../llm/index.ts';
import { errorOutput, type ToolOutput } from '../tools/index.ts';
import {
  type CallOutcome,
  type CallStatus,
  type Conversation,
  interruptedItems,
  type RunEvent,
  summaryItem,
} from '../worker/index.ts';
import type { AgentCall, AgentEvent, AgentOutcome } from './agent-event.ts';

/** The events that are parts of the conversation. The others are handled by the worker. */
export type ConversationEvent = Extract<
  AgentEvent,
  {
    readonly type:
      | 'text'
      | 'thinking'
      | 'answer-end'
      | 'usage'
      | 'total-cost'
      | 'call'
      | 'call-start'
      | 'call-update'
      | 'call-end'
      | 'retry'
      | 'compacted'
      | 'turn-end';
  }
>;

/** A message of the user that has been sent to the agent, and becomes part of the conversation at the next boundary. */
export interface SentMessage {
  readonly type: 'sent-message';
  readonly content: readonly Content[];
}

export interface TurnBuilderParts {
  readonly conversation: Conversation;
  /** Whether the agent reports the cost of its whole session instead of each request's. */
  readonly hasTotalCost: boolean;
}

/**
 * Makes the events of a run from those of an agent: turns with an answer and the calls in it, in the order that every door expects.
 * An agent that makes a new call or writes text while an earlier call is running does not fit into this order, so such events wait
 * until the calls of the turn have ended.
 */
export class TurnBuilder {
  readonly #conversation: Conversation;
  readonly #hasTotalCost: boolean;
  #phase: 'none' | 'answer' | 'calls' = 'none';
  /** The parts of the answer that are complete. */
  #items: Item[] = [];
  #open: OpenBlock | undefined;
  #blocks = 0;
  #usage: Usage | undefined;
  #cost: Cost | undefined;
  #stopReason: StopReason | undefined;
  #calls = new Map<string, CallInTurn>();
  /** The number of characters of the turn and of the events that wait. */
  #size = 0;
  #held: (ConversationEvent | SentMessage)[] = [];
  #retry: { readonly attempt: number; readonly failure: Failure } | undefined;
  #out: RunEvent[] = [];

  constructor({ conversation, hasTotalCost }: TurnBuilderParts) {
    this.#conversation = conversation;
    this.#hasTotalCost = hasTotalCost;
  }

  /** Whether a call of the current turn with this id has not ended. */
  isOpen(callId: string): boolean {
    const known = this.#calls.get(callId);
    return known !== undefined && known.outcome === undefined;
  }

  /** Why the agent must be stopped: it reports more than is kept in memory. Undefined otherwise. */
  get excess(): string | undefined {
    if (this.#calls.size > MAX_CALLS) return `it made more than ${MAX_CALLS} calls at once`;
    if (this.#blocks > MAX_BLOCKS) return `its answer has more than ${MAX_BLOCKS} parts`;
    if (this.#held.length > MAX_HELD) return 'it reported too much while one of its calls was running';
    return this.#size > MAX_CHARACTERS ? 'its answer is too long' : undefined;
  }

  /** Whether a call of the current turn has not ended. */
  get hasOpenCalls(): boolean {
    return [...this.#calls.values()].some(({ outcome }) => outcome === undefined);
  }

  /** Whether a call of the current turn is running. */
  get isRunningCall(): boolean {
    return [...this.#calls.values()].some(({ isStarted, outcome }) => isStarted && outcome === undefined);
  }

  take(event: ConversationEvent | SentMessage): readonly RunEvent[] {
    this.#size += eventSize(event);
    if (this.#mustWait(event)) this.#held.push(event);
    else this.#take(event);
    return this.#flush();
  }

  /** The call starts, with the arguments that a person may have changed. */
  startCall(callId: string, args?: string): readonly RunEvent[] {
    this.#start(callId, args);
    return this.#flush();
  }

  /** The call is not run. */
  denyCall(callId: string, reason: string): readonly RunEvent[] {
    this.#end(callId, 'denied', errorOutput(reason, { denied: true }));
    return this.#flush();
  }

  /** Ends whatever is unfinished, because the agent or the run has ended. */
  finish(outcome: AgentOutcome): readonly RunEvent[] {
    this.#finish(outcome);
    // Nothing can wait for a boundary any more.
    const held = this.#held.filter(({ type }) => type === 'sent-message');
    this.#held = [];
    for (const event of held) this.#take(event);
    return this.#flush();
  }

  /** The calls of the turn that have not started. */
  get waitingCalls(): readonly string[] {
    if (this.#phase !== 'calls') return [];
    const waiting = [...this.#calls].filter(
      ([, { isStarted, outcome }]) => !isStarted && outcome === undefined,
    );
    return waiting.map(([callId]) => callId);
  }

  /**
   * Forgets a turn whose waiting calls stay open, because the run is paused. Running calls are interrupted. Returns the results of
   * the others.
   */
  suspend(): { readonly events: readonly RunEvent[]; readonly finished: ReadonlyMap<string, CallOutcome> } {
    for (const [callId, { isStarted, outcome }] of this.#calls)
      if (isStarted && outcome === undefined) this.#end(callId, 'interrupted', INTERRUPTED);
    const finished = new Map(
      [...this.#calls].flatMap(([callId, { outcome }]) => (outcome === undefined ? [] : [[callId, outcome]])),
    );
    this.#reset();
    this.#held = [];
    return { events: this.#flush(), finished };
  }

  #flush(): readonly RunEvent[] {
    const events = this.#out;
    this.#out = [];
    return events;
  }

  /** Whether the event is of a later turn. */
  #mustWait(event: ConversationEvent | SentMessage): boolean {
    if (this.#phase !== 'calls' || event.type === 'turn-end') return false;
    if ('callId' in event) return this.#held.length > 0 && !this.isOpen(event.callId);
    // Some models use the id of a call that has ended for a later one.
    if (event.type === 'call') return !this.isOpen(event.call.callId);
    return true;
  }

  #take(event: ConversationEvent | SentMessage): void {
    switch (event.type) {
      case 'text':
      case 'thinking':
        this.#text(event.type, event.text);
        return;
      case 'answer-end':
        if (event.stopReason !== undefined) this.#stopReason = event.stopReason;
        if (this.#phase === 'answer') this.#endAnswer();
        return;
      case 'usage':
        this.#use(event.usage, event.cost);
        return;
      case 'total-cost':
        this.#spend(event.usd);
        return;
      case 'call':
        this.#addCall(event.call);
        return;
      case 'call-start':
        this.#start(event.callId);
        return;
      case 'call-update':
        this.#start(event.callId);
        if (this.#calls.get(event.callId)?.outcome === undefined && this.#calls.has(event.callId))
          this.#out.push({ type: 'tool-update', callId: event.callId, text: event.text });
        return;
      case 'call-end':
        this.#end(event.callId, event.status, event.output);
        return;
      case 'retry':
        this.#endRetry(false);
        this.#retry = { attempt: event.attempt, failure: event.failure };
        this.#out.push({
          type: 'retry-start',
          attempt: event.attempt,
          maxAttempts: event.maxAttempts,
          delayMs: event.delayMs,
          continuation: false,
          failure: event.failure,
        });
        return;
      case 'compacted':
        if (this.#phase === 'answer') this.#endAnswer();
        if (this.hasOpenCalls) this.#held.push(event);
        else this.#compact(event.summary, event.tokensBefore);
        return;
      case 'sent-message':
        if (this.#phase === 'answer') this.#endAnswer();
        if (this.hasOpenCalls) this.#held.push(event);
        else this.#addInput(event.content);
        return;
      case 'turn-end':
        this.#finish(event.outcome);
    }
  }

  #addInput(content: readonly Content[]): void {
    const item: Item = { type: 'message', role: 'user', content };
    this.#conversation.addPrompt(item);
    this.#out.push({ type: 'input', origin: 'steer', item });
  }

  #beginAnswer(): void {
    if (this.#phase === 'answer') return;
    this.#endTurn();
    this.#phase = 'answer';
    this.#out.push(
      { type: 'turn-start', turn: this.#conversation.beginTurn() },
      { type: 'status', status: 'started' },
    );
  }

  #text(blockType: 'text' | 'thinking', text: string): void {
    if (text === '') return;
    this.#beginAnswer();
    this.#endRetry(true);
    if (this.#open?.blockType !== blockType) {
      this.#closeBlock();
      this.#open = { index: this.#blocks, blockType, pieces: [] };
      this.#blocks += 1;
      this.#out.push({ type: 'block-start', index: this.#open.index, blockType });
    }
    this.#open.pieces.push(text);
    this.#out.push({ type: 'block-delta', index: this.#open.index, delta: { type: blockType, text } });
  }

  #closeBlock(): void {
    if (this.#open === undefined) return;
    const { index, blockType } = this.#open;
    this.#out.push({ type: 'block-stop', index, blockType });
    this.#items.push(itemOf(this.#open));
    this.#open = undefined;
  }

  #addCall(call: AgentCall): void {
    if (this.#calls.has(call.callId)) return;
    this.#beginAnswer();
    this.#endRetry(true);
    this.#closeBlock();
    const { callId, name, arguments: args } = call;
    const head = { index: this.#blocks, blockType: 'tool-use', id: callId, name } as const;
    this.#blocks += 1;
    this.#out.push(
      { type: 'block-start', ...head },
      { type: 'block-delta', index: head.index, delta: { type: 'input-json', json: args } },
      { type: 'block-stop', ...head },
    );
    this.#items.push({ type: 'tool-call', callId, name, arguments: args });
    this.#calls.set(callId, { call, isStarted: false, outcome: undefined });
  }

  /** The answer is complete; its calls follow. */
  #endAnswer(): void {
    this.#closeBlock();
    const items = this.#items;
    const usage = this.#usage;
    const cost = this.#cost;
    const turn = this.#conversation.turn;
    const stopReason = this.#stopReason ?? (this.#calls.size > 0 ? 'tool-use' : 'end-turn');
    if (usage !== undefined) this.#out.push({ type: 'usage', ...usage });
    this.#out.push({ type: 'status', status: 'completed', stopReason });
    this.#conversation.addAnswer(items, usage, this.#costInTotals(cost));
    this.#out.push({
      type: 'llm-end',
      turn,
      outcome: 'completed',
      items,
      ...withoutUndefined({ usage, cost }),
    });
    this.#clearAnswer();
    if (this.#calls.size === 0) {
      this.#out.push({ type: 'turn-end', turn, results: [] });
      this.#reset();
    } else this.#phase = 'calls';
  }

  #clearAnswer(): void {
    this.#items = [];
    this.#open = undefined;
    this.#blocks = 0;
    this.#usage = undefined;
    this.#cost = undefined;
    this.#stopReason = undefined;
  }

  #start(callId: string, args?: string): void {
    const known = this.#calls.get(callId);
    if (known === undefined) return;
    if (this.#phase === 'answer') this.#endAnswer();
    if (known.isStarted || known.outcome !== undefined) return;
    known.isStarted = true;
    const { name, title, arguments: own } = known.call;
    this.#out.push({ type: 'tool-start', call: { callId, name, arguments: args ?? own, title } });
  }

  #end(callId: string, status: CallStatus, output: ToolOutput): void {
    this.#start(callId);
    const known = this.#calls.get(callId);
    if (known === undefined || known.outcome !== undefined) return;
    known.outcome = { status, output };
    this.#out.push({ type: 'tool-end', callId, name: known.call.name, status, output });
    if (!this.hasOpenCalls) this.#endTurn();
  }

  /** Ends the turn and continues with what has waited for that. */
  #endTurn(): void {
    if (this.#phase !== 'calls') return;
    const turn = this.#conversation.turn;
    const results = [...this.#calls.values()].map(({ call, outcome = UNFINISHED }): Item => {
      const { content, isError } = outcome.output;
      return { type: 'tool-result', callId: call.callId, content, isError };
    });
    this.#conversation.addResults(results);
    this.#out.push({ type: 'turn-end', turn, results });
    this.#reset();
    const held = this.#held;
    this.#held = [];
    for (const event of held) {
      if (this.#mustWait(event)) this.#held.push(event);
      else this.#take(event);
    }
  }

  #reset(): void {
    this.#phase = 'none';
    this.#calls = new Map();
    this.#size = this.#held.reduce((sum, event) => sum + eventSize(event), 0);
    this.#clearAnswer();
  }

  #finish(outcome: AgentOutcome): void {
    this.#endRetry(outcome.status === 'finished', outcome.status === 'failed' ? outcome.failure : undefined);
    const isCut = outcome.status === 'failed' || outcome.status === 'cancelled';
    // What has waited for the end of the calls may begin the next turn.
    for (let phase = this.#phase; phase !== 'none'; phase = this.#phase) {
      if (phase === 'answer' && isCut) break;
      if (phase === 'answer') this.#endAnswer();
      for (const callId of this.#calls.keys()) this.#end(callId, 'interrupted', INTERRUPTED);
    }
    if (outcome.status === 'failed') this.#beginAnswer();
    if (isCut && this.#phase === 'answer') this.#breakAnswer(outcome);
  }

  /** The answer was cut off. Its calls were not run. */
  #breakAnswer(outcome: AgentOutcome): void {
    const turn = this.#conversation.turn;
    const usage = this.#usage;
    const cost = this.#cost;
    const open = this.#open;
    const broken = [...this.#items, ...(open === undefined ? [] : [itemOf(open)])].filter(
      ({ type }) => type !== 'tool-call',
    );
    if (open !== undefined) {
      const reason = outcome.status === 'failed' ? outcome.failure.message : 'cancelled';
      this.#out.push({ type: 'block-abort', index: open.index, blockType: open.blockType, reason });
    }
    const isFailed = outcome.status === 'failed';
    if (isFailed) this.#out.push({ type: 'error', ...outcome.failure });
    this.#out.push({ type: 'status', status: isFailed ? 'failed' : 'cancelled' });
    const texts = broken.flatMap((item) =>
      item.type === 'message'
        ? item.content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
        : [],
    );
    const items = isFailed ? [] : interruptedItems(texts);
    this.#conversation.addAnswer(items, usage, this.#costInTotals(cost));
    this.#out.push(
      {
        type: 'llm-end',
        turn,
        outcome: isFailed ? 'failed' : 'cancelled',
        items,
        broken,
        ...withoutUndefined({ usage, cost }),
      },
      { type: 'turn-end', turn, results: [] },
    );
    this.#reset();
  }

  #use(usage: Usage, cost: Cost | undefined): void {
    if (this.#phase === 'answer') {
      this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage);
      this.#cost = cost ?? this.#cost;
    } else this.#conversation.count(usage, this.#costInTotals(cost));
  }

  /** While only sums are known, a request counts as free: the next sum corrects the total. */
  #costInTotals(cost: Cost | undefined): Cost | undefined {
    return cost ?? (this.#hasTotalCost ? costOfTotal(0) : undefined);
  }

  #spend(usd: number): void {
    const added = usd - (this.#conversation.totals.cost ?? 0);
    if (added > 0) this.#conversation.count({}, costOfTotal(added));
  }

  #endRetry(success: boolean, failure = this.#retry?.failure): void {
    if (this.#retry === undefined) return;
    const { attempt } = this.#retry;
    this.#retry = undefined;
    this.#out.push({
      type: 'retry-end',
      attempt,
      success,
      ...(success ? {} : withoutUndefined({ failure })),
    });
  }

  #compact(summary: string, tokensBefore = this.#conversation.contextTokens): void {
    const replaced = this.#conversation.items.length;
    this.#conversation.replace([summaryItem(summary)], undefined, undefined);
    const tokensAfter = this.#conversation.contextTokens;
    this.#out.push(
      { type: 'compaction-start', reason: 'threshold' },
      {
        type: 'compaction-end',
        reason: 'threshold',
        result: { status: 'compacted', summary, replaced, tokensBefore, tokensAfter },
      },
    );
  }
}

/** The number of characters that an event adds to the memory of this process. */
export function eventSize(event: AgentEvent | SentMessage): number {
  switch (event.type) {
    case 'text':
    case 'thinking':
    case 'call-update':
      return event.text.length;
    case 'call':
      return event.call.arguments.length;
    case 'permission':
      return event.request.call.arguments.length;
    case 'call-end':
      return event.output.content.reduce((sum, part) => sum + contentSize(part), 0);
    default:
      return 0;
  }
}

function contentSize(part: Content): number {
  return part.type === 'text' ? part.text.length : part.data.length;
}

const MAX_CALLS = 1_000;
const MAX_BLOCKS = 2_000;
const MAX_HELD = 10_000;
const MAX_CHARACTERS = 16 * 1024 * 1024;

interface OpenBlock {
  readonly index: number;
  readonly blockType: 'text' | 'thinking';
  readonly pieces: string[];
}

interface CallInTurn {
  readonly call: AgentCall;
  isStarted: boolean;
  outcome: CallOutcome | undefined;
}

function itemOf({ blockType, pieces }: OpenBlock): Item {
  const text = pieces.join('');
  return blockType === 'thinking'
    ? { type: 'reasoning', text }
    : { type: 'message', role: 'assistant', content: [{ type: 'text', text }] };
}

const INTERRUPTED = errorOutput('The call was interrupted: its effect is unknown.');
const UNFINISHED: CallOutcome = { status: 'interrupted', output: INTERRUPTED };

/** A cost of which only the sum is known. */
function costOfTotal(total: number): Cost {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total };
}

function addUsage(a: Usage, b: Usage): Usage {
  const sum: Record<string, number> = { ...a };
  for (const [name, value] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + Number(value);
  return sum;
}
