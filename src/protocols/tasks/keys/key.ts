import { PERMISSION_MODES } from '../../../pod/index.ts';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { shape } from '../../../base/index.ts';

/** What a key may do; `admin` may do all of it, to every session. */
export const KEY_PERMISSIONS = ['submit', 'read', 'approve', 'admin'] as const;
export type KeyPermission = (typeof KEY_PERMISSIONS)[number];

/** Bounds on what a key's tasks may ask for; what is not said is bound by the agent alone. */
const LIMITS = shape.fields(
  {},
  {
    /** The most that may be permitted without being asked. */
    mode: shape.choice(PERMISSION_MODES),
    /** Where sessions may work, in place of the door's own directories. */
    directories: shape.listOf(shape.text('an absolute path', (path) => path.startsWith('/'))),
    /** References of models. */
    models: shape.listOf(shape.text()),
  },
);
export type KeyLimits = shape.ValueOf<typeof LIMITS>;

/** What becomes of the running tasks of a key that is revoked. Those that wait never start. */
export const REVOKED_TASKS = ['cancel', 'pause', 'keep'] as const;
export type RevokedTasks = (typeof REVOKED_TASKS)[number];

const HASH = shape.text('a SHA-256 in hexadecimal', (hash) => /^[0-9a-f]{64}$/.test(hash));

/** A key as it is kept: the key itself is known only to who has it. */
export const KEY_RECORD = shape.fields(
  {
    id: shape.text('a key id', (id) => /^[0-9a-z]{8,32}$/.test(id)),
    /** Whose it is: sessions belong to owners, so that a new key finds those of the old one. */
    owner: shape.text(),
    scopes: shape.listOf(shape.choice(KEY_PERMISSIONS)),
    hash: HASH,
    createdAt: shape.text(),
  },
  {
    revokedAt: shape.text(),
    /** What becomes of its tasks when it is revoked. */
    revokedTasks: shape.choice(REVOKED_TASKS),
    /** A time: from then on it opens nothing. */
    expiresAt: shape.text('a time such as 2026-01-31T12:00:00Z', (time) => !Number.isNaN(Date.parse(time))),
    /** The ids of the keys that it replaced, and that replaced it. */
    rotatedFrom: shape.text(),
    rotatedTo: shape.text(),
    /** Whoever owns it cannot approve what tasks ask that were submitted with it. */
    fourEyes: shape.flag,
    limits: LIMITS,
    /** Sessions of others that it may use, by their pod's id. */
    grants: shape.listOf(shape.text()),
  },
);
export type KeyRecord = shape.ValueOf<typeof KEY_RECORD>;

export interface MintedKey {
  readonly id: string;
  /** Shown once, and kept nowhere. */
  readonly key: string;
  readonly hash: string;
}

/** A new key: 256 random bits. There is nothing to guess, so a fast hash is enough. */
export function mintKey(): MintedKey {
  const id = randomBytes(6).toString('hex');
  const key = `ppk_${id}_${randomBytes(32).toString('base64url')}`;
  return { id, key, hash: hashOf(key) };
}

export function hashOf(key: string): string {
  return hash('sha256', key);
}

/** The id in a key's text; undefined for one that we did not mint. */
export function idIn(key: string): string | undefined {
  return /^ppk_([0-9a-z]{8,32})_[\w-]{20,}$/.exec(key)?.[1];
}

/** Takes the same time wherever the two differ. */
export function isSameHash(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
}

export function allows({ scopes }: Pick<KeyRecord, 'scopes'>, scope: KeyPermission): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}
