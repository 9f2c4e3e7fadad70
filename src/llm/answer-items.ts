import type { BlockStop, BlockType, LlmEvent, Seal } from './event.ts';
import { type Item, textContent } from './request.ts';

/**
 * Collects the finished blocks of one answer as conversation items, in block order and with their seals.
 * Aborted blocks are left out, except from `partialItems`.
 */
export class AnswerItems {
  /** Blocks that are still open or were aborted. */
  readonly #open = new Map<number, { readonly blockType: BlockType; readonly pieces: string[] }>();
  readonly #done = new Map<number, Item>();

  add(event: LlmEvent): void {
    switch (event.type) {
      case 'block-start':
        this.#open.set(event.index, { blockType: event.blockType, pieces: [] });
        return;
      case 'block-delta':
        this.#open
          .get(event.index)
          ?.pieces.push(event.delta.type === 'input-json' ? event.delta.json : event.delta.text);
        return;
      case 'block-stop':
        this.#finish(event);
        return;
      default:
    }
  }

  items(): readonly Item[] {
    return inBlockOrder([...this.#done]);
  }

  /** The text and reasoning of an answer that was cut off, including unfinished blocks, for display. Tool calls are left out. */
  partialItems(): readonly Item[] {
    const openItems = [...this.#open].flatMap(([index, { blockType, pieces }]) => {
      const item = textItem(blockType, pieces.join(''));
      return item === undefined ? [] : [[index, item] as const];
    });
    return inBlockOrder([...this.#done, ...openItems]).filter(
      ({ type }) => type === 'message' || type === 'reasoning',
    );
  }

  #finish(stop: BlockStop): void {
    const { pieces } = this.#open.get(stop.index) ?? { pieces: [] };
    this.#open.delete(stop.index);
    const item = blockItem(stop, pieces.join(''));
    if (item) this.#done.set(stop.index, item);
  }
}

function inBlockOrder(items: readonly (readonly [number, Item])[]): readonly Item[] {
  return items.toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

function blockItem(stop: BlockStop, text: string): Item | undefined {
  const seal: { seal?: Seal } = stop.seal ? { seal: stop.seal } : {};
  switch (stop.blockType) {
    case 'text':
    case 'thinking':
      return textItem(stop.blockType, text, seal);
    case 'tool-use':
      return { type: 'tool-call', callId: stop.id, name: stop.name, arguments: text || '{}', ...seal };
    case 'opaque':
      return stop.seal ? { type: 'opaque', name: stop.name, seal: stop.seal } : undefined;
    case 'tool-result':
      return undefined;
  }
}

function textItem(blockType: BlockType, text: string, seal: { seal?: Seal } = {}): Item | undefined {
  if (text === '' && seal.seal === undefined) return undefined;
  if (blockType === 'text')
    return { type: 'message', role: 'assistant', content: textContent(text), ...seal };
  return blockType === 'thinking' ? { type: 'reasoning', text, ...seal } : undefined;
}
