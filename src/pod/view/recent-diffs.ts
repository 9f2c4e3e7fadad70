import { objectOf, stringOf } from '../../base/index.ts';
import type { Item } from '../../llm/index.ts';

/** The change that a call has made to a file, as a unified diff. */
export interface CallDiff {
  readonly callId: string;
  readonly diff: string;
}

/** Older diffs are in the session file only. */
const MOST = 100;

/** The diffs of the last calls, which results for the model do not contain. */
export class RecentDiffs {
  readonly #diffs = new Map<string, string>();

  /** Keeps the diff in the details of a result, if there is one. */
  add(callId: string, details: unknown): void {
    const diff = stringOf(objectOf(details).diff);
    if (diff === '') return;
    this.#diffs.delete(callId);
    this.#diffs.set(callId, diff);
    const [oldest] = this.#diffs.keys();
    if (this.#diffs.size > MOST && oldest !== undefined) this.#diffs.delete(oldest);
  }

  /** The diffs of the results among these items. */
  of(items: readonly Item[]): readonly CallDiff[] {
    return items.flatMap((item) => {
      const diff = item.type === 'tool-result' ? this.#diffs.get(item.callId) : undefined;
      return item.type === 'tool-result' && diff !== undefined ? [{ callId: item.callId, diff }] : [];
    });
  }
}
