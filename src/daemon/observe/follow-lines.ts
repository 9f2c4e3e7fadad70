import { closeSync, fstatSync, openSync, readSync, watch } from 'node:fs';
import { onAbort, systemCodeOf } from '../../base/index.ts';
import { LineReader } from '../../wire/index.ts';

const CHUNK = 256 * 1024;

export interface FollowOptions {
  /** Returns the files in order; called again when the directory changes. */
  readonly files: () => readonly string[];
  readonly directory: string;
  /** Without it, the lines end with the current content. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/**
 * Yields the complete lines of files that other processes append to and rotate. An empty list means that all current lines have
 * been yielded. It polls nothing.
 */
export async function* followLines({
  files,
  directory,
  follow,
  signal,
}: FollowOptions): AsyncGenerator<readonly string[]> {
  const changes = follow ? new Changes(directory, signal) : undefined;
  const readers = new Map<number, Reader>();
  try {
    for (let isOn = true; isOn; isOn = (await changes?.next()) ?? false) {
      for (const path of files()) {
        const reader = readerOf(readers, path);
        if (reader === undefined) continue;
        for (let lines = reader.lines(); lines.length > 0; lines = reader.lines()) yield lines;
      }
      yield [];
    }
  } finally {
    changes?.close();
    for (const reader of readers.values()) reader.close();
  }
}

/** A file is identified by its inode, so a rename keeps its reader. */
function readerOf(readers: Map<number, Reader>, path: string): Reader | undefined {
  try {
    const opened = new Reader(openSync(path, 'r'));
    const known = readers.get(opened.inode);
    if (known === undefined) readers.set(opened.inode, opened);
    else opened.close();
    return known ?? opened;
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** A file and its read position. */
class Reader {
  readonly inode: number;
  readonly #descriptor: number;
  readonly #lines = new LineReader({ limit: { maxBytes: Number.POSITIVE_INFINITY } });
  #position = 0;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.inode = fstatSync(descriptor).ino;
  }

  /** Reads a batch of new lines; empty if there is no complete one. */
  lines(): readonly string[] {
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const bytes = chunk.subarray(0, readSync(this.#descriptor, chunk, 0, CHUNK, this.#position));
      if (bytes.length === 0) return [];
      this.#position += bytes.length;
      const lines = this.#lines.push(bytes);
      if (lines.length > 0) return lines;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Waits for changes in a directory since the last call. */
class Changes {
  readonly #stop: () => void;
  #hasChanged = false;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(directory: string, signal: AbortSignal) {
    const watcher = watch(directory, () => {
      this.#hasChanged = true;
      this.#wake?.();
    });
    const end = (): void => {
      this.#isOver = true;
      this.#wake?.();
    };
    watcher.on('error', end);
    const forget = onAbort(signal, end);
    this.#stop = () => {
      forget();
      watcher.close();
    };
  }

  /** Resolves with false when it is closed. */
  async next(): Promise<boolean> {
    while (!this.#hasChanged && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#hasChanged = false;
    return !this.#isOver;
  }

  close(): void {
    this.#stop();
  }
}
