import { chmodSync, lstatSync } from 'node:fs';
import { ensurePrivateDirectory as makeOrRefuse } from '../../wire/index.ts';

/** Creates a directory with access only for this user, or restricts the access to an existing one. */
export function makePrivateDirectory(directory: string): void {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  const isOurs = process.getuid === undefined || found?.uid === process.getuid();
  if (found !== undefined && isOurs && (found.mode & 0o077) !== 0) chmodSync(directory, 0o700);
  makeOrRefuse(directory);
}
