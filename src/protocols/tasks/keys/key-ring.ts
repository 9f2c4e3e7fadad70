import { statSync } from 'node:fs';
import { type Log, messageOf } from '../../../base/index.ts';
import { hashOf, idIn, isSameHash, type KeyRecord, type KeyPermission } from './key.ts';
import { readKeys } from './key-file.ts';
import { keyState } from './key-state.ts';
import { KeyUses } from './key-uses.ts';
import { watchFile } from './watch-file.ts';

/** A key that came by the environment. It is nowhere kept, and holds as long as the process. */
export interface GivenKey {
  readonly key: string;
  readonly owner: string;
  readonly scopes: readonly KeyPermission[];
}

export interface KeyRingOptions {
  readonly file?: string;
  readonly given?: readonly GivenKey[];
  readonly log: Log;
  /** A key expires while the ring is in use. */
  readonly onExpired?: (key: KeyRecord) => void;
}

/**
 * The keys that are good now. The file may be changed by another program at any time: it is watched for the sake of streams that
 * go on, and looked at when a key is to be found, so that a key opens nothing from the moment it is revoked.
 */
export class KeyRing {
  readonly #options: KeyRingOptions;
  readonly #given: readonly KeyRecord[];
  readonly #unwatch: () => void;
  readonly #listeners = new Set<() => void>();
  /** By their ids. */
  #kept: ReadonlyMap<string, KeyRecord> = new Map();
  readonly #uses: KeyUses | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #mark = '';
  #hasLooked = false;

  /** Throws when the file cannot be read. */
  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#given = (options.given ?? []).map(recordOf);
    const { file } = options;
    if (file !== undefined) {
      this.#mark = markOf(file);
      this.#kept = byId(readKeys(file));
      this.#uses = new KeyUses(file);
    }
    this.#awaitExpiry();
    this.#unwatch = file === undefined ? () => {} : watchFile(file, () => this.#refresh());
    // What was changed before anybody watched.
    this.#refresh();
  }

  /** The key that this text is; undefined for none, or for one that was revoked. */
  find(key: string): KeyRecord | undefined {
    this.#look();
    const hash = hashOf(key);
    // Also without a candidate something is compared: the time does not tell which ids there are.
    const kept = this.#kept.get(idIn(key) ?? '');
    const isKept = isSameHash(hash, kept?.hash ?? NO_HASH);
    if (kept !== undefined && isKept && keyState(kept) === 'good') {
      this.#uses?.note(kept.id);
      return kept;
    }
    return this.#given.find((record) => isSameHash(hash, record.hash));
  }

  /** Why a key that somebody has is not good; undefined for a text that is no key of ours. */
  whyNot(key: string): 'expired' | 'revoked' | undefined {
    const kept = this.#kept.get(idIn(key) ?? '');
    if (kept === undefined || !isSameHash(hashOf(key), kept.hash)) return undefined;
    const state = keyState(kept);
    return state === 'good' ? undefined : state;
  }

  /** The hash of a good key, by its id. */
  hashOf(id: string): string | undefined {
    this.#look();
    const kept = this.#kept.get(id);
    if (kept !== undefined) return keyState(kept) === 'good' ? kept.hash : undefined;
    return this.#given.find((given) => given.id === id)?.hash;
  }

  isExpired({ id }: KeyRecord): boolean {
    const kept = this.#kept.get(id);
    return kept !== undefined && keyState(kept) === 'expired';
  }

  /** Whether a key that was found before is still good. */
  isGood({ id, hash }: KeyRecord): boolean {
    this.#look();
    const kept = this.#kept.get(id);
    if (kept?.hash === hash && keyState(kept) === 'good') return true;
    return this.#given.some((given) => given.id === id && given.hash === hash);
  }

  /** Calls back when keys may have changed. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks at the file. One that cannot be read any more leaves the keys as they are, and is told of. */
  #refresh(): void {
    const { file, log } = this.#options;
    if (file === undefined) return;
    const mark = markOf(file);
    if (mark === this.#mark) return;
    this.#mark = mark;
    try {
      this.#kept = byId(readKeys(file));
    } catch (thrown) {
      log.error('the keys cannot be read: those from before hold', { file, reason: messageOf(thrown) });
      return;
    }
    this.#awaitExpiry();
    for (const listener of this.#listeners) listener();
  }

  /** Streams end when their key expires, also when nobody asks for anything. */
  #awaitExpiry(): void {
    clearTimeout(this.#expiry);
    const now = Date.now();
    const due = [...this.#kept.values()].filter(
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

  /** Once for all requests that came in the same turn of the loop: none of them was sent after the look. */
  #look(): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    setImmediate(() => {
      this.#hasLooked = false;
    });
    this.#refresh();
  }
}

function byId(keys: readonly KeyRecord[]): ReadonlyMap<string, KeyRecord> {
  return new Map(keys.map((key) => [key.id, key]));
}

function recordOf({ key, owner, scopes }: GivenKey): KeyRecord {
  const hash = hashOf(key);
  return { id: hash.slice(0, 12), owner, scopes, hash, createdAt: '' };
}

/** Changes with every change of the file, which is always replaced as a whole. */
function markOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}

/** What `setTimeout` takes. */
const LONGEST_TIMER = 2 ** 31 - 1;

const NO_HASH = '0'.repeat(64);
