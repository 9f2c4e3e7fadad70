import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import { type KeyRecord, mintKey } from './key.ts';
import { knownKey, readKeys, writeKeys } from './key-file.ts';
import { keyState } from './key-state.ts';

export interface Rotation {
  /** How long the old key stays valid. */
  readonly overlapMs: number;
  /** When the new key expires; by default after the same lifetime as the old one. */
  readonly expiresAt?: string | undefined;
}

/** Creates a key with the same permissions as another one, which expires after the overlap. */
export function rotateKey(
  file: string,
  id: string,
  { overlapMs, expiresAt }: Rotation,
  now = new Date(),
): { readonly record: KeyRecord; readonly key: string; readonly old: KeyRecord } {
  const keys = readKeys(file);
  const known = knownKey(keys, id);
  const state = keyState(known, now.getTime());
  if (state !== 'good')
    throw new PolypodError('conflict', `the key ${id} is ${state}: make a new one with polypod keys create`);
  if (known.rotatedTo !== undefined)
    throw new PolypodError(
      'conflict',
      `the key ${id} was rotated already: its successor is ${known.rotatedTo}, rotate that one`,
    );
  const minted = mintKey();
  const { hash: _, expiresAt: before, rotatedFrom: _from, ...same } = known;
  const next = expiresAt ?? sameLife(known, now);
  const record: KeyRecord = {
    ...same,
    id: minted.id,
    hash: minted.hash,
    createdAt: now.toISOString(),
    ...withoutUndefined({ expiresAt: next }),
    rotatedFrom: id,
  };
  const end = new Date(now.getTime() + overlapMs).toISOString();
  const old: KeyRecord = {
    ...known,
    expiresAt: before !== undefined && before < end ? before : end,
    rotatedTo: record.id,
  };
  writeKeys(file, [...keys.map((key) => (key === known ? old : key)), record]);
  return { record, key: minted.key, old };
}

function sameLife({ createdAt, expiresAt }: KeyRecord, now: Date): string | undefined {
  if (expiresAt === undefined) return undefined;
  return new Date(now.getTime() + Date.parse(expiresAt) - Date.parse(createdAt)).toISOString();
}
