import type { BlockStop, BlockType } from '../llm/index.ts';
import type {
  BlockEnd,
  TextBlockEvent,
  TextOrigin,
  ThinkingBlockEvent,
  ToolUseBlockEvent,
  ToolUseHead,
} from './kind.ts';
import type { Begin, Listener } from './listener.ts';

/** A block between its start and its stop or abort. */
export interface OpenBlock {
  readonly type: BlockType;
  readonly index: number;
  start(): void;
  stop(event: BlockStop): void;
  abort(reason: string): void;
}

/** A block that handlers hear of. It holds their scopes, which is why a scope lives exactly as long as its block. */
abstract class HeardBlock<Event> implements OpenBlock {
  abstract readonly type: BlockType;
  readonly index: number;
  /** All handlers of this kind; the list grows when one is registered. */
  readonly #handlers: readonly Begin<Event>[];
  /** One for each handler that has begun, in the same order. */
  readonly #listeners: Listener<Event>[] = [];
  #closed = false;

  constructor(index: number, handlers: readonly Begin<Event>[]) {
    this.index = index;
    this.#handlers = handlers;
  }

  start(): void {
    this.#admit(this.startEvent());
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

  /** Whether a delta would reach anyone. Handlers registered since the last one get their start first. */
  protected isHeard(): boolean {
    if (this.#listeners.length < this.#handlers.length) this.#admit(this.startEvent());
    return this.#listeners.length > 0;
  }

  protected deliver(event: Event): void {
    for (const listener of this.#listeners) {
      // A handler may have aborted the block just now; the others have then seen its end already.
      if (this.#closed) return;
      listener.deliver(event);
    }
  }

  #admit(start: Event): void {
    for (const begin of this.#handlers.slice(this.#listeners.length)) {
      if (this.#closed) return;
      const listener = begin();
      this.#listeners.push(listener);
      listener.deliver(start);
    }
  }

  #close(end: Event): void {
    this.#closed = true;
    for (const listener of this.#listeners) listener.deliver(end);
  }
}

export class TextBlock extends HeardBlock<TextBlockEvent> {
  readonly type: 'text' | 'tool-result';
  readonly #origin: TextOrigin;

  constructor(index: number, origin: TextOrigin, handlers: readonly Begin<TextBlockEvent>[]) {
    super(index, handlers);
    this.type = origin.source === 'model' ? 'text' : 'tool-result';
    this.#origin = origin;
  }

  delta(text: string): void {
    if (!this.isHeard()) return;
    const origin = this.#origin;
    // Written out because this is the hot path: a spread costs more than all the rest.
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
    return { type: 'stop', index: this.index, ...this.#origin, ...endOf(event) };
  }

  protected abortEvent(reason: string): TextBlockEvent {
    return { type: 'abort', index: this.index, ...this.#origin, reason };
  }
}

export class ThinkingBlock extends HeardBlock<ThinkingBlockEvent> {
  readonly type = 'thinking';

  delta(text: string): void {
    if (this.isHeard()) this.deliver({ type: 'delta', index: this.index, text });
  }

  protected startEvent(): ThinkingBlockEvent {
    return { type: 'start', index: this.index };
  }

  protected stopEvent(event: BlockStop): ThinkingBlockEvent {
    return { type: 'stop', index: this.index, ...endOf(event) };
  }

  protected abortEvent(reason: string): ThinkingBlockEvent {
    return { type: 'abort', index: this.index, reason };
  }
}

export class ToolUseBlock extends HeardBlock<ToolUseBlockEvent> {
  readonly type = 'tool-use';
  readonly #id: string;
  readonly #name: string;

  constructor(index: number, head: ToolUseHead, handlers: readonly Begin<ToolUseBlockEvent>[]) {
    super(index, handlers);
    this.#id = head.id;
    this.#name = head.name;
  }

  delta(json: string): void {
    if (!this.isHeard()) return;
    this.deliver({ type: 'input-json', index: this.index, id: this.#id, name: this.#name, json });
  }

  protected startEvent(): ToolUseBlockEvent {
    return { type: 'start', index: this.index, id: this.#id, name: this.#name };
  }

  protected stopEvent(event: BlockStop): ToolUseBlockEvent {
    // The id stays what the start said, for whoever keeps calls by id. A block without a start may learn its tool's
    // name only here, and without a name the call would be lost.
    const name = this.#name === '' && event.blockType === 'tool-use' ? event.name : this.#name;
    return { type: 'stop', index: this.index, id: this.#id, name, ...endOf(event) };
  }

  protected abortEvent(reason: string): ToolUseBlockEvent {
    return { type: 'abort', index: this.index, id: this.#id, name: this.#name, reason };
  }
}

/** What the provider did itself: on the books, so that its end is known, but heard by nobody. */
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

function endOf({ stopReason, seal }: BlockStop): BlockEnd {
  return {
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(seal === undefined ? {} : { seal }),
  };
}
