import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import {
  numberOf,
  parseObject,
  PolypodError,
  shape,
  systemCodeOf,
  tryParse,
  uuidv7,
  withoutUndefined,
} from '../../../base/index.ts';
import {
  KEY_RECORD,
  type KeyLimits,
  type KeyRecord,
  mintKey,
  type RevokedTasks,
  type KeyPermission,
} from './key.ts';

/** Version 2 added expiry, rotation, four-eyes approval and the handling of tasks on revocation. */
const VERSION = 2;
const KEY_FILE = shape.fields({ version: shape.integerFrom(1), keys: shape.listOf(KEY_RECORD) }, {});

export interface NewKey {
  readonly owner: string;
  readonly scopes: readonly KeyPermission[];
  readonly limits?: KeyLimits;
  readonly grants?: readonly string[];
  readonly expiresAt?: string;
  readonly fourEyes?: boolean;
}

/**
 * Reads the keys of a file, including revoked ones; none if the file is missing. Throws if it cannot be read, so that an error never grants
 * access.
 */
export function readKeys(file: string): readonly KeyRecord[] {
  const text = readIfThere(file);
  if (text === undefined) return [];
  const problems: shape.Problem[] = [];
  const read = KEY_FILE.read(tryParse(text), [], (problem) => problems.push(problem));
  if (read === undefined) throw new PolypodError('bad-request', shape.problemsMessage(file, problems));
  if (read.version > VERSION)
    throw new PolypodError('bad-request', `${file} is of a newer version: update polypod to use it`);
  return read.keys;
}

/** Creates a key and stores its hash. The key itself is only in the result. */
export function createKey(
  file: string,
  { owner, scopes, limits, grants, expiresAt, fourEyes }: NewKey,
  now = new Date(),
): { readonly record: KeyRecord; readonly key: string } {
  const { id, key, hash } = mintKey();
  const record: KeyRecord = {
    id,
    owner,
    scopes,
    hash,
    createdAt: now.toISOString(),
    ...withoutUndefined({ limits, grants, expiresAt }),
    ...(fourEyes === true && { fourEyes }),
  };
  writeKeys(file, [...readKeys(file), record]);
  return { record, key };
}

/**
 * Revokes a key. It stays in the file for readers of the audit log. The handling of its tasks is stored with it, so that it also applies to
 * a process that starts later.
 */
export function revokeKey(
  file: string,
  id: string,
  revokedTasks: RevokedTasks = 'cancel',
  now = new Date(),
): KeyRecord {
  const keys = readKeys(file);
  const known = knownKey(keys, id);
  const revoked: KeyRecord = { ...known, revokedAt: known.revokedAt ?? now.toISOString(), revokedTasks };
  writeKeys(
    file,
    keys.map((key) => (key === known ? revoked : key)),
  );
  return revoked;
}

export function knownKey(keys: readonly KeyRecord[], id: string): KeyRecord {
  const known = keys.find((key) => key.id === id);
  if (known !== undefined) return known;
  throw new PolypodError('not-found', `there is no key ${id}: list the keys to see which there are`);
}

/** Writes the file atomically and readable only by its owner. */
export function writeKeys(file: string, keys: readonly KeyRecord[]): void {
  keepOlderVersion(file);
  const draft = `${file}.${uuidv7()}`;
  const handle = openSync(draft, 'wx', 0o600);
  try {
    writeSync(handle, `${JSON.stringify({ version: VERSION, keys }, undefined, 2)}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

/** Backs up a file of an older version, for a program that cannot read the new one. */
function keepOlderVersion(file: string): void {
  const text = readIfThere(file);
  const version = numberOf(parseObject(text ?? '')?.version);
  if (text !== undefined && version !== undefined && version < VERSION)
    writeFileSync(`${file}.v${version}`, text, { mode: 0o600 });
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
