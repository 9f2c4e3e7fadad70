import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { PolypodError, shape, systemCodeOf, tryParse, uuidv7 } from '../../../base/index.ts';
import { KEY_RECORD, type KeyLimits, type KeyRecord, mintKey, type Scope } from './key.ts';

const VERSION = 1;
const KEY_FILE = shape.fields({ version: shape.count(1), keys: shape.listOf(KEY_RECORD) }, {});

export interface NewKey {
  readonly owner: string;
  readonly scopes: readonly Scope[];
  readonly limits?: KeyLimits;
  readonly grants?: readonly string[];
}

/** The keys of a file, revoked ones too; none if it is not there. Refuses one that cannot be read: nobody is let in by mistake. */
export function readKeys(file: string): readonly KeyRecord[] {
  const text = readIfThere(file);
  if (text === undefined) return [];
  const problems: shape.Problem[] = [];
  const read = KEY_FILE.read(tryParse(text), [], (problem) => problems.push(problem));
  if (read === undefined) throw new PolypodError('bad-request', shape.sentence(file, problems));
  if (read.version > VERSION)
    throw new PolypodError('bad-request', `${file} is of a newer version: update polypod to use it`);
  return read.keys;
}

/** Makes a key and keeps its hash. The answer is the only place where the key itself stands. */
export function createKey(
  file: string,
  { owner, scopes, limits, grants }: NewKey,
  now = new Date(),
): { readonly record: KeyRecord; readonly key: string } {
  const { id, key, hash } = mintKey();
  const record: KeyRecord = {
    id,
    owner,
    scopes,
    hash,
    createdAt: now.toISOString(),
    ...(limits && { limits }),
    ...(grants && { grants }),
  };
  writeKeys(file, [...readKeys(file), record]);
  return { record, key };
}

/** From now on the key opens nothing; it stays in the file, for whoever reads the audit log. */
export function revokeKey(file: string, id: string, now = new Date()): KeyRecord {
  const keys = readKeys(file);
  const known = keys.find((key) => key.id === id);
  if (known === undefined)
    throw new PolypodError('not-found', `there is no key ${id}: list the keys to see which there are`);
  const revoked = { ...known, revokedAt: known.revokedAt ?? now.toISOString() };
  writeKeys(
    file,
    keys.map((key) => (key === known ? revoked : key)),
  );
  return revoked;
}

/** Whole or not at all, and for its owner's eyes only. */
function writeKeys(file: string, keys: readonly KeyRecord[]): void {
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

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
