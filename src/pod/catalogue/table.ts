import type { Change } from './change.ts';
import { newestFirst } from './list.ts';
import type { Row } from './row.ts';

/** The rows that a file's changes amount to: the last one of an id counts, and a copied one never against an appended one. */
export class Table {
  readonly #rows = new Map<string, Row>();
  readonly #appended = new Set<string>();
  #sorted: readonly Row[] | undefined;

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  /** All rows, those that changed last first. */
  get rows(): readonly Row[] {
    return (this.#sorted ??= [...this.#rows.values()].toSorted(newestFirst));
  }

  apply({ id, row, copied }: Change): void {
    if (!copied) this.#appended.add(id);
    else if (this.#appended.has(id)) return;
    if (row === undefined) this.#rows.delete(id);
    else this.#rows.set(id, row);
    this.#sorted = undefined;
  }
}
