import type { OpenSession } from '../journal/index.ts';
import type { SessionTree } from '../session/index.ts';

/** How far the pod's events have come: a file that is being written to is read when it stands still. */
export interface Progress {
  readonly lastSeq: number;
  readonly written: () => Promise<void>;
}

/** The tree of a session in memory: as much of it as was needed so far. */
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

  /** All that the file has. */
  async whole(progress: Progress): Promise<SessionTree> {
    return this.#isWhole ? this.#tree : this.#read(progress);
  }

  /**
   * Has all read that a way back to an entry needs; from then on the whole tree is in memory. An entry that is there already
   * is not enough: what a compaction kept stands before it, and its own past was not read.
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
      // Something may have been written while it was read.
      if (progress.lastSeq === seq) return tree;
    }
  }
}
