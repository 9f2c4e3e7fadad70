import { readdirSync } from 'node:fs';

/** The names in a directory; none if it does not exist. */
export function directoryNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
