import { statSync } from 'node:fs';
import { messageOf } from '../../base/index.ts';

/** Identifies the content of a file; another value means that the file was changed or replaced. Empty if it is missing. */
export function fileVersion(file: string): string {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : `${found.ino} ${found.mtimeNs} ${found.size}`;
  } catch (thrown) {
    // Links in a circle, or a directory without permission. The reader of the file reports it.
    return messageOf(thrown);
  }
}
