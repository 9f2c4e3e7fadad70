import type { BlockStop, BlockType } from '../llm/index.ts';
import type {
  BlockEnd,
  TextBlockEvent,
  TextOrigin,
  ThinkingBlockEvent,
  ToolUseBlockEvent,
  ToolUseHead,
} from './kind.ts';
import type { ListenerFactory, Listener } from './listener.ts';

/** A block between its start and its stop or abort. */
export interface OpenBlock {
  readonly type: BlockType;
  readonly index: number;
  start(): void;
  stop(event: BlockStop): void;
  abort(reason: string): void;
}

/** A block whose events are delivered to handlers. It holds their scopes, so a scope lives as long as its block. */
abstract class HandledBlock<Event> implements OpenBlock {
  abstract readonly type: BlockType;
  readonly index: number;
  /** All handlers of this kind; the list grows when one is registered. */
  readonly #handlers: readonly ListenerFactory<Event>[];
  /** One for each handler that has received the start, in the same order. */
  readonly #listeners: Listener<Event>[] = [];
  #closed = false;

  constructor(index: number, handlers: readonly ListenerFactory<Event>[]) {
    this.index = index;
    this.#handlers = handlers;
  }

  start(): void {
    this.#addListeners(this.startEvent());
  }

  stop(event: BlockStop): void {
    this.#close(this.stopEvent(event));
  }

  abort(reason: string): void {
    this.#close(this.abortEvent(reason));
  }

  protected abstract startEvent(): Event;
  protected abstract stopEvent(event: BlockStop): Event;
  protected abstract abortEvent(reason: string): Event;

  /** Whether there are listeners. Handlers that were registered since the last delta get their start first. */
  protected hasListeners(): boolean {
    if (this.#listeners.length < this.#handlers.length) this.#addListeners(this.startEvent());
    return this.#listeners.length > 0;
  }

  protected deliver(event: Event): void {
    for (const listener of this.#listeners) {
      // A handler may have aborted the block; the other handlers have then received the abort already.
      if (this.#closed) return;
      listener.deliver(event);
    }
  }

  #addListeners(start: Event): void {
    for (const createListener of this.#handlers.slice(this.#listeners.length)) {
      if (this.#closed) return;
      const listener = createListener();
      this.#listeners.push(listener);
      listener.deliver(start);
    }
  }

  #close(end: Event): void {
    this.#closed = true;
    for (const listener of this.#listeners) listener.deliver(end);
  }
}

export class TextBlock extends HandledBlock<TextBlockEvent> {
  readonly type: 'text' | 'tool-result';
  readonly #origin: TextOrigin;

  constructor(index: number, origin: TextOrigin, handlers: readonly ListenerFactory<TextBlockEvent>[]) {
    super(index, handlers);
    this.type = origin.source === 'model' ? 'text' : 'tool-result';
    this.#origin = origin;
  }

  delta(text: string): void {
    if (!this.hasListeners()) return;
    const origin = this.#origin;
    // Written out because this is the hot path: a spread costs more than the rest of the function.
    if (origin.source === 'model') this.deliver({ type: 'delta', index: this.index, source: 'model', text });
    else
      this.deliver({
        type: 'delta',
        index: this.index,
        source: 'tool-result',
        toolUseId: origin.toolUseId,
        text,
      });
  }

  protected startEvent(): TextBlockEvent {
    return { type: 'start', index: this.index, ...this.#origin };
  }

  protected stopEvent(event: BlockStop): TextBlockEvent {
    return { type: 'stop', index: this.index, ...this.#origin, ...blockEnd(event) };
  }

  protected abortEvent(reason: string): TextBlockEvent {
    return { type: 'abort', index: this.index, ...this.#origin, reason };
  }
}

export class ThinkingBlock extends HandledBlock<ThinkingBlockEvent> {
  readonly type = 'thinking';

  delta(text: string): void {
    if (this.hasListeners()) this.deliver({ type: 'delta', index: this.index, text });
  }

  protected startEvent(): ThinkingBlockEvent {
    return { type: 'start', index: this.index };
  }

  protected stopEvent(event: BlockStop): ThinkingBlockEvent {
    return { type: 'stop', index: this.index, ...blockEnd(event) };
  }

  protected abortEvent(reason: string): ThinkingBlockEvent {
    return { type: 'abort', index: this.index, reason };
  }
}

export class ToolUseBlock extends HandledBlock<ToolUseBlockEvent> {
  readonly type = 'tool-use';
  readonly #id: string;
  readonly #name: string;

  constructor(index: number, head: ToolUseHead, handlers: readonly ListenerFactory<ToolUseBlockEvent>[]) {
    super(index, handlers);
    this.#id = head.id;
    this.#name = head.name;
  }

  delta(json: string): void {
    if (!this.hasListeners()) return;
    this.deliver({ type: 'input-json', index: this.index, id: this.#id, name: this.#name, json });
  }

  protected startEvent(): ToolUseBlockEvent {
    return { type: 'start', index: this.index, id: this.#id, name: this.#name };
  }

  protected stopEvent(event: BlockStop): ToolUseBlockEvent {
    // The id stays the one of the start event, because handlers may key calls by id. A block without a start may receive
    // its tool name only here.
    const name = this.#name === '' && event.blockType === 'tool-use' ? event.name : this.#name;
    return { type: 'stop', index: this.index, id: this.#id, name, ...blockEnd(event) };
  }

  protected abortEvent(reason: string): ToolUseBlockEvent {
    return { type: 'abort', index: this.index, id: this.#id, name: this.#name, reason };
  }
}

/** Something that the provider did itself. It is tracked so that its end is recognized, but no handler receives it. */
export class OpaqueBlock implements OpenBlock {
  readonly type = 'opaque';
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  start(): void {}
  stop(): void {}
  abort(): void {}
}

function blockEnd({ stopReason, seal }: BlockStop): BlockEnd {
  return {
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(seal === undefined ? {} : { seal }),
  };
}
