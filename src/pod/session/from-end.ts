import type { Entry, Header } from './entry.ts';
import { CHECKPOINT } from './facts.ts';
import { parseLine } from './parse.ts';
import { type LineProblem, SessionTree, type Source } from './tree.ts';
import { readable } from './version.ts';

/** The part of a session that was read from its end. */
export interface Tail {
  /** Enough for the conversation at the leaf. Earlier entries are missing unless `whole`. */
  readonly tree: SessionTree;
  readonly whole: boolean;
  /** Lines are numbered from the end; the last one is 1. */
  readonly problems: readonly LineProblem[];
}

/**
 * How far back to read. `checkpoint`: until the messages, the settings and the pod's own facts are known; without a checkpoint
 * that is the whole file. `compaction`: until the messages are known.
 */
export type Bound = 'checkpoint' | 'compaction';

/** Reads lines newest first, and only as many as the conversation at the leaf needs. */
export function contextFromEnd(
  linesBackwards: Iterable<string>,
  header: Header,
  source: Source,
  bound: Bound = 'checkpoint',
): Tail {
  const reader = new TailReader(header, source, bound);
  for (const line of linesBackwards) if (!reader.take(line)) break;
  return reader.end();
}

/** The same line by line, for a file that is read in pieces. */
export class TailReader {
  readonly #header: Header;
  readonly #source: Source;
  /** Newest first. */
  readonly #taken: { readonly entry: Entry; readonly line: number }[] = [];
  readonly #problems: LineProblem[] = [];
  #lines = 0;
  /** The next entry on the path to the root; undefined before the leaf is known. */
  #wanted: string | null | undefined;
  /** The oldest entry that the last compaction on the path kept. */
  #firstKept: string | undefined;
  #hasMessages = false;
  #hasSettings: boolean;

  constructor(header: Header, source: Source, bound: Bound) {
    this.#header = readable(header);
    this.#source = source;
    this.#hasSettings = bound === 'compaction';
  }

  /** Adds the line before the last one added. Returns false once no more lines are needed. */
  take(text: string): boolean {
    this.#lines += 1;
    const line = parseLine(text);
    if (line.kind === 'bad') this.#problems.push({ line: this.#lines, reason: line.reason });
    if (line.kind === 'entry') this.#take(line.entry);
    return !this.#isEnough;
  }

  /** The tree of all lines that were added. */
  end(): Tail {
    const tree = new SessionTree(this.#header, this.#source);
    const whole = !this.#isEnough;
    const problems = [...this.#problems];
    for (const { entry, line } of this.#taken.toReversed()) {
      const reason = tree.objection(entry);
      // In a part of a file, parents are missing because they have not been read.
      if (reason !== undefined && whole) problems.push({ line, reason });
      tree.add(entry);
    }
    return { tree, whole, problems };
  }

  get #isEnough(): boolean {
    return this.#hasMessages && this.#hasSettings;
  }

  #take(entry: Entry): void {
    this.#taken.push({ entry, line: this.#lines });
    if (this.#wanted !== undefined && this.#wanted !== entry.id) return;
    this.#wanted = entry.parentId;
    if (entry.type === 'compaction') this.#firstKept ??= entry.firstKeptEntryId;
    if (entry.id === this.#firstKept || entry.parentId === null) this.#hasMessages = true;
    if (CHECKPOINT.in(entry) !== undefined) this.#hasSettings = true;
  }
}
