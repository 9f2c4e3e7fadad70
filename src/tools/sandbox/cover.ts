import { realpathSync, statSync } from 'node:fs';
import type { Mount } from './mount.ts';

/** Hides what is at a path, at its real location; undefined where nothing is. */
export function coverOf(path: string): Mount | undefined {
  try {
    const target = realpathSync(path);
    return { type: statSync(target).isDirectory() ? 'empty-directory' : 'empty-file', target };
  } catch {
    // It does not exist, or nobody may look at it, the command included.
    return undefined;
  }
}
