import { BRANCH, DAMAGED_ENTRY, type Entry } from '../session/index.ts';
import type { Note } from './note.ts';
import { isWellFormed, type Part, type RawLine } from './part.ts';

/** An entry of the repaired file. */
export interface RepairRow {
  readonly entry: Entry;
  /** Its text; absent if it was changed or is new. */
  readonly raw?: RawLine;
  /** Its position in the damaged file; absent if it is new. */
  readonly line?: number;
}

export interface RelinkedEntries {
  /** Every parent comes before its children. */
  readonly rows: readonly RepairRow[];
  /** The leaf: the parent of the next entry. */
  readonly leafId: string | null;
  /** Maps the id of a lost entry to its first child. */
  readonly firstChildOf: ReadonlyMap<string, string>;
  readonly notes: readonly Note[];
}

type EntryPart = Extract<Part, { kind: 'entry' }>;

/** Gives every entry a parent that comes before it. */
export function relink(parts: readonly Part[]): RelinkedEntries {
  const linker = new Linker(parts);
  for (const part of parts) {
    if (part.kind === 'entry') linker.take(part);
    else if (part.kind === 'lost') linker.gap();
  }
  return linker.end();
}

class Linker {
  readonly #rows: RepairRow[] = [];
  readonly #notes: Note[] = [];
  /** The parent of every entry in the file. */
  readonly #parents = new Map<string, string | null>();
  readonly #attached = new Set<string>();
  readonly #seen = new Set<string>();
  /** The position of each entry. */
  readonly #lines = new Map<string, number>();
  /** Entries whose parent comes shortly after them, by parent. */
  readonly #held = new Map<string, EntryPart[]>();
  /** Maps the id of a lost entry to the entry that replaces it. */
  readonly #substitutes = new Map<string, string | null>();
  readonly #firstChildOf = new Map<string, string>();
  /** The entry before the current line, and the one before the last gap. */
  #previous: string | null = null;
  #beforeGap: string | null | undefined;
  #isAfterGap = false;

  constructor(parts: readonly Part[]) {
    for (const part of parts) {
      if (part.kind !== 'entry' || this.#parents.has(part.entry.id)) continue;
      this.#parents.set(part.entry.id, part.entry.parentId);
      this.#lines.set(part.entry.id, part.line);
    }
  }

  gap(): void {
    this.#beforeGap = this.#previous;
    this.#isAfterGap = true;
  }

  take(read: EntryPart): void {
    const isMalformed = !read.raw.isSealed && !isWellFormed(read.entry);
    const part = isMalformed ? { ...read, entry: setAside(read) } : read;
    const { entry, line } = part;
    const { id, parentId } = entry;
    if (this.#seen.has(id)) {
      this.#notes.push({ kind: 'repeated', line, id, text: 'a duplicate entry: removed' });
      return;
    }
    this.#seen.add(id);
    if (isMalformed)
      this.#notes.push({
        kind: 'lost',
        line,
        id,
        text: 'a message with missing fields; its line is kept',
      });
    if (parentId === null || this.#attached.has(parentId)) this.#attach(part, isMalformed);
    else if (!this.#parents.has(parentId)) this.#adopt(part, parentId);
    else if (this.#isNear(part, parentId) && !this.#isCircular(id)) this.#hold(part, parentId);
    else this.#relinked(part, this.#previous, 'its parent came after it');
    this.#previous = id;
    this.#isAfterGap = false;
  }

  end(): RelinkedEntries {
    return {
      rows: this.#rows,
      leafId: this.#previous,
      firstChildOf: this.#firstChildOf,
      notes: this.#notes,
    };
  }

  /** Attaches an entry whose parent is lost to the entry before the loss. */
  #adopt(part: EntryPart, lostId: string): void {
    const known = this.#substitutes.get(lostId);
    const parentId = known === undefined ? this.#nearest(part.entry) : known;
    this.#substitutes.set(lostId, parentId);
    if (known === undefined && !this.#isAfterGap) {
      const text = `the entry ${lostId}, the parent of this line, is missing`;
      this.#notes.push({ kind: 'lost', line: part.line, lostId, text });
    }
    this.#firstChildOf.set(lostId, this.#firstChildOf.get(lostId) ?? part.entry.id);
    if (this.#beforeGap === undefined || !this.#isAfterGap) this.#beforeGap = parentId;
    this.#relinked(part, parentId, `the entry before it, ${lostId}, is lost`, lostId);
  }

  /** The parent of a Polypod entry is the line before it, unless it branches. For other programs that is unknown. */
  #nearest(entry: Entry): string | null {
    const isLinear = entry.extras?.seq !== undefined && BRANCH.in(entry) === undefined;
    return isLinear || this.#beforeGap === undefined ? this.#previous : this.#beforeGap;
  }

  #relinked(part: EntryPart, parentId: string | null, why: string, lostId?: string): void {
    const { entry, line } = part;
    const to = parentId === null ? 'it now starts the conversation' : `it now follows ${parentId}`;
    this.#notes.push({
      kind: 'relinked',
      line,
      id: entry.id,
      text: `${why}; ${to}`,
      ...(lostId && { lostId }),
    });
    this.#attach({ ...part, entry: withParent(entry, parentId) }, true);
  }

  /** Also adds the entries that waited for it. */
  #attach(part: EntryPart, isChanged: boolean): void {
    const waiting = [{ part, isChanged }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { entry, raw, line } = next.part;
      this.#rows.push({ entry, line, ...(next.isChanged ? {} : { raw }) });
      this.#attached.add(entry.id);
      const held = this.#held.get(entry.id) ?? [];
      this.#held.delete(entry.id);
      for (const child of held.toReversed()) waiting.push({ part: child, isChanged: false });
    }
  }

  #hold(part: EntryPart, parentId: string): void {
    const held = this.#held.get(parentId) ?? [];
    this.#held.set(parentId, [...held, part]);
  }

  /** Restores the order of swapped lines. Lines that are far apart were never in order. */
  #isNear({ line }: EntryPart, parentId: string): boolean {
    return (this.#lines.get(parentId) ?? Number.POSITIVE_INFINITY) - line <= 8;
  }

  /** Whether the parents of an entry form a cycle. */
  #isCircular(id: string): boolean {
    const passed = new Set<string>();
    let at = this.#parents.get(id);
    while (typeof at === 'string' && at !== id && !this.#attached.has(at) && !passed.has(at)) {
      passed.add(at);
      at = this.#parents.get(at);
    }
    return at === id;
  }
}

/** Wraps a message that no reader can use as a fact with its line. */
function setAside({ entry, raw }: EntryPart): Entry {
  const { id, parentId, timestamp } = entry;
  return { ...DAMAGED_ENTRY.body({ line: raw.text }), id, parentId, timestamp };
}

/** Returns the entry with another parent. */
export function withParent(entry: Entry, parentId: string | null): Entry {
  if (entry.type !== 'unknown') return { ...entry, parentId };
  return { ...entry, parentId, raw: rawWithParent(entry.raw, parentId) };
}

function rawWithParent(raw: string, parentId: string | null): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it was parsed as an object before
  const value = JSON.parse(raw) as object;
  return JSON.stringify({ ...value, parentId });
}
