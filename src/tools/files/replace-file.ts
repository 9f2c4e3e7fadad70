import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PolypodError, systemCodeOf } from '../../base/index.ts';
import { type FileContent, readContent } from './file-content.ts';
import { ifThere } from './missing-file.ts';
import { descriptorPath, openUnmoved, placeOf } from './real-file.ts';
import type { ToolSurroundings } from '../tool.ts';

type Resolve = ToolSurroundings['resolve'];

/** What is where a file is about to be written. */
export type Before = { readonly type: 'nothing' } | { readonly type: 'directory' | 'special' } | FileContent;

/** A place in a directory for one file. */
export interface FileSpot {
  readonly before: Before;
  /** Puts a whole new file there, or changes nothing. Refuses if the old one was changed since we looked at it. */
  readonly replace: (content: string) => Promise<void>;
}

export interface SpotOptions {
  readonly path: string;
  readonly resolve: Resolve;
  /** Whether directories on the way are made when they are missing. */
  readonly makeDirectories: boolean;
  /** How much of an old file is looked at. */
  readonly mostBytes: number;
}

/**
 * Holds the real directory of a file open while it is looked at and replaced. All is done through that open directory
 * where the system allows it (Linux): a link that is swapped in for a directory in the meantime changes nothing.
 */
export async function atFileSpot<T>(
  { path, resolve, makeDirectories, mostBytes }: SpotOptions,
  signal: AbortSignal,
  use: (spot: FileSpot) => Promise<T>,
): Promise<T> {
  const real = await resolve(path, 'write');
  const directory = await openDirectory(dirname(real), makeDirectories ? 'make' : 'find', resolve);
  try {
    const base = (await placeOf(directory)) === undefined ? dirname(real) : descriptorPath(directory);
    const file = join(base, basename(real));
    signal.throwIfAborted();
    const { stats, before } = await look(file, mostBytes, signal);
    const replace = async (content: string): Promise<void> => {
      // What the file holds may have changed since the call was judged.
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
    return await openUnmoved(real, DIRECTORY_FLAGS, 'write', resolve);
  } catch (thrown) {
    if (missing === 'find' || systemCodeOf(thrown) !== 'ENOENT' || dirname(real) === real) throw thrown;
  }
  const parent = await openDirectory(dirname(real), missing, resolve);
  try {
    const base = (await placeOf(parent)) === undefined ? dirname(real) : descriptorPath(parent);
    const directory = join(base, basename(real));
    await unlessThere(mkdir(directory));
    return await open(directory, DIRECTORY_FLAGS);
  } finally {
    await parent.close();
  }
}

/** Somebody else may have made the directory meanwhile. */
async function unlessThere(making: Promise<unknown>): Promise<void> {
  try {
    await making;
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'EEXIST') throw thrown;
  }
}

interface Look {
  /** Of the file that is there. */
  readonly stats: Stats | undefined;
  readonly before: Before;
}

async function look(file: string, mostBytes: number, signal: AbortSignal): Promise<Look> {
  const handle = await ifThere(open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  if (handle === undefined) return { stats: undefined, before: { type: 'nothing' } };
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) return { stats, before: { type: 'directory' } };
    if (!stats.isFile()) return { stats, before: { type: 'special' } };
    return { stats, before: await readContent(handle, mostBytes, signal) };
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
  // Replacing would also work for a file that is write-protected, which is not what its owner meant.
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
    const mine = await handle.stat();
    if (mine.uid !== old.uid || mine.gid !== old.gid) await keepOwner(handle, old);
    await handle.chmod(old.mode & 0o7777);
  } finally {
    await handle.close();
  }
}

/** Only the superuser can give files away; for everybody else a file that they replace becomes theirs. */
async function keepOwner(handle: FileHandle, { uid, gid }: Stats): Promise<void> {
  try {
    await handle.chown(uid, gid);
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'EPERM') throw thrown;
  }
}

async function assertUnchanged(file: string, old: Stats | undefined): Promise<void> {
  const now = await ifThere(lstat(file));
  const same =
    now?.ino === old?.ino &&
    now?.dev === old?.dev &&
    now?.size === old?.size &&
    now?.mtimeMs === old?.mtimeMs;
  if (same) return;
  const why =
    'The file was changed by somebody else at the same moment, so nothing was written. Read it again first.';
  throw new PolypodError('conflict', why);
}

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
