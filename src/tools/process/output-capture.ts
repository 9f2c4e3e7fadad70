import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { messageOf } from '../../base/index.ts';
import { windowForModel } from './output-window.ts';
import { Throttle } from './throttle.ts';

/** The file with the full output that was too long for the window. */
export interface FullOutput {
  readonly path: string;
  readonly bytes: number;
  /** Why it is incomplete. */
  readonly incomplete: string | undefined;
}

export interface CaptureOptions {
  /** Where the file is created. */
  readonly directory: string;
  readonly update: (text: string) => void;
  /** Whether the file has all of the output, even if it fits into the window: for readers of any part of it. */
  readonly keepsAll?: boolean;
}

/** A part of an output, and its position. */
export interface OutputPart {
  readonly start: number;
  readonly bytes: Buffer;
}

/**
 * Reads an output to its end in fixed memory: a window for the model, a file of limited size for the full
 * output, and periodic updates with the latest lines. The writer waits while the file is written.
 */
export class OutputCapture {
  readonly window = windowForModel();
  /** Resolves when all writers have ended, or after `stop`. */
  readonly ended: Promise<void>;
  readonly #directory: string;
  readonly #keepsAll: boolean;
  readonly #throttle: Throttle;
  readonly #source: Readable;
  #isSpilling = false;
  #spill: { readonly handle: FileHandle; readonly path: string } | undefined;
  #spilledBytes = 0;
  #incomplete: string | undefined;
  /** Resolves when everything received so far is in the file. */
  #saved: Promise<void> = Promise.resolve();

  constructor(source: Readable, { directory, update, keepsAll = false }: CaptureOptions) {
    this.#source = source;
    this.#keepsAll = keepsAll;
    this.#directory = directory;
    this.#throttle = new Throttle(UPDATE_MS, () => update(this.window.end(LIVE_BYTES)));
    this.ended = new Promise((settle) => {
      source.on('close', () => settle());
    });
    // A read error counts as the end; 'close' follows.
    source.on('error', () => {});
    source.on('data', (bytes: Buffer) => this.#receive(bytes));
  }

  /** Releases the source and the file. */
  async stop(): Promise<FullOutput | undefined> {
    this.#throttle.stop();
    this.#source.destroy();
    await this.ended;
    await this.#saved;
    await this.#spill?.handle.close();
    if (this.#spill === undefined) return undefined;
    return { path: this.#spill.path, bytes: this.#spilledBytes, incomplete: this.#incomplete };
  }

  /** The path of the file with the full output; undefined if there is none yet. */
  get file(): string | undefined {
    return this.#spill?.path;
  }

  /** Returns received output from a position on. What neither the file nor the window has is skipped. */
  async read(position: number, maxBytes: number): Promise<OutputPart> {
    await this.#saved;
    const size = Math.min(maxBytes, this.#spilledBytes - position);
    const saved =
      this.#spill !== undefined && size > 0 ? await readAt(this.#spill.path, position, size) : NONE;
    if (saved.length > 0) return { start: position, bytes: saved };
    const { start, bytes } = this.window.from(position);
    return { start, bytes: bytes.subarray(0, maxBytes) };
  }

  #receive(bytes: Buffer): void {
    const fits = !this.#keepsAll && this.window.wouldFit(bytes.length);
    if (!fits && this.#incomplete === undefined)
      this.#save(this.#isSpilling ? [bytes] : [this.window.all(), bytes]);
    this.window.add(bytes);
    this.#throttle.touch();
  }

  /** Writes sequentially: Node resumes reading from a child when the child ends, even if paused. */
  #save(pieces: readonly Buffer[]): void {
    this.#isSpilling = true;
    this.#source.pause();
    const saved = this.#saved.then(() => this.#write(Buffer.concat(pieces)));
    this.#saved = saved;
    void saved.then(() => {
      if (this.#saved === saved) this.#source.resume();
    });
  }

  async #write(bytes: Buffer): Promise<void> {
    try {
      this.#spill ??= await openSpill(this.#directory);
      const room = MAX_FILE_BYTES - this.#spilledBytes;
      const { bytesWritten } = await this.#spill.handle.write(bytes.subarray(0, room));
      this.#spilledBytes += bytesWritten;
      if (bytesWritten < bytes.length) this.#incomplete = 'only the beginning was kept';
    } catch (thrown) {
      // The command continues: its effects matter more than its output.
      this.#incomplete = messageOf(thrown);
    }
  }
}

async function openSpill(directory: string): Promise<{ handle: FileHandle; path: string }> {
  const path = join(directory, `output-${randomUUID()}.txt`);
  return { handle: await open(path, 'wx', 0o600), path };
}

/** Returns nothing if the file is unreadable: a person may have cleared the cache. */
async function readAt(path: string, position: number, size: number): Promise<Buffer> {
  try {
    const handle = await open(path, 'r');
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(size), 0, size, position);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch {
    return NONE;
  }
}

const NONE = Buffer.alloc(0);
const LIVE_BYTES = 8 * 1024;
const UPDATE_MS = 100;
const MAX_FILE_BYTES = 64 * 1024 * 1024;
