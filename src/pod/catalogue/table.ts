import type { RowChange } from './change.ts';
import { newestFirst } from './list.ts';
import type { Row } from './row.ts';

/** The rows that result from a file's changes. The last change of an id wins; a copied change never overrides an appended one. */
export class Table {
  readonly #rows = new Map<string, Row>();
  readonly #appended = new Set<string>();
  #sorted: readonly Row[] | undefined;
  #byName: ReadonlyMap<string | undefined, readonly Row[]> | undefined;

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  /** All rows, most recently changed first. */
  get rows(): readonly Row[] {
    return (this.#sorted ??= [...this.#rows.values()].toSorted(newestFirst));
  }

  /** The rows with a name, in the same order. */
  named(name: string): readonly Row[] {
    this.#byName ??= byName(this.rows);
    return this.#byName.get(name) ?? [];
  }

  apply({ id, row, copied }: RowChange): void {
    if (!copied) this.#appended.add(id);
    else if (this.#appended.has(id)) return;
    if (row === undefined) this.#rows.delete(id);
    else this.#rows.set(id, row);
    this.#sorted = undefined;
    this.#byName = undefined;
  }
}

function byName(rows: readonly Row[]): ReadonlyMap<string | undefined, readonly Row[]> {
  const named = new Map<string | undefined, Row[]>();
  for (const row of rows) {
    const same = named.get(row.name);
    if (same === undefined) named.set(row.name, [row]);
    else same.push(row);
  }
  return named;
}
