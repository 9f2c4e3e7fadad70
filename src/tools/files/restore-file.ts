import { rmdir } from 'node:fs/promises';
import { PolypodError, systemCodeOf } from '../../base/index.ts';
import type { ToolContext } from '../tool.ts';
import type { FileVersion, RecordFileWrite } from '../file-version.ts';
import { type FileTarget, withFileTarget } from './replace-file.ts';

type Resolve = ToolContext['resolve'];

/** Returns the file at a real path; undefined if there is none. Rejects if the path leads elsewhere or to no regular file. */
export async function currentVersion(path: string, resolve: Resolve): Promise<FileVersion | undefined> {
  try {
    return await withFileAt(path, { resolve, makeDirectories: false }, async ({ version }) => version);
  } catch (thrown) {
    // Its directory was removed.
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

export interface FileChangeOptions {
  readonly resolve: Resolve;
  readonly record: RecordFileWrite;
  /** Rejects if the file must not be changed, given what exists now. */
  readonly check: (current: FileVersion | undefined) => void;
}

/** Gives the file at a real path another version, or removes it, atomically. Missing directories are created. */
export async function changeFile(
  path: string,
  version: (FileVersion & { readonly bytes: Uint8Array }) | undefined,
  { resolve, record, check }: FileChangeOptions,
): Promise<void> {
  await withFileAt(path, { resolve, record, makeDirectories: version !== undefined }, async (target) => {
    check(target.version);
    if (version === undefined) await target.remove();
    else await target.replace(version.bytes, version.mode);
  });
}

/** Removes a directory at a real path, unless something is in it. */
export async function removeIfEmpty(path: string, resolve: Resolve): Promise<void> {
  try {
    if ((await resolve(path, 'write')) === path) await rmdir(path);
  } catch {
    // Not empty, already removed, or not allowed: the directory stays.
  }
}

async function withFileAt<T>(
  path: string,
  options: {
    readonly resolve: Resolve;
    readonly record?: RecordFileWrite;
    readonly makeDirectories: boolean;
  },
  use: (target: FileTarget) => Promise<T>,
): Promise<T> {
  return withFileTarget({ ...options, path, mostBytes: 0 }, NEVER, async (target) => {
    // The recorded path has no links: one that was put there since must not redirect the change.
    if (target.real !== path)
      throw new PolypodError('conflict', `it now leads to ${target.real} through a symbolic link`);
    if (target.before.type === 'directory' || target.before.type === 'special')
      throw new PolypodError('conflict', 'it is no longer a regular file');
    return use(target);
  });
}

const NEVER = new AbortController().signal;
