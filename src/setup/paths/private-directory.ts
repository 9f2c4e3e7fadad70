import { chmodSync, lstatSync } from 'node:fs';
import { ensurePrivateDirectory as makeOrRefuse } from '../../wire/index.ts';

/** Makes a directory that nobody else may look into, or makes one of this user's that is there such. */
export function makePrivate(directory: string): void {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  const isOurs = process.getuid === undefined || found?.uid === process.getuid();
  if (found !== undefined && isOurs && (found.mode & 0o077) !== 0) chmodSync(directory, 0o700);
  makeOrRefuse(directory);
}
