import { resolve } from 'node:path';
import { shape } from '../base/index.ts';

/**
 * A path that a model wrote, as it stands. A leading `~` is refused: whoever writes it means a home directory, and we
 * would make a directory of that name.
 */
export function pathArgument(description: string): shape.Shape<string> {
  const must = 'a path, relative to the working directory or absolute; ~ is not expanded';
  return shape.described(
    shape.text(must, (path) => !/^~(?:\/|$)/.test(path) && !path.includes('\0')),
    description,
  );
}

/** The path from the root on; links and what they hide are not looked at. */
export function absolutePath(path: string, cwd: string): string {
  return resolve(cwd, path);
}

/** Text that may be blank, but is there. */
export function someText(description: string): shape.Shape<string> {
  return shape.described(
    shape.ruled(shape.anyText, (value) => (value === '' ? 'must not be empty' : undefined)),
    description,
  );
}
