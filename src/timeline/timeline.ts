import { inspect } from 'node:util';
import type {
  BlockAbort,
  BlockDelta,
  BlockStart,
  BlockStop,
  BlockType,
  ErrorEvent,
  LlmEvent,
  PingEvent,
  StatusEvent,
  Trace,
  UsageEvent,
} from '../llm/index.ts';
import type { Handler } from './handler.ts';
import type { EventOf, Kind, TextBlockEvent, ThinkingBlockEvent, ToolUseBlockEvent } from './kind.ts';
import { type Begin, type HandlerErrorSink, type Listener, listen, listenOrSitOut } from './listener.ts';
import { OpaqueBlock, type OpenBlock, TextBlock, ThinkingBlock, ToolUseBlock } from './open-block.ts';

export interface TimelineOptions {
  /** Gets what a handler threw; the other handlers have the event all the same. Default: a process warning. */
  readonly onHandlerError?: (error: unknown, kind: Kind) => void;
  /** Gets what could not be dispatched: the stop or abort of a block that is not open. Default: nobody. */
  readonly onTrace?: (trace: Trace) => void;
}

/**
 * Hands the events of one answer after another to the handlers registered for their kind, in the order of
 * registration, with a scope for each block.
 *
 * Any number of blocks may be open. An index holds one block per kind, because a delta says no more than its kind and
 * its index. Handlers always see a start, then deltas, then one stop or abort, whatever the stream left out.
 */
export class Timeline {
  readonly #onHandlerError: HandlerErrorSink;
  readonly #onTrace: (trace: Trace) => void;

  readonly #usage: Listener<UsageEvent>[] = [];
  readonly #ping: Listener<PingEvent>[] = [];
  readonly #status: Listener<StatusEvent>[] = [];
  readonly #error: Listener<ErrorEvent>[] = [];

  readonly #textBlock: Begin<TextBlockEvent>[] = [];
  readonly #thinkingBlock: Begin<ThinkingBlockEvent>[] = [];
  readonly #toolUseBlock: Begin<ToolUseBlockEvent>[] = [];

  readonly #texts = new Map<number, TextBlock>();
  readonly #thoughts = new Map<number, ThinkingBlock>();
  readonly #toolUses = new Map<number, ToolUseBlock>();
  readonly #opaques = new Map<number, OpaqueBlock>();
  readonly #blocks: { readonly [Type in BlockType]: Pick<Map<number, OpenBlock>, 'get' | 'delete'> } = {
    text: this.#texts,
    'tool-result': this.#texts,
    thinking: this.#thoughts,
    'tool-use': this.#toolUses,
    opaque: this.#opaques,
  };
  /** All of them, in the order they were opened. */
  readonly #open = new Set<OpenBlock>();

  constructor(options: TimelineOptions = {}) {
    this.#onHandlerError = options.onHandlerError ?? warnOnce();
    this.#onTrace = options.onTrace ?? (() => {});
  }

  onUsage<Scope extends object | undefined>(handler: Handler<'usage', Scope>): this {
    return this.#keep(this.#usage, handler);
  }

  onPing<Scope extends object | undefined>(handler: Handler<'ping', Scope>): this {
    return this.#keep(this.#ping, handler);
  }

  onStatus<Scope extends object | undefined>(handler: Handler<'status', Scope>): this {
    return this.#keep(this.#status, handler);
  }

  onError<Scope extends object | undefined>(handler: Handler<'error', Scope>): this {
    return this.#keep(this.#error, handler);
  }

  /** Registered while a block is open, the handler joins it at its next delta, and gets a start first. */
  onTextBlock<Scope extends object | undefined>(handler: Handler<'text-block', Scope>): this {
    return this.#keepForBlocks(this.#textBlock, handler);
  }

  /** As `onTextBlock`, for the model's reasoning. */
  onThinkingBlock<Scope extends object | undefined>(handler: Handler<'thinking-block', Scope>): this {
    return this.#keepForBlocks(this.#thinkingBlock, handler);
  }

  /** As `onTextBlock`, for tool calls. */
  onToolUseBlock<Scope extends object | undefined>(handler: Handler<'tool-use-block', Scope>): this {
    return this.#keepForBlocks(this.#toolUseBlock, handler);
  }

  /** The block opened last of those still open. */
  get currentBlock(): { readonly type: BlockType; readonly index: number } | undefined {
    let current: OpenBlock | undefined;
    for (const block of this.#open) current = block;
    return current && { type: current.type, index: current.index };
  }

  /**
   * For whoever reads the stream. A handler may register handlers and abort blocks, but not dispatch: those after it
   * would hear the inner event before the outer one.
   */
  dispatch(event: LlmEvent): void {
    switch (event.type) {
      case 'block-delta':
        return this.#delta(event);
      case 'block-start':
        return this.#start(event);
      case 'block-stop':
        return this.#take(event)?.stop(event);
      case 'block-abort':
        return this.#take(event)?.abort(event.reason);
      case 'usage':
        return deliver(this.#usage, event);
      case 'ping':
        return deliver(this.#ping, event);
      case 'error':
        return deliver(this.#error, event);
      case 'status':
        // No block outlives its request. Otherwise a delta of the next one could land in what this one left open.
        if (event.status !== 'completed') this.abortCurrentBlock(ABORTED_BY[event.status]);
        return deliver(this.#status, event);
    }
  }

  dispatchAll(events: Iterable<LlmEvent>): void {
    for (const event of events) this.dispatch(event);
  }

  /** Aborts what is in progress, in the order it was opened: every open block, since more than one can be. */
  abortCurrentBlock(reason: string): void {
    for (const block of this.#open) if (this.#forget(block)) block.abort(reason);
  }

  #keep<K extends Kind, Scope extends object | undefined>(
    listeners: Listener<EventOf<K>>[],
    handler: Handler<K, Scope>,
  ): this {
    listeners.push(listen(handler, this.#onHandlerError));
    return this;
  }

  #keepForBlocks<K extends Kind, Scope extends object | undefined>(
    handlers: Begin<EventOf<K>>[],
    handler: Handler<K, Scope>,
  ): this {
    handlers.push(() => listenOrSitOut(handler, this.#onHandlerError));
    return this;
  }

  #start(event: BlockStart): void {
    switch (event.blockType) {
      case 'text':
        this.#openText(event.index);
        return;
      case 'tool-result': {
        const origin = { source: 'tool-result', toolUseId: event.toolUseId } as const;
        this.#openBlock(this.#texts, new TextBlock(event.index, origin, this.#textBlock));
        return;
      }
      case 'thinking':
        this.#openThinking(event.index);
        return;
      case 'tool-use':
        this.#openToolUse(event.index, event.id, event.name);
        return;
      case 'opaque':
        this.#openBlock(this.#opaques, new OpaqueBlock(event.index));
        return;
    }
  }

  /** A delta without its block opens it: some providers never say that a block starts. */
  #delta({ index, delta }: BlockDelta): void {
    switch (delta.type) {
      case 'text':
        return (this.#texts.get(index) ?? this.#openText(index)).delta(delta.text);
      case 'thinking':
        return (this.#thoughts.get(index) ?? this.#openThinking(index)).delta(delta.text);
      case 'input-json':
        return (this.#toolUses.get(index) ?? this.#openToolUse(index, `call_${index}`, '')).delta(delta.json);
    }
  }

  #openText(index: number): TextBlock {
    return this.#openBlock(this.#texts, new TextBlock(index, { source: 'model' }, this.#textBlock));
  }

  #openThinking(index: number): ThinkingBlock {
    return this.#openBlock(this.#thoughts, new ThinkingBlock(index, this.#thinkingBlock));
  }

  #openToolUse(index: number, id: string, name: string): ToolUseBlock {
    return this.#openBlock(this.#toolUses, new ToolUseBlock(index, { id, name }, this.#toolUseBlock));
  }

  #openBlock<Block extends OpenBlock>(blocks: Map<number, Block>, block: Block): Block {
    const before = blocks.get(block.index);
    if (before !== undefined && this.#forget(before)) before.abort('restarted');
    blocks.set(block.index, block);
    this.#open.add(block);
    block.start();
    return block;
  }

  /** Takes the block that an event ends off the books, before its handlers hear of it. */
  #take(event: BlockStop | BlockAbort): OpenBlock | undefined {
    const block = this.#blocks[event.blockType].get(event.index);
    if (block?.type === event.blockType) {
      this.#forget(block);
      return block;
    }
    const preview = JSON.stringify(event).slice(0, 512);
    this.#onTrace({ type: 'trace', what: `${event.type} of a block that is not open`, preview });
    return undefined;
  }

  /** Whether the block was open until now. */
  #forget(block: OpenBlock): boolean {
    this.#blocks[block.type].delete(block.index);
    return this.#open.delete(block);
  }
}

const ABORTED_BY = {
  started: 'another request started',
  cancelled: 'cancelled',
  failed: 'the request failed',
} as const;

function deliver<Event>(listeners: readonly Listener<Event>[], event: Event): void {
  for (const listener of listeners) listener.deliver(event);
}

/**
 * A warning, because a broken handler may neither stop the answer nor stay unseen; and each text once, because what
 * fails at one delta mostly fails at all of them.
 */
function warnOnce(): HandlerErrorSink {
  const said = new Set<string>();
  return (error, kind) => {
    const warning = `A ${kind} handler threw ${inspect(error)}`;
    if (said.has(warning)) return;
    said.add(warning);
    process.emitWarning(warning, 'TimelineHandlerWarning');
  };
}
