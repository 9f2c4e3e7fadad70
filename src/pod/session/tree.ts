import { type JsonObject, PolypodError } from '../../base/index.ts';
import type { Body, Entry, Header } from './entry.ts';
import { parseLine } from './parse.ts';
import { readable } from './version.ts';

/**
 * A line, counted from 1, that was skipped, or whose parent is missing: then what came before is not part of its
 * conversation. What stood there is not repeated: it may be private.
 */
export interface Problem {
  readonly line: number;
  readonly reason: string;
}

/** Where a tree gets the ids and times of its new entries from. */
export interface Source {
  /** Any 8 hex digits; one that is taken is asked for again. */
  readonly newId: () => string;
  readonly now: () => Date;
}

/** A tree that was read, and what was skipped on the way. */
export interface Reading {
  readonly tree: SessionTree;
  readonly problems: readonly Problem[];
}

interface Node {
  readonly entry: Entry;
  /** The node itself, not its id: an entry can only hang on one before it, so there are no circles. */
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

  /** Reads a whole file. Throws when it is no session file, or one of a newer format: then it must not be touched. */
  static read(lines: Iterable<string>, source: Source): Reading {
    let tree: SessionTree | undefined;
    const problems: Problem[] = [];
    let number = 0;
    for (const text of lines) {
      number += 1;
      const line = parseLine(text);
      if (line.kind === 'blank') continue;
      if (line.kind === 'bad') problems.push({ line: number, reason: line.reason });
      else if (line.kind === 'entry') {
        if (tree === undefined) throw notASession();
        const reason = tree.objection(line.entry);
        if (reason !== undefined) problems.push({ line: number, reason });
        tree.add(line.entry);
      } else if (tree === undefined) tree = new SessionTree(readable(line.header), source);
      else problems.push({ line: number, reason: 'a second header' });
    }
    if (tree === undefined) throw notASession();
    return { tree, problems };
  }

  /** The entry that the next one hangs on; null before the first. */
  get leafId(): string | null {
    return this.#leaf?.entry.id ?? null;
  }

  /** How many entries there are, on all branches. */
  get size(): number {
    return this.#nodes.size;
  }

  get(id: string): Entry | undefined {
    return this.#nodes.get(id)?.entry;
  }

  /** All entries in the order of the file. */
  *entries(): Generator<Entry> {
    for (const { entry } of this.#nodes.values()) yield entry;
  }

  /** What hangs on an entry, oldest first; on null the roots, orphans among them. */
  children(id: string | null): readonly Entry[] {
    return id === null ? this.#roots : (this.#nodes.get(id)?.children ?? []);
  }

  /** From the root to an entry, to the leaf if none is named. */
  path(id: string | null = this.leafId): readonly Entry[] {
    const path: Entry[] = [];
    for (let at = id === null ? undefined : this.#known(id); at !== undefined; at = at.parent)
      path.push(at.entry);
    return path.toReversed();
  }

  /** People's names for entries, by entry. */
  get labels(): ReadonlyMap<string, string> {
    return this.#labels;
  }

  /** Gives the body a place under the leaf, makes it the leaf and answers with what has to be written. */
  append(body: Body, extras?: JsonObject): Entry {
    const id = this.#freeId();
    const own = body.type === 'compaction' && body.firstKeptEntryId === '' ? { firstKeptEntryId: id } : {};
    const timestamp = this.#source.now().toISOString();
    const place = { id, parentId: this.leafId, timestamp, ...(extras && { extras }) };
    const entry: Entry = { ...body, ...own, ...place };
    this.add(entry);
    return entry;
  }

  /** What is wrong with an entry that would be added now. */
  objection({ id, parentId }: Entry): string | undefined {
    if (this.#nodes.has(id)) return 'an id for the second time';
    return parentId === null || this.#nodes.has(parentId) ? undefined : 'an unknown parent';
  }

  /** Takes an entry that has its place and makes it the leaf. The first with an id counts: false for a later one. */
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
   * Goes back to an entry, or before the first. The file only knows of it once an entry that hangs there is written:
   * append one before the branch is acknowledged.
   */
  branchTo(id: string | null): void {
    this.#leaf = id === null ? undefined : this.#known(id);
  }

  /**
   * The way to an entry as a session of its own: same ids, same times. Labels that were given from elsewhere follow at
   * the end.
   */
  fork(id: string | null, header: Header): SessionTree {
    const fork = new SessionTree(header, this.#source, id === null ? [] : this.path(id));
    const targets = [...fork.#nodes.keys()];
    for (const targetId of targets) {
      const label = this.#labels.get(targetId);
      if (label === fork.#labels.get(targetId)) continue;
      fork.append({ type: 'label', targetId, ...(label === undefined ? {} : { label }) });
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

function notASession(): PolypodError {
  return new PolypodError('bad-request', 'not a session file: it does not begin with a session header');
}
