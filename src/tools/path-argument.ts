import { resolve } from 'node:path';
import { shape } from '../base/index.ts';

/**
 * A path argument, taken literally. A leading `~` is rejected: the model means a home directory, and we would
 * create a directory of that name.
 */
export function pathArgument(description: string): shape.Shape<string> {
  const expected = 'a path, relative to the working directory or absolute; ~ is not expanded';
  return shape.withDescription(
    shape.text(expected, (path) => !/^~(?:\/|$)/.test(path) && !path.includes('\0')),
    description,
  );
}

/** Returns the absolute path without resolving links. */
export function absolutePath(path: string, cwd: string): string {
  return resolve(cwd, path);
}

/** Text that must not be empty, but may be blank. */
export function nonEmptyText(description: string): shape.Shape<string> {
  return shape.withDescription(
    shape.refined(shape.anyText, (value) => (value === '' ? 'must not be empty' : undefined)),
    description,
  );
}
