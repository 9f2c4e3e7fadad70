import { readdirSync } from 'node:fs';
import { tryOrUndefined } from './try-or-undefined.ts';

/** The names in a directory, sorted; none if it does not exist or cannot be read. */
export function namesIn(directory: string): readonly string[] {
  return (tryOrUndefined(() => readdirSync(directory)) ?? []).toSorted();
}
