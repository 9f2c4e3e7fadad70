import { readdirSync } from 'node:fs';

/** The names in a directory, sorted; none if it does not exist yet. */
export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch {
    return [];
  }
}
