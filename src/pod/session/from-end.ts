import type { Entry, Header } from './entry.ts';
import { CHECKPOINT } from './facts.ts';
import { parseLine } from './parse.ts';
import { SessionTree, type Source } from './tree.ts';
import { readable } from './version.ts';

/** The part of a session that was read from its end. */
export interface Tail {
  /** Enough for the conversation at the leaf. Earlier entries are missing unless `whole`. */
  readonly tree: SessionTree;
  readonly whole: boolean;
}

/**
 * Reads the lines of a session newest first, and only as many as the conversation at the leaf needs: until the messages, the
 * settings and the pod's own facts are known. Without a checkpoint that is the whole file.
 */
export class TailReader {
  readonly #header: Header;
  readonly #source: Source;
  /** Newest first. */
  readonly #taken: Entry[] = [];
  /** The next entry on the path to the root; undefined before the leaf is known. */
  #wanted: string | null | undefined;
  /** The oldest entry that the last compaction on the path kept. */
  #firstKept: string | undefined;
  #hasMessages = false;
  #hasSettings = false;

  constructor(header: Header, source: Source) {
    this.#header = readable(header);
    this.#source = source;
  }

  /** Adds the line before the last one added. Returns false once no more lines are needed. */
  take(text: string): boolean {
    const line = parseLine(text);
    if (line.kind === 'entry') this.#take(line.entry);
    return !this.#isEnough;
  }

  /** The tree of all lines that were added. */
  end(): Tail {
    const tree = new SessionTree(this.#header, this.#source);
    for (const entry of this.#taken.toReversed()) tree.add(entry);
    return { tree, whole: !this.#isEnough };
  }

  get #isEnough(): boolean {
    return this.#hasMessages && this.#hasSettings;
  }

  #take(entry: Entry): void {
    this.#taken.push(entry);
    if (this.#wanted !== undefined && this.#wanted !== entry.id) return;
    this.#wanted = entry.parentId;
    if (entry.type === 'compaction') this.#firstKept ??= entry.firstKeptEntryId;
    if (entry.id === this.#firstKept || entry.parentId === null) this.#hasMessages = true;
    if (CHECKPOINT.in(entry) !== undefined) this.#hasSettings = true;
  }
}
