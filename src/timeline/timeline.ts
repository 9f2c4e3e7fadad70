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
import {
  type ListenerFactory,
  type HandlerErrorSink,
  type Listener,
  listen,
  listenOrSkipBlock,
} from './listener.ts';
import { OpaqueBlock, type OpenBlock, TextBlock, ThinkingBlock, ToolUseBlock } from './open-block.ts';

export interface TimelineOptions {
  /** Receives errors thrown by handlers; the other handlers still receive the event. Default: a process warning. */
  readonly onHandlerError?: (error: unknown, kind: Kind) => void;
  /** Receives events that could not be dispatched: the stop or abort of a block that is not open. Default: ignored. */
  readonly onTrace?: (trace: Trace) => void;
}

/**
 * Dispatches the events of consecutive answers to the handlers of their kind, in the order of registration, with a scope
 * for each block.
 *
 * Any number of blocks may be open. An index can hold one block per kind, because a delta has only a kind and an index.
 * Handlers always receive a start, then deltas, then one stop or abort, even if the stream omits some of them.
 */
export class Timeline {
  readonly #onHandlerError: HandlerErrorSink;
  readonly #onTrace: (trace: Trace) => void;

  readonly #usage: Listener<UsageEvent>[] = [];
  readonly #ping: Listener<PingEvent>[] = [];
  readonly #status: Listener<StatusEvent>[] = [];
  readonly #error: Listener<ErrorEvent>[] = [];

  readonly #textBlock: ListenerFactory<TextBlockEvent>[] = [];
  readonly #thinkingBlock: ListenerFactory<ThinkingBlockEvent>[] = [];
  readonly #toolUseBlock: ListenerFactory<ToolUseBlockEvent>[] = [];

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
  /** All open blocks, in the order in which they were opened. */
  readonly #open = new Set<OpenBlock>();

  constructor(options: TimelineOptions = {}) {
    this.#onHandlerError = options.onHandlerError ?? warnOnce();
    this.#onTrace = options.onTrace ?? (() => {});
  }

  onUsage<Scope extends object | undefined>(handler: Handler<'usage', Scope>): this {
    return this.#addHandler(this.#usage, handler);
  }

  onPing<Scope extends object | undefined>(handler: Handler<'ping', Scope>): this {
    return this.#addHandler(this.#ping, handler);
  }

  onStatus<Scope extends object | undefined>(handler: Handler<'status', Scope>): this {
    return this.#addHandler(this.#status, handler);
  }

  onError<Scope extends object | undefined>(handler: Handler<'error', Scope>): this {
    return this.#addHandler(this.#error, handler);
  }

  /** A handler registered while a block is open receives a start at the block's next delta. */
  onTextBlock<Scope extends object | undefined>(handler: Handler<'text-block', Scope>): this {
    return this.#addBlockHandler(this.#textBlock, handler);
  }

  /** Like `onTextBlock`, for the model's reasoning. */
  onThinkingBlock<Scope extends object | undefined>(handler: Handler<'thinking-block', Scope>): this {
    return this.#addBlockHandler(this.#thinkingBlock, handler);
  }

  /** Like `onTextBlock`, for tool calls. */
  onToolUseBlock<Scope extends object | undefined>(handler: Handler<'tool-use-block', Scope>): this {
    return this.#addBlockHandler(this.#toolUseBlock, handler);
  }

  /** The most recently opened block that is still open. */
  get currentBlock(): { readonly type: BlockType; readonly index: number } | undefined {
    let current: OpenBlock | undefined;
    for (const block of this.#open) current = block;
    return current && { type: current.type, index: current.index };
  }

  /**
   * Dispatches one event of the stream. A handler may register handlers and abort blocks, but must not call `dispatch`:
   * the handlers after it would receive the inner event before the outer one.
   */
  dispatch(event: LlmEvent): void {
    switch (event.type) {
      case 'block-delta':
        return this.#delta(event);
      case 'block-start':
        return this.#start(event);
      case 'block-stop':
        return this.#removeEnded(event)?.stop(event);
      case 'block-abort':
        return this.#removeEnded(event)?.abort(event.reason);
      case 'usage':
        return deliver(this.#usage, event);
      case 'ping':
        return deliver(this.#ping, event);
      case 'error':
        return deliver(this.#error, event);
      case 'status':
        // Abort open blocks, so that a delta of the next request cannot be added to a block of this one.
        if (event.status !== 'completed') this.abortCurrentBlock(ABORT_REASONS[event.status]);
        return deliver(this.#status, event);
    }
  }

  dispatchAll(events: Iterable<LlmEvent>): void {
    for (const event of events) this.dispatch(event);
  }

  /** Aborts all open blocks, in the order in which they were opened. */
  abortCurrentBlock(reason: string): void {
    for (const block of this.#open) if (this.#remove(block)) block.abort(reason);
  }

  #addHandler<K extends Kind, Scope extends object | undefined>(
    listeners: Listener<EventOf<K>>[],
    handler: Handler<K, Scope>,
  ): this {
    listeners.push(listen(handler, this.#onHandlerError));
    return this;
  }

  #addBlockHandler<K extends Kind, Scope extends object | undefined>(
    handlers: ListenerFactory<EventOf<K>>[],
    handler: Handler<K, Scope>,
  ): this {
    handlers.push(() => listenOrSkipBlock(handler, this.#onHandlerError));
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

  /** A delta opens its block if necessary: some providers send no block start. */
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
    if (before !== undefined && this.#remove(before)) before.abort('restarted');
    blocks.set(block.index, block);
    this.#open.add(block);
    block.start();
    return block;
  }

  /** Removes and returns the block that an event ends. It is removed before its handlers are called. */
  #removeEnded(event: BlockStop | BlockAbort): OpenBlock | undefined {
    const block = this.#blocks[event.blockType].get(event.index);
    if (block?.type === event.blockType) {
      this.#remove(block);
      return block;
    }
    const preview = JSON.stringify(event).slice(0, 512);
    this.#onTrace({ type: 'trace', what: `${event.type} of a block that is not open`, preview });
    return undefined;
  }

  /** Returns whether the block was open. */
  #remove(block: OpenBlock): boolean {
    this.#blocks[block.type].delete(block.index);
    return this.#open.delete(block);
  }
}

const ABORT_REASONS = {
  started: 'another request started',
  cancelled: 'cancelled',
  failed: 'the request failed',
} as const;

function deliver<Event>(listeners: readonly Listener<Event>[], event: Event): void {
  for (const listener of listeners) listener.deliver(event);
}

/**
 * Emits a process warning, because a failing handler must neither stop the answer nor stay unnoticed. Each text is emitted
 * once, because a handler that fails at one delta usually fails at all of them.
 */
function warnOnce(): HandlerErrorSink {
  const emitted = new Set<string>();
  return (error, kind) => {
    const warning = `A ${kind} handler threw ${inspect(error)}`;
    if (emitted.has(warning)) return;
    emitted.add(warning);
    process.emitWarning(warning, 'TimelineHandlerWarning');
  };
}
