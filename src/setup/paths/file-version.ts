import { statSync } from 'node:fs';

/** Identifies the content of a file; another value means that the file was changed or replaced. Empty if it is missing. */
export function fileVersion(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}
