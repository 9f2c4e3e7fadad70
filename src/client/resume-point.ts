import type { StreamPosition } from '../wire/index.ts';
import type { PodLine } from './line.ts';

/**
 * Tracks where to resume a stream after a lost connection. A pod event may consist of several lines with the same number, and
 * the connection may break between them: then all of them are requested again, and those already received are skipped.
 */
export class ResumePoint implements StreamPosition<readonly PodLine[], number> {
  /** The last number whose lines have all been received. */
  #after: number | undefined;
  #last: { readonly seq: number; lines: number } | undefined;
  #linesToSkip = 0;

  constructor(after: number | undefined) {
    this.#after = after;
  }

  /** The number to subscribe after; undefined if nothing has been received. */
  get after(): number | undefined {
    return this.#after;
  }

  /** Call when a new connection subscribes after that number. */
  startConnection(): void {
    this.#linesToSkip = this.#last?.lines ?? 0;
  }

  /** Records lines. Returns those that were not received before. */
  accept(lines: readonly PodLine[]): readonly PodLine[] {
    return lines.filter((line) => this.#isNew(line));
  }

  #isNew({ event, seq }: PodLine): boolean {
    if (seq === undefined) return true;
    if (event === 'snapshot') {
      [this.#after, this.#last, this.#linesToSkip] = [seq, undefined, 0];
      return true;
    }
    if (seq <= (this.#after ?? -1)) return false;
    if (this.#last?.seq !== seq) {
      if (this.#last !== undefined && this.#last.seq > seq) return false;
      [this.#after, this.#last, this.#linesToSkip] = [this.#last?.seq ?? this.#after, { seq, lines: 1 }, 0];
      return true;
    }
    if (this.#linesToSkip > 0) {
      this.#linesToSkip -= 1;
      return false;
    }
    this.#last.lines += 1;
    return true;
  }
}
