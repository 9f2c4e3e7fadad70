import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PolypodError, systemCodeOf } from '../../base/index.ts';
import { type FileContent, readContent } from './file-content.ts';
import { ifExists } from './missing-file.ts';
import { descriptorPath, openChecked, openFilePath } from './real-file.ts';
import type { ToolContext } from '../tool.ts';

type Resolve = ToolContext['resolve'];

/** What exists at the path of a file to be written. */
export type ExistingFile =
  | { readonly type: 'nothing' }
  | { readonly type: 'directory' | 'special' }
  | FileContent;

/** The directory entry of one file. */
export interface FileTarget {
  readonly before: ExistingFile;
  /** Replaces the file atomically. Fails if the old file changed since it was read. */
  readonly replace: (content: string) => Promise<void>;
}

export interface FileTargetOptions {
  readonly path: string;
  readonly resolve: Resolve;
  /** Whether missing parent directories are created. */
  readonly makeDirectories: boolean;
  /** How many bytes of an old file are read. */
  readonly mostBytes: number;
}

/**
 * Keeps the real directory of a file open while it is read and replaced. Where the system allows it (Linux),
 * all operations go through that open directory, so replacing a directory by a link has no effect.
 */
export async function withFileTarget<T>(
  { path, resolve, makeDirectories, mostBytes: maxBytes }: FileTargetOptions,
  signal: AbortSignal,
  use: (spot: FileTarget) => Promise<T>,
): Promise<T> {
  const real = await resolve(path, 'write');
  const directory = await openDirectory(dirname(real), makeDirectories ? 'make' : 'find', resolve);
  try {
    const base = (await openFilePath(directory)) === undefined ? dirname(real) : descriptorPath(directory);
    const file = join(base, basename(real));
    signal.throwIfAborted();
    const { stats, before } = await readState(file, maxBytes, signal);
    const replace = async (content: string): Promise<void> => {
      // The content may have changed since the policy check.
      await resolve(path, 'write', content);
      await replaceFile(file, stats, content, signal);
    };
    return await use({ before, replace });
  } finally {
    await directory.close();
  }
}

async function openDirectory(real: string, missing: 'make' | 'find', resolve: Resolve): Promise<FileHandle> {
  try {
    return await openChecked(real, DIRECTORY_FLAGS, 'write', resolve);
  } catch (thrown) {
    if (missing === 'find' || systemCodeOf(thrown) !== 'ENOENT' || dirname(real) === real) throw thrown;
  }
  const parent = await openDirectory(dirname(real), missing, resolve);
  try {
    const base = (await openFilePath(parent)) === undefined ? dirname(real) : descriptorPath(parent);
    const directory = join(base, basename(real));
    await ignoreExisting(mkdir(directory));
    return await open(directory, DIRECTORY_FLAGS);
  } finally {
    await parent.close();
  }
}

/** Another process may have created the directory meanwhile. */
async function ignoreExisting(making: Promise<unknown>): Promise<void> {
  try {
    await making;
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'EEXIST') throw thrown;
  }
}

interface FileState {
  /** Of the existing file. */
  readonly stats: Stats | undefined;
  readonly before: ExistingFile;
}

async function readState(file: string, maxBytes: number, signal: AbortSignal): Promise<FileState> {
  const handle = await ifExists(open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  if (handle === undefined) return { stats: undefined, before: { type: 'nothing' } };
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) return { stats, before: { type: 'directory' } };
    if (!stats.isFile()) return { stats, before: { type: 'special' } };
    return { stats, before: await readContent(handle, maxBytes, signal) };
  } finally {
    await handle.close();
  }
}

async function replaceFile(
  file: string,
  old: Stats | undefined,
  content: string,
  signal: AbortSignal,
): Promise<void> {
  // Replacing would also work for a write-protected file, which its owner did not intend.
  if (old !== undefined) await access(file, constants.W_OK);
  const temporary = join(dirname(file), `.polypod-${randomUUID()}`);
  try {
    await writeNew(temporary, old, content);
    signal.throwIfAborted();
    await assertUnchanged(file, old);
    await rename(temporary, file);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

async function writeNew(file: string, old: Stats | undefined, content: string): Promise<void> {
  const handle = await open(file, 'wx');
  try {
    await handle.writeFile(content);
    if (old === undefined) return;
    const written = await handle.stat();
    if (written.uid !== old.uid || written.gid !== old.gid) await keepOwner(handle, old);
    await handle.chmod(old.mode & 0o7777);
  } finally {
    await handle.close();
  }
}

/** Only root can change a file's owner; for other users a replaced file becomes theirs. */
async function keepOwner(handle: FileHandle, { uid, gid }: Stats): Promise<void> {
  try {
    await handle.chown(uid, gid);
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'EPERM') throw thrown;
  }
}

async function assertUnchanged(file: string, old: Stats | undefined): Promise<void> {
  const current = await ifExists(lstat(file));
  const isSame =
    current?.ino === old?.ino &&
    current?.dev === old?.dev &&
    current?.size === old?.size &&
    current?.mtimeMs === old?.mtimeMs;
  if (isSame) return;
  const why =
    'The file was changed by another process at the same moment, so nothing was written. Read it again first.';
  throw new PolypodError('conflict', why);
}

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
