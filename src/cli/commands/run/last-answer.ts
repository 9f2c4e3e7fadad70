import { contentText, type Item, type Shortfall, shortfallOf, type StopReason } from '../../../llm/index.ts';
import type { PodFact } from '../../../pod/index.ts';

/** Collects the last answer of a run: its text and why the model stopped. Texts of attempts that were cut are not part of it. */
export class LastAnswer {
  #text = '';
  #stopReason: StopReason | undefined;
  /** The next turn continues this answer. */
  #isPaused = false;

  get text(): string {
    return this.#text;
  }

  /** Why the model did not complete the answer; undefined if it did. */
  get shortfall(): Shortfall | undefined {
    return shortfallOf(this.#stopReason, this.#text.trim() !== '');
  }

  /** Continues from the conversation of a snapshot, after events were lost. */
  restore(items: readonly Item[]): void {
    this.#text = lastAnswerIn(items);
    this.#stopReason = undefined;
    this.#isPaused = false;
  }

  add(event: PodFact): void {
    switch (event.type) {
      case 'turn-start':
        if (!this.#isPaused) this.#text = '';
        this.#isPaused = false;
        this.#stopReason = undefined;
        return;
      case 'input':
        // The finished part of an answer that was cut: the next attempt continues it.
        if (event.origin === 'continuation') this.#text += answerText([event.item]);
        return;
      case 'status':
        if (event.status === 'completed') this.#stopReason = event.stopReason;
        return;
      case 'llm-end':
        this.#text = event.outcome === 'completed' ? this.#text + answerText(event.items) : '';
        this.#isPaused = this.#stopReason === 'pause-turn';
    }
  }
}

/** The text at the end of a conversation that the model wrote after the last prompt or tool call. */
export function lastAnswerIn(items: readonly Item[]): string {
  const before = items.findLastIndex(
    (item) =>
      item.type === 'tool-call' ||
      item.type === 'tool-result' ||
      (item.type === 'message' && item.role !== 'assistant'),
  );
  return answerText(items.slice(before + 1));
}

function answerText(items: readonly Item[]): string {
  return items
    .map((item) => (item.type === 'message' && item.role === 'assistant' ? contentText(item.content) : ''))
    .join('');
}
