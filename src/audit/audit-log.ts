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
import { asPolypodError, type JsonObject, messageOf, type Redact, redactor } from '../base/index.ts';
import { acquireLock, type Lock } from '../store/index.ts';
import { CHAIN_START, type ChainHead, decodeEntry, encodeEntry } from './entry.ts';
import type { Audit, AuditEvent } from './event.ts';
import { type AuditFiles, listAuditFiles, rotatedName, UNCHAINED } from './files.ts';
import { FLOOD_LIMITS, type FloodLimits, Floods } from './floods.ts';
import { parseHead, readTail, type Tail } from './tail.ts';

export interface AuditLimits {
  /** A file that would grow beyond this, or that is older than this, is closed and a new one begun. */
  readonly fileBytes: number;
  readonly fileAgeMs: number;
  /** Full files that are kept. */
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
  /** Makes the directory; called before the first entry. */
  readonly makeDirectory: (path: string) => void;
  readonly redact?: (() => Redact) | undefined;
  readonly limits?: Partial<AuditLimits> | undefined;
  /** The log cannot be written; called once until it can be again. */
  readonly onFailure?: ((reason: string) => void) | undefined;
  readonly now?: () => Date;
}

interface Waiting {
  readonly event: AuditEvent;
  readonly time: Date;
}

/**
 * The audit log of a data directory. Any number of processes append to one chain: each takes the lock for a moment, reads
 * where the chain ends if another one wrote since, and appends what has come up. Nothing is opened before the first event.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #limits: AuditLimits;
  readonly #floods: Floods;
  #waiting: Waiting[] = [];
  /** Events that were dropped because nothing could be written for long. */
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #hasFailed = false;
  /** In a row, without having written. */
  #attempts = 0;
  #isClosed = false;
  #file: OpenFile | undefined;
  #syncing: NodeJS.Timeout | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#limits = { ...AUDIT_LIMITS, ...options.limits };
    this.#floods = new Floods((event) => this.#add(event), this.#limits.floods);
  }

  /** Records an event. */
  readonly record: Audit = (event) => {
    if (this.#isClosed) return;
    if (FLOODS.has(event.event)) this.#floods.record(event);
    else this.#add(event);
  };

  /** Writes what is left. Resolves with whether everything is written. */
  async close(): Promise<boolean> {
    if (this.#isClosed) return this.#waiting.length === 0;
    this.#floods.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#syncing);
    for (let waited = 0; !this.#flush() && waited < PATIENCE_MS; waited += RETRY_MS) await sleep(RETRY_MS);
    if (this.#file !== undefined) {
      attempt(() => fsyncSync(this.#file?.descriptor ?? -1));
      closeSync(this.#file.descriptor);
      this.#file = undefined;
    }
    return this.#waiting.length === 0;
  }

  #add(event: AuditEvent): void {
    if (this.#waiting.length >= MOST_WAITING) this.#dropped += 1;
    else this.#waiting.push({ event, time: this.#options.now?.() ?? new Date() });
    if (this.#isClosed || this.#isDue) return;
    // Requests come by the thousand; what was decided is written before anything else happens.
    if (SOON.has(event.event)) {
      this.#timer ??= setTimeout(() => this.#write(), BATCH_MS);
      return;
    }
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#write();
    });
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isClosed) return;
    this.#attempts = this.#flush() ? 0 : this.#attempts + 1;
    // A process that was stopped while it wrote may keep the others waiting for long.
    const pause = Math.min(RETRY_MS * 2 ** this.#attempts, LONGEST_RETRY_MS);
    if (this.#attempts > 0) this.#timer = setTimeout(() => this.#write(), pause);
  }

  /** Appends all that waits; false if it could not, and should be tried again. */
  #flush(): boolean {
    if (this.#waiting.length === 0) return true;
    let lock: Lock | undefined;
    try {
      this.#options.makeDirectory(this.#options.files.directory);
      lock = acquireLock(this.#options.files.current);
      this.#append();
      this.#hasFailed = false;
      return true;
    } catch (thrown) {
      // Another process writes at this moment.
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
    const batch = [...this.#waiting];
    if (this.#dropped > 0) {
      const details = { dropped: this.#dropped, reason: 'the log could not be written' };
      batch.push({ event: { event: 'audit.gap', details }, time: new Date(this.#now()) });
    }
    try {
      let file = this.#opened();
      for (const { event, time } of batch) {
        if (this.#isFull(file)) file = this.#rotate(file);
        this.#put(file, event, time);
      }
      this.#send(file);
      writeHead(this.#options.files.head, file.head);
    } catch (thrown) {
      // What of it is on the disk is found when the file is opened again.
      const { descriptor } = this.#file ?? {};
      this.#file = undefined;
      if (descriptor !== undefined) attempt(() => closeSync(descriptor));
      throw thrown;
    }
    this.#waiting = [];
    this.#dropped = 0;
    this.#syncSoon();
  }

  #syncSoon(): void {
    if (this.#isClosed) return;
    this.#syncing ??= setTimeout(() => {
      this.#syncing = undefined;
      if (this.#file !== undefined) fsync(this.#file.descriptor, () => {});
    }, SYNC_MS).unref();
  }

  #put(file: OpenFile, event: AuditEvent, time: Date): void {
    const redact = this.#options.redact?.() ?? PLAIN;
    const { line, head } = encodeEntry(event, { after: file.head, time, redact });
    file.lines.push(line);
    file.bytes += Buffer.byteLength(line) + 1;
    file.head = head;
  }

  #send(file: OpenFile): void {
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

  /** The file to append to, as it is now: another process may have written to it or begun a new one. */
  #opened(): OpenFile {
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
      renameSync(files.current, join(files.directory, UNCHAINED));
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
      this.#put(file, { event, details }, new Date(this.#now()));
    if (tail !== undefined && tail.torn.length > 0) {
      // Ends the line that was cut; what is left of it stays, and the next entry says what it is.
      writeSync(file.descriptor, '\n');
      const whole = decodeEntry(tail.torn.toString('utf8'));
      if (whole !== undefined && whole.prev === file.head.hash)
        file.head = { seq: whole.seq, hash: whole.hash };
      else note('audit.torn', { bytes: tail.torn.length, sha256: sha256(tail.torn) });
    }
    if (known !== undefined && known.seq > file.head.seq) {
      const missing = { from: file.head.seq + 1, to: known.seq };
      file.head = known;
      note('audit.gap', { missing });
    }
    if (file.head.seq === 0)
      note('audit.started', earlier === undefined ? {} : { unchained: UNCHAINED, bytes: earlier });
    return file;
  }

  /** Begins a new file, whose first entry follows the last one of the old, and removes those that are too many. */
  #rotate(file: OpenFile): OpenFile {
    const { files } = this.#options;
    this.#send(file);
    attempt(() => fsyncSync(file.descriptor));
    closeSync(file.descriptor);
    const name = rotatedName(file.head.seq);
    renameSync(files.current, join(files.directory, name));
    const next: OpenFile = { ...openFile(files.current), head: file.head, since: this.#now() };
    this.#file = next;
    this.#put(next, { event: 'audit.rotated', details: { from: name } }, new Date(this.#now()));
    const full = listAuditFiles(files).filter((path) => path !== files.current);
    const old = full.slice(0, Math.max(0, full.length - this.#limits.keptFiles));
    const through = old.length === 0 ? undefined : readTail(old.at(-1) ?? '')?.head;
    if (through !== undefined) {
      const removed = old.map((path) => basename(path));
      this.#put(
        next,
        { event: 'audit.removed', details: { files: removed, through: through.seq, hash: through.hash } },
        new Date(this.#now()),
      );
      // The entry that accounts for them is on the disk before they are gone.
      this.#send(next);
      attempt(() => fsyncSync(next.descriptor));
      for (const path of old) attempt(() => unlinkSync(path));
    }
    return next;
  }
}

interface OpenFile {
  readonly descriptor: number;
  readonly inode: number;
  /** When its first entry was written. */
  readonly since: number;
  bytes: number;
  head: ChainHead;
  /** Encoded, and not yet written. */
  readonly lines: string[];
}

function openFile(path: string): Pick<OpenFile, 'descriptor' | 'inode' | 'bytes' | 'lines'> {
  const descriptor = openSync(path, 'a', 0o600);
  const { ino, size } = fstatSync(descriptor);
  return { descriptor, inode: ino, bytes: size, lines: [] };
}

/** Refusals, which anybody can cause in any number. */
const FLOODS: ReadonlySet<AuditEvent['event']> = new Set(['request.refused', 'connection.refused']);
/** May wait for a moment, so that many are one write. */
const SOON: ReadonlySet<AuditEvent['event']> = new Set([...FLOODS, 'request.accepted']);
const BATCH_MS = 50;
const RETRY_MS = 10;
const LONGEST_RETRY_MS = 500;
const SYNC_MS = 1_000;
const PATIENCE_MS = 5_000;
const MOST_WAITING = 10_000;
const PLAIN = redactor([]);

/** Lines of a version that did not chain them. */
function isUnchained({ head, first }: Tail): boolean {
  return head === undefined && first.startsWith('{') && !first.includes('"prev":"');
}

function lastRotated(files: AuditFiles): ChainHead | undefined {
  const path = listAuditFiles(files)
    .filter((one) => one !== files.current)
    .at(-1);
  return path === undefined ? undefined : readTail(path)?.head;
}

export function readHead(path: string): ChainHead | undefined {
  return parseHead(attempt(() => readFileSync(path, 'utf8')) ?? '');
}

/** In place and always of the same length: it is written with every batch. */
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

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    // What could not be removed or synced is tried again with the next rotation.
    return undefined;
  }
}
