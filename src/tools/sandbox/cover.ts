import { realpathSync, statSync } from 'node:fs';
import type { Mount } from './mount.ts';

/** Returns the mount that hides a path at its real location; undefined if it does not exist. */
export function coverMount(path: string): Mount | undefined {
  try {
    const target = realpathSync(path);
    return { type: statSync(target).isDirectory() ? 'empty-directory' : 'empty-file', target };
  } catch {
    // It does not exist, or is not accessible, not even to the command.
    return undefined;
  }
}
