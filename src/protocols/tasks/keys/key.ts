import { PERMISSION_MODES } from '../../../pod/index.ts';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { shape } from '../../../base/index.ts';

/** The permissions of a key. `admin` includes all of them, for every session. */
export const KEY_PERMISSIONS = ['submit', 'read', 'approve', 'admin'] as const;
export type KeyPermission = (typeof KEY_PERMISSIONS)[number];

/** Limits on the tasks of a key. For an absent limit, the agent's applies. */
const LIMITS = shape.fields(
  {},
  {
    /** The highest permission mode without approval. */
    mode: shape.choice(PERMISSION_MODES),
    /** The permitted working directories, instead of those of the door. */
    directories: shape.listOf(shape.text('an absolute path', (path) => path.startsWith('/'))),
    /** Model references. */
    models: shape.listOf(shape.text()),
  },
);
export type KeyLimits = shape.ValueOf<typeof LIMITS>;

/** What happens to the running tasks of a revoked key. Pending ones never start. */
export const REVOKED_TASKS = ['cancel', 'pause', 'keep'] as const;
export type RevokedTasks = (typeof REVOKED_TASKS)[number];

const HASH = shape.text('a SHA-256 in hexadecimal', (hash) => /^[0-9a-f]{64}$/.test(hash));

/** A stored key. Only its hash is stored. */
export const KEY_RECORD = shape.fields(
  {
    id: shape.text('a key id', (id) => /^[0-9a-z]{8,32}$/.test(id)),
    /** The owner. Sessions belong to owners, so that a new key can use those of the old one. */
    owner: shape.text(),
    scopes: shape.listOf(shape.choice(KEY_PERMISSIONS)),
    hash: HASH,
    createdAt: shape.text(),
  },
  {
    revokedAt: shape.text(),
    /** What happens to its tasks when it is revoked. */
    revokedTasks: shape.choice(REVOKED_TASKS),
    /** The time at which it expires. */
    expiresAt: shape.text('a time such as 2026-01-31T12:00:00Z', (time) => !Number.isNaN(Date.parse(time))),
    /** The ids of the keys that it replaced and that replaced it. */
    rotatedFrom: shape.text(),
    rotatedTo: shape.text(),
    /** Its owner cannot approve requests of tasks that were submitted with it. */
    fourEyes: shape.boolean,
    limits: LIMITS,
    /** Sessions of other owners that it may use, by pod id. */
    grants: shape.listOf(shape.text()),
  },
);
export type KeyRecord = shape.ValueOf<typeof KEY_RECORD>;

export interface MintedKey {
  readonly id: string;
  /** Shown once and not stored. */
  readonly key: string;
  readonly hash: string;
}

/** Creates a key of 256 random bits. It cannot be guessed, so a fast hash is enough. */
export function mintKey(): MintedKey {
  const id = randomBytes(6).toString('hex');
  const key = `ppk_${id}_${randomBytes(32).toString('base64url')}`;
  return { id, key, hash: hashOf(key) };
}

export function hashOf(key: string): string {
  return hash('sha256', key);
}

/** The id in a key; undefined for a text that is not one of our keys. */
export function idIn(key: string): string | undefined {
  return /^ppk_([0-9a-z]{8,32})_[\w-]{20,}$/.exec(key)?.[1];
}

/** Compares in constant time. */
export function isSameHash(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}

export function allows({ scopes }: Pick<KeyRecord, 'scopes'>, scope: KeyPermission): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}
