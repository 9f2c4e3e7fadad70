import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PolypodError, systemCodeOf } from '../../base/index.ts';
import { clientText, isSameText, MAX_CLIENT_BYTES } from './client-content.ts';
import { classifyContent, type FileContent, isText, readBytes } from './file-content.ts';
import type { ClientFiles } from '../client-services.ts';
import type { FileVersion, RecordFileWrite } from '../file-version.ts';
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
  /** Absolute, without links. */
  readonly real: string;
  readonly before: ExistingFile;
  /** The regular file that exists. */
  readonly version: FileVersion | undefined;
  /**
   * Replaces the file atomically. Fails if the old file changed since it was read. Keeps its mode unless one is given. Returns
   * notes for the model.
   */
  readonly replace: (content: string | Uint8Array, mode?: number) => Promise<readonly string[]>;
  /** Removes the file. Fails if it changed since it was read. */
  readonly remove: () => Promise<void>;
}

export interface FileTargetOptions {
  readonly path: string;
  readonly resolve: Resolve;
  /** Whether missing parent directories are created. */
  readonly makeDirectories: boolean;
  /** How many bytes of an old file are classified; a longer one is `too-large`. */
  readonly mostBytes: number;
  /** Called right before the file changes. The file stays as it is if this rejects. */
  readonly record?: RecordFileWrite | undefined;
  /** Has text files with unsaved changes, and writes them. */
  readonly client?: ClientFiles | undefined;
}

/**
 * Keeps the real directory of a file open while it is read and replaced. Where the system allows it (Linux),
 * all operations go through that open directory, so replacing a directory by a link has no effect.
 */
export async function withFileTarget<T>(
  { path, resolve, makeDirectories, mostBytes: maxBytes, record, client }: FileTargetOptions,
  signal: AbortSignal,
  use: (spot: FileTarget) => Promise<T>,
): Promise<T> {
  const real = await resolve(path, 'write');
  const made: string[] = [];
  const directory = await openDirectory(dirname(real), makeDirectories ? made : undefined, resolve);
  try {
    const base = (await openFilePath(directory)) === undefined ? dirname(real) : descriptorPath(directory);
    const file = join(base, basename(real));
    signal.throwIfAborted();
    const onDisk = await readState(file, maxBytes, signal);
    const { stats } = onDisk;
    const unsaved = await unsavedState(onDisk, { client, path, resolve }, maxBytes, signal);
    const { before, version } = unsaved ?? onDisk;
    const replace = async (content: string | Uint8Array, mode?: number): Promise<readonly string[]> => {
      const bytes = Buffer.from(content);
      // The content may have changed since the policy check.
      const judged = await resolve(path, 'write', isText(bytes) ? bytes.toString() : undefined);
      // A client that has no such file does not write it either.
      const isAbsent = client?.read !== undefined && unsaved === undefined && stats !== undefined;
      if (client?.write !== undefined && !isAbsent && isForClient(onDisk.before, bytes)) {
        const directories = made.length > 0 ? { directories: made } : {};
        const save = (from: FileVersion | undefined, after: FileVersion) =>
          record?.({ path: real, before: from, after, ...directories });
        const state = () => readState(file, maxBytes, signal);
        const { write } = client;
        // On disk the open directory is used; the client uses the path.
        if (judged !== real) throw new PolypodError('denied', `${real} was moved; try again`);
        if (stats !== undefined) await access(file, constants.W_OK);
        const notes = await writeInClient({ real, bytes, version, onDisk, write, save, state }, signal);
        if (notes !== 'absent') return notes;
      }
      if (unsaved?.isSame === false) throw unsavedChanges(real);
      await replaceFile(file, { old: stats, bytes, mode }, signal, async (written) => {
        const after = { bytes, mode: written };
        await record?.({ path: real, before: version, after, ...(made.length > 0 && { directories: made }) });
      });
      return [];
    };
    const remove = async (): Promise<void> => {
      await resolve(path, 'write');
      await record?.({ path: real, before: version, after: undefined });
      await assertUnchanged(file, stats);
      await rm(file);
    };
    return await use({ real, before, version, replace, remove });
  } finally {
    await directory.close();
  }
}

interface UnsavedState {
  /** Whether the file on disk has the same text. */
  readonly isSame: boolean;
  readonly before: ExistingFile;
  readonly version: FileVersion | undefined;
}

/**
 * The file as the client has it; undefined if the client has the same text as the file on disk, or none. If the client also
 * writes, its text counts even if it is the same, because its line endings may differ.
 */
async function unsavedState(
  { stats, before, version }: FileState,
  { client, path, resolve }: Pick<FileTargetOptions, 'client' | 'path' | 'resolve'>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<UnsavedState | undefined> {
  if (before.type !== 'text' && before.type !== 'nothing') return undefined;
  if (stats !== undefined && stats.size > MAX_CLIENT_BYTES) return undefined;
  const isOnDisk = before.type === 'text';
  const text = await clientText({ client, path, access: 'write', resolve, isOnDisk }, signal);
  if (text === undefined) return undefined;
  const isSame = before.type === 'text' && isSameText(text, before.text);
  if (isSame && client?.write === undefined) return undefined;
  const bytes = Buffer.from(text);
  const saved = bytes.length > MAX_SAVED_BYTES ? undefined : bytes;
  return {
    isSame,
    before: bytes.length > maxBytes ? { type: 'too-large' } : classifyContent(bytes),
    version: isSame ? version : { bytes: saved, mode: (stats?.mode ?? NEW_FILE_MODE) & 0o7777 },
  };
}

/** Clients write text only. A file that is too large for them, or no text, is written on disk. */
function isForClient(onDisk: ExistingFile, bytes: Buffer): boolean {
  return (
    (onDisk.type === 'text' || onDisk.type === 'nothing') && bytes.length <= MAX_CLIENT_BYTES && isText(bytes)
  );
}

interface ClientWrite {
  readonly real: string;
  readonly bytes: Buffer;
  readonly version: FileVersion | undefined;
  readonly onDisk: FileState;
  readonly write: NonNullable<ClientFiles['write']>;
  readonly save: (before: FileVersion | undefined, after: FileVersion) => Promise<void> | undefined;
  /** Reads the file on disk. */
  readonly state: () => Promise<FileState>;
}

/** Writes through the client. If that fails for another reason than an unknown file, the file on disk is not written: the client may have unsaved changes. */
async function writeInClient(
  { real, bytes, version, onDisk, write, save, state }: ClientWrite,
  signal: AbortSignal,
): Promise<readonly string[] | 'absent'> {
  const sent = { bytes, mode: version?.mode ?? NEW_FILE_MODE };
  await save(version, sent);
  const answer = await write(real, bytes.toString(), signal);
  if (answer.type === 'absent') return answer.type;
  if (answer.type === 'failed')
    throw new PolypodError('unreachable', `The editor did not write ${real}: ${answer.reason}`);
  const found = (await state()).version;
  const current = found?.bytes && Buffer.from(found.bytes);
  if (current?.equals(bytes)) return [];
  const old = onDisk.version?.bytes;
  if (found === undefined || current === undefined || (old !== undefined && current.equals(old)))
    return ['[the editor has not saved the file yet: commands still see its old content]'];
  // The version that an undo finds.
  await save(sent, found);
  return isSameText(current.toString(), bytes.toString())
    ? []
    : ['[the editor changed the content when it saved it, for example to format it: read it again]'];
}

function unsavedChanges(real: string): PolypodError {
  return new PolypodError(
    'conflict',
    `${real} has unsaved changes in the editor, so nothing was written. Ask the user to save it first.`,
  );
}

/** `made` receives the directories that were created; without it, none are. */
async function openDirectory(
  real: string,
  made: string[] | undefined,
  resolve: Resolve,
): Promise<FileHandle> {
  try {
    return await openChecked(real, DIRECTORY_FLAGS, 'write', resolve);
  } catch (thrown) {
    if (made === undefined || systemCodeOf(thrown) !== 'ENOENT' || dirname(real) === real) throw thrown;
  }
  const parent = await openDirectory(dirname(real), made, resolve);
  try {
    const base = (await openFilePath(parent)) === undefined ? dirname(real) : descriptorPath(parent);
    const directory = join(base, basename(real));
    if (await isCreated(mkdir(directory))) made.push(real);
    return await open(directory, DIRECTORY_FLAGS);
  } finally {
    await parent.close();
  }
}

/** Returns false if another process has created the directory meanwhile. */
async function isCreated(making: Promise<unknown>): Promise<boolean> {
  try {
    await making;
    return true;
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'EEXIST') throw thrown;
    return false;
  }
}

interface FileState {
  /** Of the existing file. */
  readonly stats: Stats | undefined;
  readonly before: ExistingFile;
  readonly version?: FileVersion;
}

async function readState(file: string, maxBytes: number, signal: AbortSignal): Promise<FileState> {
  const handle = await ifExists(open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  if (handle === undefined) return { stats: undefined, before: { type: 'nothing' } };
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) return { stats, before: { type: 'directory' } };
    if (!stats.isFile()) return { stats, before: { type: 'special' } };
    const bytes = await readBytes(handle, Math.max(maxBytes, MAX_SAVED_BYTES) + 1, signal);
    const before = bytes.length > maxBytes ? ({ type: 'too-large' } as const) : classifyContent(bytes);
    const saved = bytes.length > MAX_SAVED_BYTES ? undefined : bytes;
    return { stats, before, version: { bytes: saved, mode: stats.mode & 0o7777 } };
  } finally {
    await handle.close();
  }
}

interface Replacement {
  readonly old: Stats | undefined;
  readonly bytes: Uint8Array;
  /** By default that of the old file. */
  readonly mode: number | undefined;
}

/** `onReady` receives the mode of the new file before that file gets its name. */
async function replaceFile(
  file: string,
  { old, bytes, mode }: Replacement,
  signal: AbortSignal,
  onReady: (mode: number) => Promise<void>,
): Promise<void> {
  // Replacing would also work for a write-protected file, which its owner did not intend.
  if (old !== undefined) await access(file, constants.W_OK);
  const temporary = join(dirname(file), `.polypod-${randomUUID()}`);
  try {
    const written = await writeNew(temporary, { old, bytes, mode });
    signal.throwIfAborted();
    await onReady(written);
    await assertUnchanged(file, old);
    await rename(temporary, file);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

/** Returns the mode of the new file. */
async function writeNew(file: string, { old, bytes, mode }: Replacement): Promise<number> {
  const known = mode ?? old?.mode;
  // With this mode from the start: the content may be for its owner only.
  const handle = await open(file, 'wx', known === undefined ? undefined : known & 0o777);
  try {
    await handle.writeFile(bytes);
    const written = await handle.stat();
    if (old !== undefined && (written.uid !== old.uid || written.gid !== old.gid))
      await keepOwner(handle, old);
    const wanted = (known ?? written.mode) & 0o7777;
    if (known !== undefined) await handle.chmod(wanted);
    return wanted;
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

/** Longer files are changed without a saved version, so their change cannot be undone. */
const MAX_SAVED_BYTES = 16 * 1024 * 1024;

/** The mode of a new file of a client, until it has been saved. */
const NEW_FILE_MODE = 0o644;

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
