import { randomUUID } from 'node:crypto';
import { basename, join } from 'node:path';
import { numberOf, objectIn, PolypodError, stringOf, systemCodeOf } from '../base/index.ts';
import { fileFailure } from './failure.ts';
import { type Files, type FileState, realFiles } from './files.ts';
import { appendFully } from './log-file.ts';
import { type ProcessIdentity, type ProcessState, stateOfProcess, thisProcess } from './process-identity.ts';

/** Who may write, and how often the right has passed from one who did not give it back. */
export interface LockOwner extends ProcessIdentity {
  readonly epoch: number;
}

export interface LockOptions {
  /** `dead`: only from a process that is gone. `anyone`: a person has said that the owner is to be put out. */
  readonly takeOver?: 'dead' | 'anyone';
  readonly files?: Files;
  /** How to tell whether an owner lives. */
  readonly stateOf?: (owner: ProcessIdentity) => ProcessState;
}

/**
 * The right to write to a file, for one process on one machine.
 *
 * It is a directory beside the file, `<file>.lock`, with one small file in it that is named by the epoch and says who owns
 * it. To own it is to have put there, by a hard link, which fails if the name is taken, a file that nobody alive was
 * before: whoever links looks again and, seeing a file it did not know and count as dead, takes its own back. Of two who
 * come at once the later one sees the earlier, so there are never two owners. The file of the one before is removed before
 * the new owner begins: from then on `assertOwner` of the old one refuses, however long it was stopped.
 */
export class Lock {
  readonly owner: LockOwner;
  readonly #files: Files;
  readonly #directory: string;
  readonly #file: string;
  readonly #state: FileState;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(owner: LockOwner, files: Files, directory: string, file: string, state: FileState) {
    this.owner = owner;
    this.#files = files;
    this.#directory = directory;
    this.#file = file;
    this.#state = state;
  }

  /** Throws if somebody has taken over. One `stat`: cheap enough to be asked before and after every write. */
  assertOwner(): void {
    if (this.#isOurs()) return;
    const name = basename(this.#directory, LOCK);
    throw new PolypodError(
      'conflict',
      `${name}: another process has taken over, and this one (epoch ${this.owner.epoch}) writes no more. Go on there, or open it again.`,
    );
  }

  /**
   * The same for what is written many times a second and holds nothing that is not elsewhere too: looks only when the last
   * look was some milliseconds ago. Who puts out a living owner waits that long before it reads.
   */
  assertRecentOwner(): void {
    const now = performance.now();
    if (now - this.#lookedAt < LEASE_MS) return;
    this.assertOwner();
    this.#lookedAt = now;
  }

  /** Gives the right back; does nothing if it was lost. */
  release(): void {
    if (!this.#isOurs()) return;
    attempt(() => this.#files.unlink(this.#file));
    attempt(() => this.#files.removeDirectory(this.#directory));
  }

  #isOurs(): boolean {
    const state = this.#files.stat(this.#file);
    // An inode's number is given again; together with the time of its writing it is not.
    return state?.inode === this.#state.inode && state.modifiedMs === this.#state.modifiedMs;
  }
}

/** For so long an owner may take it that it still is. */
const LEASE_MS = 20;
const LOCK = '.lock';
const DRAFT = 'draft-';
/** Each one is lost only if somebody else moved meanwhile. */
const ATTEMPTS = 100;

/** Takes the lock of a file, or refuses with a sentence that says who has it. */
export function acquireLock(path: string, options: LockOptions = {}): Lock {
  const { files = realFiles, takeOver = 'dead', stateOf = stateOfProcess } = options;
  const directory = `${path}${LOCK}`;
  try {
    for (let attempts = 0; attempts < ATTEMPTS; attempts += 1) {
      files.makeDirectory(directory);
      const before = claimsIn(files, directory);
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

/** Nothing else may happen meanwhile in a process that has just put out another. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Who has the lock of a file, or had it and left it behind, and whether that process lives; undefined if nobody has. */
export function readLock(
  path: string,
  { files = realFiles, stateOf = stateOfProcess }: Pick<LockOptions, 'files' | 'stateOf'> = {},
): { readonly owner: LockOwner; readonly state: ProcessState } | undefined {
  const owners = claimsIn(files, `${path}${LOCK}`).flatMap(({ owner }) => owner ?? []);
  const found = owners.map((owner) => ({ owner, state: stateOf(owner) }));
  return found.find(({ state }) => state !== 'dead') ?? found.at(-1);
}

/** A file that gives, or gave, somebody the right. */
interface Claim {
  readonly file: string;
  readonly epoch: number;
  readonly state: FileState;
  /** Undefined if it cannot be read: a claim is whole before it gets its name, so only a power cut does that. */
  readonly owner: LockOwner | undefined;
}

function claim(files: Files, directory: string, before: readonly Claim[]): Lock | undefined {
  const epoch = Math.max(0, ...before.map((one) => one.epoch)) + 1;
  const { pid, startedAt, bootId, host } = thisProcess();
  const owner: LockOwner = { pid, startedAt, bootId, host, epoch };
  const file = join(directory, String(epoch));
  const state = put(files, directory, file, owner);
  if (state === undefined) return undefined;
  const others = claimsIn(files, directory).filter((one) => one.epoch !== epoch);
  if (!others.every((one) => before.some((known) => isSame(known.state, one.state)))) {
    const ours = files.stat(file);
    if (ours !== undefined && isSame(ours, state)) attempt(() => files.unlink(file));
    return undefined;
  }
  // Not what came since: another one may be taking over from us already.
  for (const one of before) attempt(() => files.unlink(one.file));
  removeDrafts(files, directory);
  return new Lock(owner, files, directory, file, state);
}

/** Undefined if somebody was quicker. */
function put(files: Files, directory: string, file: string, owner: LockOwner): FileState | undefined {
  const draft = join(directory, `${DRAFT}${randomUUID()}`);
  try {
    const state = written(files, draft, JSON.stringify(owner));
    files.link(draft, file);
    return state;
  } catch (error) {
    if (LOST.has(systemCodeOf(error) ?? '')) return undefined;
    throw error;
  } finally {
    attempt(() => files.unlink(draft));
  }
}

function written(files: Files, path: string, text: string): FileState {
  const file = files.create(path);
  try {
    appendFully(file, Buffer.from(text));
    return file.state();
  } finally {
    file.close();
  }
}

/** The name is taken; or the directory, or the draft in it, was cleared away by another owner. */
const LOST: ReadonlySet<string> = new Set(['EEXIST', 'ENOENT']);

function claimsIn(files: Files, directory: string): readonly Claim[] {
  return listed(files, directory)
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const file = join(directory, name);
      const state = files.stat(file);
      const text = attempt(() => files.readText(file));
      // Gone while we looked.
      if (state === undefined || text === undefined) return [];
      return [{ file, epoch: Number(name), state, owner: ownerIn(text) }];
    });
}

function ownerIn(text: string): LockOwner | undefined {
  const value = objectIn(text) ?? {};
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
    if (state !== 'dead') throw new PolypodError('conflict', `${basename(path)} ${SAY[state](owner)}`);
  }
}

const SAY: Readonly<Record<Exclude<ProcessState, 'dead'>, (owner: LockOwner) => string>> = {
  alive: ({ pid }) => `is open in process ${pid}. Use it there, or end that process.`,
  elsewhere: ({ pid, host }) =>
    `is locked by process ${pid} on the host ${host}, and whether that one lives cannot be seen from here. Close it there; if it is gone, remove the .lock directory beside the file.`,
};

/** What crashed processes left. A living one that was about to link loses its draft and tries again. */
function removeDrafts(files: Files, directory: string): void {
  for (const name of listed(files, directory))
    if (name.startsWith(DRAFT)) attempt(() => files.unlink(join(directory, name)));
}

function listed(files: Files, directory: string): readonly string[] {
  return attempt(() => files.list(directory)) ?? [];
}

function isSame(one: FileState, other: FileState): boolean {
  return one.inode === other.inode && one.modifiedMs === other.modifiedMs;
}

/** Undefined if it fails: each use is of something that another process may have removed first. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
