import type { BlockStop, LlmEvent, Seal } from './event.ts';
import { type Item, textContent } from './request.ts';

/**
 * The finished blocks of one answer as conversation items, in block order, with all that the provider wants back.
 * Aborted blocks leave nothing.
 */
export class AnswerItems {
  readonly #open = new Map<number, string[]>();
  readonly #done = new Map<number, Item>();

  add(event: LlmEvent): void {
    switch (event.type) {
      case 'block-start':
        this.#open.set(event.index, []);
        return;
      case 'block-delta':
        this.#open
          .get(event.index)
          ?.push(event.delta.type === 'input-json' ? event.delta.json : event.delta.text);
        return;
      case 'block-stop':
        this.#finish(event);
        return;
      case 'block-abort':
        this.#open.delete(event.index);
        return;
      default:
    }
  }

  items(): readonly Item[] {
    return [...this.#done.entries()].toSorted(([a], [b]) => a - b).map(([, item]) => item);
  }

  #finish(stop: BlockStop): void {
    const pieces = this.#open.get(stop.index) ?? [];
    this.#open.delete(stop.index);
    const item = itemOf(stop, pieces.join(''));
    if (item) this.#done.set(stop.index, item);
  }
}

function itemOf(stop: BlockStop, text: string): Item | undefined {
  const seal: { seal?: Seal } = stop.seal ? { seal: stop.seal } : {};
  switch (stop.blockType) {
    case 'text':
      if (text === '' && !stop.seal) return undefined;
      return { type: 'message', role: 'assistant', content: textContent(text), ...seal };
    case 'thinking':
      return text === '' && !stop.seal ? undefined : { type: 'reasoning', text, ...seal };
    case 'tool-use':
      return { type: 'tool-call', callId: stop.id, name: stop.name, arguments: text || '{}', ...seal };
    case 'opaque':
      return stop.seal ? { type: 'opaque', name: stop.name, seal: stop.seal } : undefined;
    case 'tool-result':
      return undefined;
  }
}
