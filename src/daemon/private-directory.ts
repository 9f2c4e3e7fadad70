import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { PolypodError } from '../base/index.ts';

/** Makes a directory that nobody else may look into, or makes one that is there such. */
export function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(directory);
  if (process.getuid !== undefined && uid !== process.getuid())
    throw new PolypodError('denied', `${directory} belongs to another user: choose a directory of your own`);
  if ((mode & 0o077) !== 0) chmodSync(directory, 0o700);
}
