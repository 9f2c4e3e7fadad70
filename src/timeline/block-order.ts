/** Collects one value per block, ordered by block index: blocks may end in another order than they started. */
export class BlockOrder<Value> {
  #entries: { readonly index: number; readonly value: Value }[] = [];

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  add(index: number, value: Value): void {
    const after = this.#entries.findLastIndex((entry) => entry.index <= index);
    this.#entries.splice(after + 1, 0, { index, value });
  }

  values(): Value[] {
    return this.#entries.map(({ value }) => value);
  }

  clear(): void {
    this.#entries = [];
  }
}
