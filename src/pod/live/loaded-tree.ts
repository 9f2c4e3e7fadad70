import type { OpenSession } from '../journal/index.ts';
import type { SessionTree } from '../session/index.ts';

/** The progress of the pod's events, to detect writes while the file is read. */
export interface Progress {
  readonly lastSeq: number;
  readonly written: () => Promise<void>;
}

/** The loaded part of a session's tree. */
export class LoadedTree {
  readonly #session: OpenSession;
  #tree: SessionTree;
  #isWhole: boolean;

  constructor(session: OpenSession) {
    this.#session = session;
    this.#tree = session.tree;
    this.#isWhole = session.isWhole;
  }

  get tree(): SessionTree {
    return this.#tree;
  }

  /** Returns the complete tree. */
  async whole(progress: Progress): Promise<SessionTree> {
    return this.#isWhole ? this.#tree : this.#read(progress);
  }

  /**
   * Loads the complete tree for a branch to an entry. It does not suffice that the entry itself is loaded: entries that a
   * compaction kept come before it, and the entries before those have not been loaded.
   */
  async reach(entryId: string | null, progress: Progress): Promise<void> {
    if (entryId === null || this.#isWhole) return;
    this.#tree = await this.#read(progress);
    this.#isWhole = true;
  }

  async #read(progress: Progress): Promise<SessionTree> {
    for (;;) {
      const seq = progress.lastSeq;
      await progress.written();
      const tree = await this.#session.whole();
      // The file may have been appended to while it was read.
      if (progress.lastSeq === seq) return tree;
    }
  }
}
