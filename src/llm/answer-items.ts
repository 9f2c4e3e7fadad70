import type { BlockStop, BlockType, LlmEvent, Seal } from './event.ts';
import { type Item, textContent } from './request.ts';

/**
 * The finished blocks of one answer as conversation items, in block order, with all that the provider wants back.
 * Aborted blocks leave nothing but what `broken` shows of them.
 */
export class AnswerItems {
  /** Blocks that have not been finished, or never will be. */
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
    return inOrder([...this.#done]);
  }

  /** What there is of an answer that broke off, to be shown: its words, finished or not, and no calls, which nobody runs. */
  broken(): readonly Item[] {
    const unfinished = [...this.#open].flatMap(([index, { blockType, pieces }]) => {
      const item = wordsOf(blockType, pieces.join(''));
      return item === undefined ? [] : [[index, item] as const];
    });
    return inOrder([...this.#done, ...unfinished]).filter(
      ({ type }) => type === 'message' || type === 'reasoning',
    );
  }

  #finish(stop: BlockStop): void {
    const { pieces } = this.#open.get(stop.index) ?? { pieces: [] };
    this.#open.delete(stop.index);
    const item = itemOf(stop, pieces.join(''));
    if (item) this.#done.set(stop.index, item);
  }
}

function inOrder(items: readonly (readonly [number, Item])[]): readonly Item[] {
  return items.toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

function itemOf(stop: BlockStop, text: string): Item | undefined {
  const seal: { seal?: Seal } = stop.seal ? { seal: stop.seal } : {};
  switch (stop.blockType) {
    case 'text':
    case 'thinking':
      return wordsOf(stop.blockType, text, seal);
    case 'tool-use':
      return { type: 'tool-call', callId: stop.id, name: stop.name, arguments: text || '{}', ...seal };
    case 'opaque':
      return stop.seal ? { type: 'opaque', name: stop.name, seal: stop.seal } : undefined;
    case 'tool-result':
      return undefined;
  }
}

function wordsOf(blockType: BlockType, text: string, seal: { seal?: Seal } = {}): Item | undefined {
  if (text === '' && seal.seal === undefined) return undefined;
  if (blockType === 'text')
    return { type: 'message', role: 'assistant', content: textContent(text), ...seal };
  return blockType === 'thinking' ? { type: 'reasoning', text, ...seal } : undefined;
}
