import { statSync } from 'node:fs';
import { type Log, messageOf } from '../../../base/index.ts';
import { hashOf, idIn, isSameHash, type KeyRecord, type KeyPermission } from './key.ts';
import { readKeys } from './key-file.ts';
import { keyState } from './key-state.ts';
import { KeyUses } from './key-uses.ts';
import { watchFile } from './watch-file.ts';

/** A key from the environment. It is not stored, and is valid as long as the process runs. */
export interface EnvironmentKey {
  readonly key: string;
  readonly owner: string;
  readonly scopes: readonly KeyPermission[];
}

export interface KeyRingOptions {
  readonly file?: string;
  readonly given?: readonly EnvironmentKey[];
  readonly log: Log;
  /** Called when a key expires while the ring is in use. */
  readonly onExpired?: (key: KeyRecord) => void;
}

/**
 * The valid keys. Another program may change the file at any time: it is watched in order to end open streams, and checked on every lookup,
 * so that a revoked key is refused immediately.
 */
export class KeyRing {
  readonly #options: KeyRingOptions;
  readonly #given: readonly KeyRecord[];
  readonly #unwatch: () => void;
  readonly #listeners = new Set<() => void>();
  /** Valid keys by their text, since the last change of the file: hashing is a large part of a short request. */
  readonly #valid = new Map<string, KeyRecord>();
  /** By id. */
  #stored: ReadonlyMap<string, KeyRecord> = new Map();
  readonly #uses: KeyUses | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #mark = '';
  /** When the file was last checked. */
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** Throws when the file cannot be read. */
  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#given = (options.given ?? []).map(recordOf);
    const { file } = options;
    if (file !== undefined) {
      this.#mark = markOf(file);
      this.#stored = byId(readKeys(file));
      this.#uses = new KeyUses(file);
    }
    this.#awaitExpiry();
    this.#unwatch = file === undefined ? () => {} : watchFile(file, () => this.#refresh());
    // Applies changes that were made before the watch started.
    this.#refresh();
  }

  /** Finds the key for a text; undefined if there is none or it was revoked. */
  find(key: string): KeyRecord | undefined {
    this.#look();
    const valid = this.#valid.get(key) ?? this.#verified(key);
    if (valid === undefined || keyState(valid) !== 'good') return undefined;
    if (this.#stored.has(valid.id)) this.#uses?.note(valid.id);
    return valid;
  }

  #verified(key: string): KeyRecord | undefined {
    const hash = hashOf(key);
    // Always compares, even without a candidate, so that the time does not reveal which ids exist.
    const stored = this.#stored.get(idIn(key) ?? '');
    const isMatch = isSameHash(hash, stored?.hash ?? NO_HASH);
    const isStored = stored !== undefined && isMatch && keyState(stored) === 'good';
    const valid = isStored ? stored : this.#given.find((record) => isSameHash(hash, record.hash));
    if (valid === undefined) return undefined;
    if (this.#valid.size >= MOST_VALID) this.#valid.clear();
    this.#valid.set(key, valid);
    return valid;
  }

  /** Why a key is not valid; undefined for a text that is not one of our keys. */
  whyNot(key: string): 'expired' | 'revoked' | undefined {
    const stored = this.#stored.get(idIn(key) ?? '');
    if (stored === undefined || !isSameHash(hashOf(key), stored.hash)) return undefined;
    const state = keyState(stored);
    return state === 'good' ? undefined : state;
  }

  /** The hash of a valid key, by id. */
  hashOf(id: string): string | undefined {
    this.#look();
    const stored = this.#stored.get(id);
    if (stored !== undefined) return keyState(stored) === 'good' ? stored.hash : undefined;
    return this.#given.find((given) => given.id === id)?.hash;
  }

  isExpired({ id }: KeyRecord): boolean {
    const stored = this.#stored.get(id);
    return stored !== undefined && keyState(stored) === 'expired';
  }

  /** Whether a key that was found before is still valid. */
  isGood({ id, hash }: KeyRecord): boolean {
    this.#look();
    const stored = this.#stored.get(id);
    if (stored?.hash === hash && keyState(stored) === 'good') return true;
    return this.#given.some((given) => given.id === id && given.hash === hash);
  }

  /** Registers a callback for changes of the keys. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reloads the file. If it can no longer be read, the keys stay as they are and the error is reported. */
  #refresh(): void {
    const { file, log } = this.#options;
    if (file === undefined) return;
    const mark = markOf(file);
    if (mark === this.#mark) return;
    this.#mark = mark;
    this.#valid.clear();
    try {
      this.#stored = byId(readKeys(file));
    } catch (thrown) {
      log.error('cannot read the key file: the previous keys stay valid', {
        file,
        reason: messageOf(thrown),
      });
      return;
    }
    this.#awaitExpiry();
    for (const listener of this.#listeners) listener();
  }

  /** Streams end when their key expires, even without further requests. */
  #awaitExpiry(): void {
    clearTimeout(this.#expiry);
    const now = Date.now();
    const due = [...this.#stored.values()].filter(
      (key) => keyState(key, now) === 'good' && key.expiresAt !== undefined,
    );
    const next = Math.min(...due.map(({ expiresAt = '' }) => Date.parse(expiresAt)));
    if (!Number.isFinite(next)) return;
    this.#expiry = setTimeout(
      () => {
        for (const key of due) if (keyState(key) === 'expired') this.#options.onExpired?.(key);
        this.#awaitExpiry();
        for (const listener of this.#listeners) listener();
      },
      Math.min(Math.max(next - now, 1), LONGEST_TIMER),
    ).unref();
  }

  close(): void {
    clearTimeout(this.#expiry);
    this.#uses?.write();
    this.#unwatch();
    this.#listeners.clear();
  }

  /** Checks the file once for all requests of a millisecond: a revocation takes effect at once, and a burst of requests stays cheap. */
  #look(): void {
    const now = performance.now();
    if (now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    this.#refresh();
  }
}

function byId(keys: readonly KeyRecord[]): ReadonlyMap<string, KeyRecord> {
  return new Map(keys.map((key) => [key.id, key]));
}

function recordOf({ key, owner, scopes }: EnvironmentKey): KeyRecord {
  const hash = hashOf(key);
  return { id: hash.slice(0, 12), owner, scopes, hash, createdAt: '' };
}

/** Changes with every change of the file, which is always replaced as a whole. */
function markOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}

const LOOK_MS = 1;
const MOST_VALID = 1_000;

/** The maximum delay of `setTimeout`. */
const LONGEST_TIMER = 2 ** 31 - 1;

const NO_HASH = '0'.repeat(64);
