import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  asPolypodError,
  type JsonObject,
  messageOf,
  type Redact,
  redactor,
  tryOrUndefined,
} from '../base/index.ts';
import { acquireLock, type Lock } from '../store/index.ts';
import { CHAIN_START, type ChainHead, decodeEntry, encodeEntry } from './entry.ts';
import type { Audit, AuditEvent } from './event.ts';
import { type AuditFiles, listAuditFiles, rotatedName, UNCHAINED_FILE } from './files.ts';
import { FLOOD_LIMITS, type FloodLimits, FloodLimiter } from './floods.ts';
import { parseHead, readTail, type FileTail } from './tail.ts';

export interface AuditLimits {
  /** A file that exceeds this size or age is closed, and a new one is started. */
  readonly fileBytes: number;
  readonly fileAgeMs: number;
  /** The number of full files to keep. */
  readonly keptFiles: number;
  readonly floods: FloodLimits;
}

export const AUDIT_LIMITS: AuditLimits = {
  fileBytes: 8 * 1024 * 1024,
  fileAgeMs: 30 * 24 * 3_600_000,
  keptFiles: 24,
  floods: FLOOD_LIMITS,
};

export interface AuditLogOptions {
  readonly files: AuditFiles;
  /** Creates the directory; called before the first entry. */
  readonly makeDirectory: (path: string) => void;
  readonly redact?: (() => Redact) | undefined;
  readonly limits?: Partial<AuditLimits> | undefined;
  /** Called when the log cannot be written, once until it can be written again. */
  readonly onFailure?: ((reason: string) => void) | undefined;
  readonly now?: () => Date;
}

interface PendingEvent {
  readonly event: AuditEvent;
  readonly time: Date;
}

/**
 * The audit log of a data directory. Any number of processes append to one chain: each acquires the lock briefly, reads the
 * end of the chain if another process wrote since, and appends its events. No file is opened before the first event.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #limits: AuditLimits;
  readonly #floods: FloodLimiter;
  #pending: PendingEvent[] = [];
  /** The number of events dropped while the log could not be written. */
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #isWriteScheduled = false;
  #hasFailed = false;
  /** Consecutive failed attempts to write. */
  #attempts = 0;
  #isClosed = false;
  #file: OpenFile | undefined;
  #syncTimer: NodeJS.Timeout | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#limits = { ...AUDIT_LIMITS, ...options.limits };
    this.#floods = new FloodLimiter((event) => this.#add(event), this.#limits.floods);
  }

  /** Records an event. */
  readonly record: Audit = (event) => {
    if (this.#isClosed) return;
    if (REFUSALS.has(event.event)) this.#floods.record(event);
    else this.#add(event);
  };

  /** Writes the remaining events. Resolves with whether everything was written. */
  async close(): Promise<boolean> {
    if (this.#isClosed) return this.#pending.length === 0;
    this.#floods.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#syncTimer);
    for (let waited = 0; !this.#flush() && waited < CLOSE_TIMEOUT_MS; waited += RETRY_MS)
      await sleep(RETRY_MS);
    if (this.#file !== undefined) {
      tryOrUndefined(() => fsyncSync(this.#file?.descriptor ?? -1));
      closeSync(this.#file.descriptor);
      this.#file = undefined;
    }
    return this.#pending.length === 0;
  }

  #add(event: AuditEvent): void {
    if (this.#pending.length >= MAX_PENDING) this.#dropped += 1;
    else this.#pending.push({ event, time: this.#options.now?.() ?? new Date() });
    if (this.#isClosed || this.#isWriteScheduled) return;
    // Requests are frequent and are written in batches; decisions are written immediately.
    if (BATCHED.has(event.event)) {
      this.#timer ??= setTimeout(() => this.#write(), BATCH_MS);
      return;
    }
    this.#isWriteScheduled = true;
    setImmediate(() => {
      this.#isWriteScheduled = false;
      this.#write();
    });
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isClosed) return;
    this.#attempts = this.#flush() ? 0 : this.#attempts + 1;
    // A process that was suspended while it wrote may hold the lock for long, hence the backoff.
    const pause = Math.min(RETRY_MS * 2 ** this.#attempts, MAX_RETRY_MS);
    if (this.#attempts > 0) this.#timer = setTimeout(() => this.#write(), pause);
  }

  /** Appends the pending events. Returns false if it failed and must be retried. */
  #flush(): boolean {
    if (this.#pending.length === 0) return true;
    let lock: Lock | undefined;
    try {
      this.#options.makeDirectory(this.#options.files.directory);
      lock = acquireLock(this.#options.files.current);
      this.#append();
      this.#hasFailed = false;
      return true;
    } catch (thrown) {
      // A conflict means that another process is writing.
      if (asPolypodError(thrown).code !== 'conflict') this.#fail(messageOf(thrown));
      return false;
    } finally {
      lock?.release();
    }
  }

  #fail(reason: string): void {
    if (!this.#hasFailed) this.#options.onFailure?.(reason);
    this.#hasFailed = true;
  }

  #append(): void {
    const batch = [...this.#pending];
    if (this.#dropped > 0) {
      const details = { dropped: this.#dropped, reason: 'the log could not be written' };
      batch.push({ event: { event: 'audit.gap', details }, time: new Date(this.#now()) });
    }
    try {
      let file = this.#currentFile();
      for (const { event, time } of batch) {
        if (this.#isFull(file)) file = this.#rotate(file);
        this.#addLine(file, event, time);
      }
      this.#writeLines(file);
      writeHead(this.#options.files.head, file.head);
    } catch (thrown) {
      // The next open reads how much of it reached the disk.
      const { descriptor } = this.#file ?? {};
      this.#file = undefined;
      if (descriptor !== undefined) tryOrUndefined(() => closeSync(descriptor));
      throw thrown;
    }
    this.#pending = [];
    this.#dropped = 0;
    this.#syncSoon();
  }

  #syncSoon(): void {
    if (this.#isClosed) return;
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined;
      if (this.#file !== undefined) fsync(this.#file.descriptor, () => {});
    }, SYNC_MS).unref();
  }

  #addLine(file: OpenFile, event: AuditEvent, time: Date): void {
    const redact = this.#options.redact?.() ?? REDACT_KEYS;
    const { line, head } = encodeEntry(event, { after: file.head, time, redact });
    file.lines.push(line);
    file.bytes += Buffer.byteLength(line) + 1;
    file.head = head;
  }

  #writeLines(file: OpenFile): void {
    const text = file.lines.splice(0).map((line) => `${line}\n`);
    if (text.length === 0) return;
    const bytes = Buffer.from(text.join(''));
    let sent = 0;
    while (sent < bytes.length) sent += writeSync(file.descriptor, bytes, sent);
    file.bytes = fstatSync(file.descriptor).size;
  }

  #isFull({ bytes, since, lines }: OpenFile): boolean {
    const isOld = this.#now() - since > this.#limits.fileAgeMs;
    return (bytes > 0 || lines.length > 0) && (bytes >= this.#limits.fileBytes || isOld);
  }

  #now(): number {
    return (this.#options.now?.() ?? new Date()).getTime();
  }

  /** The file to append to. Reopens it if another process has written to it or started a new one. */
  #currentFile(): OpenFile {
    const { files } = this.#options;
    const known = this.#file;
    const found = statSync(files.current, { throwIfNoEntry: false });
    if (known !== undefined && found?.ino === known.inode && found.size === known.bytes) return known;
    if (known !== undefined) closeSync(known.descriptor);
    this.#file = undefined;
    return (this.#file = this.#open());
  }

  #open(): OpenFile {
    const { files } = this.#options;
    let tail = readTail(files.current);
    const earlier = tail !== undefined && isUnchained(tail) ? tail.size : undefined;
    if (earlier !== undefined) {
      renameSync(files.current, join(files.directory, UNCHAINED_FILE));
      tail = undefined;
    }
    const last = tail?.head ?? lastRotated(files);
    const known = readHead(files.head);
    const file: OpenFile = {
      ...openFile(files.current),
      head: last ?? CHAIN_START,
      since: Date.parse(decodeEntry(tail?.first ?? '')?.time ?? '') || this.#now(),
    };
    const note = (event: 'audit.torn' | 'audit.gap' | 'audit.started', details: JsonObject): void =>
      this.#addLine(file, { event, details }, new Date(this.#now()));
    if (tail !== undefined && tail.torn.length > 0) {
      // Ends the torn line. Its bytes stay, and the next entry accounts for them.
      writeSync(file.descriptor, '\n');
      const complete = decodeEntry(tail.torn.toString('utf8'));
      if (complete !== undefined && complete.prev === file.head.hash)
        file.head = { seq: complete.seq, hash: complete.hash };
      else note('audit.torn', { bytes: tail.torn.length, sha256: sha256(tail.torn) });
    }
    if (known !== undefined && known.seq > file.head.seq) {
      const missing = { from: file.head.seq + 1, to: known.seq };
      file.head = known;
      note('audit.gap', { missing });
    }
    if (file.head.seq === 0)
      note('audit.started', earlier === undefined ? {} : { unchained: UNCHAINED_FILE, bytes: earlier });
    return file;
  }

  /** Starts a new file, whose first entry follows the last one of the old file, and removes excess files. */
  #rotate(file: OpenFile): OpenFile {
    const { files } = this.#options;
    this.#writeLines(file);
    tryOrUndefined(() => fsyncSync(file.descriptor));
    closeSync(file.descriptor);
    const name = rotatedName(file.head.seq);
    renameSync(files.current, join(files.directory, name));
    const next: OpenFile = { ...openFile(files.current), head: file.head, since: this.#now() };
    this.#file = next;
    this.#addLine(next, { event: 'audit.rotated', details: { from: name } }, new Date(this.#now()));
    const full = listAuditFiles(files).filter((path) => path !== files.current);
    const old = full.slice(0, Math.max(0, full.length - this.#limits.keptFiles));
    const through = old.length === 0 ? undefined : readTail(old.at(-1) ?? '')?.head;
    if (through !== undefined) {
      const removed = old.map((path) => basename(path));
      this.#addLine(
        next,
        { event: 'audit.removed', details: { files: removed, through: through.seq, hash: through.hash } },
        new Date(this.#now()),
      );
      // The entry that records the removal must be on the disk before the files are removed.
      this.#writeLines(next);
      tryOrUndefined(() => fsyncSync(next.descriptor));
      for (const path of old) tryOrUndefined(() => unlinkSync(path));
    }
    return next;
  }
}

interface OpenFile {
  readonly descriptor: number;
  readonly inode: number;
  /** The time of its first entry. */
  readonly since: number;
  bytes: number;
  head: ChainHead;
  /** Encoded lines that are not written yet. */
  readonly lines: string[];
}

function openFile(path: string): Pick<OpenFile, 'descriptor' | 'inode' | 'bytes' | 'lines'> {
  const descriptor = openSync(path, 'a', 0o600);
  const { ino, size } = fstatSync(descriptor);
  return { descriptor, inode: ino, bytes: size, lines: [] };
}

/** Refusals, which any client can cause in any number. */
const REFUSALS: ReadonlySet<AuditEvent['event']> = new Set(['request.refused', 'connection.refused']);
/** Events that may be delayed, so that one write covers many. */
const BATCHED: ReadonlySet<AuditEvent['event']> = new Set([...REFUSALS, 'request.accepted']);
const BATCH_MS = 50;
const RETRY_MS = 10;
const MAX_RETRY_MS = 500;
const SYNC_MS = 1_000;
const CLOSE_TIMEOUT_MS = 5_000;
const MAX_PENDING = 10_000;
const REDACT_KEYS = redactor([]);

/** Whether the file has lines of a version without a chain. */
function isUnchained({ head, first }: FileTail): boolean {
  return head === undefined && first.startsWith('{') && !first.includes('"prev":"');
}

function lastRotated(files: AuditFiles): ChainHead | undefined {
  const path = listAuditFiles(files)
    .filter((one) => one !== files.current)
    .at(-1);
  return path === undefined ? undefined : readTail(path)?.head;
}

export function readHead(path: string): ChainHead | undefined {
  return parseHead(tryOrUndefined(() => readFileSync(path, 'utf8')) ?? '');
}

/** Overwrites the head file in place, always with the same length, because it is written with every batch. */
function writeHead(path: string, { seq, hash }: ChainHead): void {
  const text = `${JSON.stringify({ seq, hash }).padEnd(HEAD_BYTES - 1)}\n`;
  const descriptor = openSync(path, 'a', 0o600);
  closeSync(descriptor);
  const head = openSync(path, 'r+');
  try {
    writeSync(head, text, 0);
  } finally {
    closeSync(head);
  }
}

const HEAD_BYTES = 128;

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
