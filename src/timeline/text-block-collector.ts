import { BlockOrder } from './block-order.ts';
import { TextBuffer } from './text-buffer.ts';
import { type Handler, handler } from './handler.ts';
import type { TextBlockEvent } from './kind.ts';
import type { Timeline } from './timeline.ts';

/** Collects the text of each completed block of the model, in block order. Empty blocks and tool results are left out. */
export class TextBlockCollector implements Handler<'text-block', TextBuffer> {
  readonly kind = 'text-block';
  readonly #collected = new BlockOrder<string>();

  /**
   * Registers the collector and clears it between requests: text of a cancelled request is dropped immediately, text of a
   * failed request stays until it is taken or the next request starts.
   */
  attach(timeline: Timeline): this {
    timeline.onTextBlock(this).onStatus(
      handler('status', ({ status }) => {
        if (status === 'started' || status === 'cancelled') this.clear();
      }),
    );
    return this;
  }

  collected(): readonly string[] {
    return this.#collected.values();
  }

  takeCollected(): string[] {
    const texts = this.#collected.values();
    this.clear();
    return texts;
  }

  hasContent(): boolean {
    return !this.#collected.isEmpty;
  }

  clear(): void {
    this.#collected.clear();
  }

  scope(): TextBuffer {
    return new TextBuffer();
  }

  onEvent(scope: TextBuffer, event: TextBlockEvent): void {
    if (event.source !== 'model') return;
    if (event.type === 'delta') scope.add(event.text);
    else if (event.type === 'stop') this.#collect(event.index, scope.toString());
  }

  #collect(index: number, text: string): void {
    if (text !== '') this.#collected.add(index, text);
  }
}
