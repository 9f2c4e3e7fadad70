/** What blocks left behind, in the order of the blocks' indices: blocks may end in another order than they began. */
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
