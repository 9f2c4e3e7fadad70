import type { PodLine } from './line.ts';

/**
 * Where a stream is taken up again when its connection breaks. An event of the pod may be several lines with one number, and
 * the break may come between them: then they are asked for again, and those that came are passed over.
 */
export class ResumePoint {
  /** The last number of which all lines have come. */
  #after: number | undefined;
  #last: { readonly seq: number; lines: number } | undefined;
  #again = 0;

  constructor(after: number | undefined) {
    this.#after = after;
  }

  /** The number to subscribe after; undefined when nothing has come yet. */
  get after(): number | undefined {
    return this.#after;
  }

  /** What comes now begins after that number. */
  begin(): void {
    this.#again = this.#last?.lines ?? 0;
  }

  /** Whether a line is new. */
  isNew({ event, seq }: PodLine): boolean {
    if (seq === undefined) return true;
    if (event === 'snapshot') {
      [this.#after, this.#last, this.#again] = [seq, undefined, 0];
      return true;
    }
    if (seq <= (this.#after ?? -1)) return false;
    if (this.#last?.seq !== seq) {
      if (this.#last !== undefined && this.#last.seq > seq) return false;
      [this.#after, this.#last, this.#again] = [this.#last?.seq ?? this.#after, { seq, lines: 1 }, 0];
      return true;
    }
    if (this.#again > 0) {
      this.#again -= 1;
      return false;
    }
    this.#last.lines += 1;
    return true;
  }
}
