import { randomUUID } from 'node:crypto';
import { basename, join } from 'node:path';
import {
  numberOf,
  parseObject,
  PolypodError,
  stringOf,
  systemCodeOf,
  tryOrUndefined,
} from '../base/index.ts';
import { fileFailure } from './failure.ts';
import { type Files, type FileState, realFiles } from './files.ts';
import { appendAll } from './log-file.ts';
import { type ProcessIdentity, type ProcessState, processState, thisProcess } from './process-identity.ts';

/** The owner of a lock. The epoch counts how often the lock was taken over without a release. */
export interface LockOwner extends ProcessIdentity {
  readonly epoch: number;
}

export interface LockOptions {
  /** `dead`: take over only from a process that has exited. `anyone`: also from a live owner, at the user's request. */
  readonly takeOver?: 'dead' | 'anyone';
  readonly files?: Files;
  /** Determines whether an owner is alive. */
  readonly stateOf?: (owner: ProcessIdentity) => ProcessState;
}

/**
 * The exclusive right of one process on this machine to write to a file.
 *
 * The lock is a directory beside the file, `<file>.lock`, with a small claim file that is named after the epoch and
 * describes the owner. A process acquires the lock by creating its claim with a hard link, which fails if the name is
 * taken. It then lists the claims again and removes its own claim if there is one that it had not seen before and judged
 * dead. Of two concurrent processes, the later one sees the claim of the earlier, so there are never two owners. The claim of
 * the previous owner is removed before the new owner starts: from then on `assertOwner` of the previous owner throws,
 * however long it was suspended.
 */
export class Lock {
  readonly owner: LockOwner;
  readonly #files: Files;
  readonly #directory: string;
  readonly #file: string;
  readonly #state: FileState;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(owner: LockOwner, files: Files, directory: string, file: string, state: FileState) {
    this.owner = owner;
    this.#files = files;
    this.#directory = directory;
    this.#file = file;
    this.#state = state;
  }

  /** Throws if another process has taken over. Costs one `stat`, cheap enough to call before and after every write. */
  assertOwner(): void {
    if (this.#isOwned()) return;
    const name = basename(this.#directory, LOCK);
    throw new PolypodError(
      'conflict',
      `${name}: another process has taken over, so this one (epoch ${this.owner.epoch}) no longer writes. Continue there, or open it again.`,
    );
  }

  /**
   * Like `assertOwner`, but checks at most once per LEASE_MS, for files that are written often and hold only redundant data.
   * A process that takes over from a live owner waits for two of these intervals.
   */
  assertRecentOwner(): void {
    const now = performance.now();
    if (now - this.#checkedAt < LEASE_MS) return;
    this.assertOwner();
    this.#checkedAt = now;
  }

  /** Releases the lock; does nothing if another process has taken over. */
  release(): void {
    if (!this.#isOwned()) return;
    tryOrUndefined(() => this.#files.unlink(this.#file));
    tryOrUndefined(() => this.#files.removeDirectory(this.#directory));
  }

  #isOwned(): boolean {
    const state = this.#files.stat(this.#file);
    // Inode numbers are reused, but not with the same modification time.
    return state?.inode === this.#state.inode && state.modifiedMs === this.#state.modifiedMs;
  }
}

/** How long an owner may rely on its last check. */
const LEASE_MS = 20;
const LOCK = '.lock';
const DRAFT = 'draft-';
/** An attempt fails only if another process made progress in the meantime. */
const ATTEMPTS = 100;

/** Acquires the lock of a file, or throws an error that names the owner. */
export function acquireLock(path: string, options: LockOptions = {}): Lock {
  const { files = realFiles, takeOver = 'dead', stateOf = processState } = options;
  const directory = `${path}${LOCK}`;
  try {
    for (let attempts = 0; attempts < ATTEMPTS; attempts += 1) {
      files.makeDirectory(directory);
      const before = readClaims(files, directory);
      if (takeOver === 'dead') refuseIfOwned(before, stateOf, path);
      const lock = claim(files, directory, before);
      if (lock === undefined) continue;
      if (takeOver === 'anyone') pause(2 * LEASE_MS);
      return lock;
    }
  } catch (error) {
    throw fileFailure(path, 'lock', error);
  }
  throw new PolypodError(
    'conflict',
    `${basename(path)} is being opened by several processes at once. Try again.`,
  );
}

/** Blocks the thread, because a process that has just taken over must do nothing else in the meantime. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Reads the owner of a file's lock, also of a stale one, and whether that process is alive; undefined if there is none. */
export function readLock(
  path: string,
  { files = realFiles, stateOf = processState }: Pick<LockOptions, 'files' | 'stateOf'> = {},
): { readonly owner: LockOwner; readonly state: ProcessState } | undefined {
  const owners = readClaims(files, `${path}${LOCK}`).flatMap(({ owner }) => owner ?? []);
  const found = owners.map((owner) => ({ owner, state: stateOf(owner) }));
  return found.find(({ state }) => state !== 'dead') ?? found.at(-1);
}

/** A claim file of a current or former owner. */
interface Claim {
  readonly file: string;
  readonly epoch: number;
  readonly state: FileState;
  /** Undefined if it cannot be parsed: a claim is complete before it is linked, so only a power cut causes this. */
  readonly owner: LockOwner | undefined;
}

function claim(files: Files, directory: string, before: readonly Claim[]): Lock | undefined {
  const epoch = Math.max(0, ...before.map((one) => one.epoch)) + 1;
  const { pid, startedAt, bootId, host } = thisProcess();
  const owner: LockOwner = { pid, startedAt, bootId, host, epoch };
  const file = join(directory, String(epoch));
  const state = linkClaim(files, directory, file, owner);
  if (state === undefined) return undefined;
  const others = readClaims(files, directory).filter((one) => one.epoch !== epoch);
  if (!others.every((one) => before.some((known) => isSame(known.state, one.state)))) {
    const ours = files.stat(file);
    if (ours !== undefined && isSame(ours, state)) tryOrUndefined(() => files.unlink(file));
    return undefined;
  }
  // Only the claims seen before: another process may already be taking over from this one.
  for (const one of before) tryOrUndefined(() => files.unlink(one.file));
  removeDrafts(files, directory);
  return new Lock(owner, files, directory, file, state);
}

/** Creates the claim file. Returns undefined if another process was faster. */
function linkClaim(files: Files, directory: string, file: string, owner: LockOwner): FileState | undefined {
  const draft = join(directory, `${DRAFT}${randomUUID()}`);
  try {
    const state = writeFile(files, draft, JSON.stringify(owner));
    files.link(draft, file);
    return state;
  } catch (error) {
    if (CONTENTION_CODES.has(systemCodeOf(error) ?? '')) return undefined;
    throw error;
  } finally {
    tryOrUndefined(() => files.unlink(draft));
  }
}

function writeFile(files: Files, path: string, text: string): FileState {
  const file = files.create(path);
  try {
    appendAll(file, Buffer.from(text));
    return file.state();
  } finally {
    file.close();
  }
}

/** The name is taken, or another owner removed the directory or the draft in it. */
const CONTENTION_CODES: ReadonlySet<string> = new Set(['EEXIST', 'ENOENT']);

function readClaims(files: Files, directory: string): readonly Claim[] {
  return listNames(files, directory)
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const file = join(directory, name);
      const state = files.stat(file);
      const text = tryOrUndefined(() => files.readText(file));
      // Removed in the meantime.
      if (state === undefined || text === undefined) return [];
      return [{ file, epoch: Number(name), state, owner: parseOwner(text) }];
    });
}

function parseOwner(text: string): LockOwner | undefined {
  const value = parseObject(text) ?? {};
  const [pid, epoch] = [numberOf(value.pid), numberOf(value.epoch)];
  if (pid === undefined || epoch === undefined) return undefined;
  const [startedAt, bootId, host] = [value.startedAt, value.bootId, value.host].map(stringOf);
  return { pid, epoch, startedAt: startedAt ?? '', bootId: bootId ?? '', host: host ?? '' };
}

function refuseIfOwned(
  claims: readonly Claim[],
  stateOf: (owner: ProcessIdentity) => ProcessState,
  path: string,
): void {
  for (const { owner } of claims) {
    if (owner === undefined) continue;
    const state = stateOf(owner);
    if (state !== 'dead') throw new PolypodError('conflict', `${basename(path)} ${REFUSALS[state](owner)}`);
  }
}

const REFUSALS: Readonly<Record<Exclude<ProcessState, 'dead'>, (owner: LockOwner) => string>> = {
  alive: ({ pid }) => `is open in process ${pid}. Use it there, or end that process.`,
  elsewhere: ({ pid, host }) =>
    `is locked by process ${pid} on the host ${host}; this host cannot check whether that process is alive. Close it there; if it has exited, remove the .lock directory beside the file.`,
};

/** Removes the drafts of crashed processes. A live process that loses its draft tries again. */
function removeDrafts(files: Files, directory: string): void {
  for (const name of listNames(files, directory))
    if (name.startsWith(DRAFT)) tryOrUndefined(() => files.unlink(join(directory, name)));
}

function listNames(files: Files, directory: string): readonly string[] {
  return tryOrUndefined(() => files.list(directory)) ?? [];
}

function isSame(one: FileState, other: FileState): boolean {
  return one.inode === other.inode && one.modifiedMs === other.modifiedMs;
}
