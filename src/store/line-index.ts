/** The offsets of some keys of a log, to narrow a search. Keys increase with their offsets. */
export class LineIndex {
  readonly #stride: number;
  readonly #keys: number[] = [];
  readonly #offsets: number[] = [];

  /** `stride` is the minimum distance in bytes between two indexed lines, which bounds the memory. */
  constructor(stride = 64 * 1024) {
    this.#stride = stride;
  }

  add(key: number, offset: number): void {
    const at = this.#countBelow(key + 1);
    const before = this.#offsets[at - 1] ?? Number.NEGATIVE_INFINITY;
    const after = this.#offsets[at] ?? Number.POSITIVE_INFINITY;
    if (offset - before < this.#stride || after - offset < this.#stride) return;
    this.#keys.splice(at, 0, key);
    this.#offsets.splice(at, 0, offset);
  }

  /** The smallest part of the range that contains the first line with this key or a greater one. */
  narrow(key: number, from: number, to: number): readonly [from: number, to: number] {
    const at = this.#countBelow(key);
    return [Math.max(from, this.#offsets[at - 1] ?? from), Math.min(to, this.#offsets[at] ?? to)];
  }

  #countBelow(key: number): number {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#keys[middle] ?? 0) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
