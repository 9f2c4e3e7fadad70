import { type JsonObject, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { Body, Entry, Header } from './entry.ts';

/** The source of ids and times of new entries. */
export interface Source {
  /** Any 8 hex digits; called again if the id is taken. */
  readonly newId: () => string;
  readonly now: () => Date;
}

interface Node {
  readonly entry: Entry;
  /** The node itself, not its id: a parent always comes first, so there are no cycles. */
  readonly parent: Node | undefined;
  readonly children: Entry[];
}

/** A session as a tree of entries with a leaf. It only grows; appending takes constant time. */
export class SessionTree {
  readonly header: Header;
  readonly #source: Source;
  readonly #nodes = new Map<string, Node>();
  readonly #roots: Entry[] = [];
  readonly #labels = new Map<string, string>();
  #leaf: Node | undefined;

  constructor(header: Header, source: Source, entries: Iterable<Entry> = []) {
    this.header = header;
    this.#source = source;
    for (const entry of entries) this.add(entry);
  }

  /** The parent of the next entry; null before the first. */
  get leafId(): string | null {
    return this.#leaf?.entry.id ?? null;
  }

  /** The number of entries on all branches. */
  get size(): number {
    return this.#nodes.size;
  }

  get(id: string): Entry | undefined {
    return this.#nodes.get(id)?.entry;
  }

  /** All entries in file order. */
  *entries(): Generator<Entry> {
    for (const { entry } of this.#nodes.values()) yield entry;
  }

  /** The children of an entry, oldest first; for null the roots, including orphans. */
  children(id: string | null): readonly Entry[] {
    return id === null ? this.#roots : (this.#nodes.get(id)?.children ?? []);
  }

  /** The path from the root to an entry, by default to the leaf. */
  path(id: string | null = this.leafId): readonly Entry[] {
    const path: Entry[] = [];
    for (let at = id === null ? undefined : this.#known(id); at !== undefined; at = at.parent)
      path.push(at.entry);
    return path.toReversed();
  }

  /** Labels by entry. */
  get labels(): ReadonlyMap<string, string> {
    return this.#labels;
  }

  /** Appends an entry under the leaf, makes it the leaf and returns it to be written. */
  append(body: Body, extras?: JsonObject): Entry {
    const id = this.#freeId();
    const own = body.type === 'compaction' && body.firstKeptEntryId === '' ? { firstKeptEntryId: id } : {};
    const timestamp = this.#source.now().toISOString();
    const position = { ...own, id, parentId: this.leafId, timestamp };
    const entry: Entry = extras === undefined ? { ...body, ...position } : { ...body, ...position, extras };
    this.add(entry);
    return entry;
  }

  /** Adds an entry that has a position, and makes it the leaf. Returns false for a duplicate id: the first entry wins. */
  add(entry: Entry): boolean {
    if (this.#nodes.has(entry.id)) return false;
    const parent = entry.parentId === null ? undefined : this.#nodes.get(entry.parentId);
    const node = { entry, parent, children: [] };
    (parent?.children ?? this.#roots).push(entry);
    this.#nodes.set(entry.id, node);
    this.#leaf = node;
    if (entry.type === 'label') this.#label(entry.targetId, entry.label);
    return true;
  }

  /**
   * Moves the leaf to an entry, or before the first. The file records it only with the next entry: append one before the branch
   * is acknowledged.
   */
  branchTo(id: string | null): void {
    this.#leaf = id === null ? undefined : this.#known(id);
  }

  /** The path to an entry as a new session with the same ids and times. Labels from other branches are appended. */
  fork(id: string | null, header: Header): SessionTree {
    const fork = new SessionTree(header, this.#source, id === null ? [] : this.path(id));
    const targets = [...fork.#nodes.keys()];
    for (const targetId of targets) {
      const label = this.#labels.get(targetId);
      if (label === fork.#labels.get(targetId)) continue;
      fork.append({ type: 'label', targetId, ...withoutUndefined({ label }) });
    }
    return fork;
  }

  #known(id: string): Node {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new PolypodError('not-found', `there is no entry ${id} in this session`);
    return node;
  }

  #freeId(): string {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const id = this.#source.newId();
      if (!this.#nodes.has(id)) return id;
    }
    throw new PolypodError('internal', `${MAX_ATTEMPTS} new entry ids in a row were taken`);
  }

  #label(targetId: string, label: string | undefined): void {
    if (label) this.#labels.set(targetId, label);
    else this.#labels.delete(targetId);
  }
}

const MAX_ATTEMPTS = 1000;
