import { asPolypodError, uuidv7 } from '../../base/index.ts';
import { readWhole } from '../journal/index.ts';
import type { LivePod } from '../live/live-pod.ts';
import type { SessionTree } from '../session/index.ts';
import type { PodCache } from './pod-cache.ts';
import { headerOf, type RowSource } from './session-rows.ts';

export interface SessionReaderParts {
  readonly source: RowSource;
  readonly podCache: Pick<PodCache, 'use'>;
  readonly fileOf: (id: string) => string;
}

/** Reads the entries of sessions, from their pods or, if a pod cannot be opened, from the file. */
export class SessionReader {
  readonly #parts: SessionReaderParts;

  constructor(parts: SessionReaderParts) {
    this.#parts = parts;
  }

  /** All entries of the session file, on every branch. */
  whole(id: string): Promise<SessionTree> {
    return this.#read(id, (pod) => pod.whole());
  }

  /** At least the entries of the current conversation. */
  loaded(id: string): Promise<SessionTree> {
    return this.#read(id, async (pod) => pod.tree);
  }

  #read(id: string, read: (pod: LivePod) => Promise<SessionTree>): Promise<SessionTree> {
    return this.#parts.podCache.use(id, read).catch((thrown: unknown) => this.#readUnopened(id, thrown));
  }

  /**
   * Reads a session that cannot be opened because the disk is full or read-only: opening it writes a lock and recovery events.
   * Throws the original error in all other cases.
   */
  async #readUnopened(id: string, thrown: unknown): Promise<SessionTree> {
    const { source, fileOf } = this.#parts;
    const { files, now } = source;
    const file = fileOf(id);
    const { code } = asPolypodError(thrown);
    const header = code === 'overloaded' || code === 'denied' ? await headerOf(files, file) : undefined;
    if (header === undefined) throw thrown;
    return readWhole(files, file, header, { newId: uuidv7, now });
  }
}
