import { basename, dirname } from 'node:path';
import { PolypodError } from '../base/index.ts';
import { resyncFile } from './unsynced.ts';
import { fileFailure } from './failure.ts';
import type { Files, OpenFile } from './files.ts';
import { sealRecords, verifyLine } from './line.ts';
import { type LogLine, readFirstLine, readTail } from './read-lines.ts';

/** The header of a kind of log. */
export interface LogKind {
  /** The first record of a new file. */
  readonly header: string;
  /** Whether a file with this first record may be written to. May throw its own error. */
  isHeader(text: string): boolean;
}

/**
 * The repair of the end of a file when it was opened: bytes after the last complete line were `cut`, or a last line without
 * a newline was `completed`.
 */
export interface Repair {
  readonly kind: 'cut' | 'completed';
  readonly from: number;
  readonly to: number;
}

/** An open log file whose end is intact. */
export interface LogFile {
  readonly file: OpenFile;
  readonly inode: number;
  /** The header's text, and the offset of the first record after it. */
  readonly header: string;
  readonly start: number;
  readonly end: number;
  readonly repair: Repair | undefined;
}

/** Opens or creates the file and repairs its end. A file without a valid header is not modified. */
export async function openLogFile(
  files: Files,
  path: string,
  kind: LogKind,
  isSynced: boolean,
): Promise<LogFile> {
  try {
    let first = files.stat(path) === undefined ? undefined : await readFirstLine(files, path);
    if (first === undefined) {
      await createLogFile(files, path, kind.header, isSynced);
      first = await readFirstLine(files, path);
    }
    const header = validHeader(first, path, kind);
    if (isSynced) await resyncFile(files, path);
    return await openRepaired(files, path, header, isSynced);
  } catch (error) {
    throw fileFailure(path, 'open', error);
  }
}

/**
 * Creates a file with only a header, replacing the existing one. It is renamed to its path only when it is complete, so that
 * a crash never leaves a partial header, which would make the file unusable.
 */
export async function createLogFile(
  files: Files,
  path: string,
  header: string,
  isSynced: boolean,
): Promise<void> {
  const draft = `${path}.new`;
  const file = files.create(draft);
  try {
    appendAll(file, sealRecords([header]));
    if (isSynced) await file.sync();
  } catch (error) {
    discard(files, draft);
    throw error;
  } finally {
    file.close();
  }
  files.rename(draft, path);
  if (isSynced) await files.syncDirectory(dirname(path));
}

/** Appends all bytes, continuing after partial writes. */
export function appendAll(file: OpenFile, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; )
    written += file.append(written === 0 ? bytes : bytes.subarray(written));
}

/** Removes the remains of a failed append. Returns false if that fails as well. */
export function tryTruncate(file: OpenFile, end: number): boolean {
  try {
    file.truncate(end);
    return true;
  } catch {
    return false;
  }
}

export function truncateFile(files: Files, path: string, end: number): void {
  const file = files.openToUpdate(path);
  try {
    file.truncate(end);
  } finally {
    file.close();
  }
}

interface Header {
  readonly text: string;
  readonly end: number;
}

function validHeader(line: LogLine | undefined, path: string, kind: LogKind): Header {
  if (line?.status === 'ok' || line?.status === 'unverified')
    if (kind.isHeader(line.text)) return { text: line.text, end: line.end };
  throw new PolypodError(
    'conflict',
    `${basename(path)} does not start with the expected header, so it is left untouched. Move it away or choose another file.`,
  );
}

async function openRepaired(files: Files, path: string, header: Header, isSynced: boolean): Promise<LogFile> {
  const file = files.openToAppend(path);
  try {
    const { inode, size } = file.state();
    const validEnd = await endOfValidLines(files, path, header.end);
    const repair = await repairEnd(file, validEnd, size);
    // A previous process may have written the file and its name without a sync; from now on they count as stored.
    if (isSynced) {
      await file.sync();
      await files.syncDirectory(dirname(path));
    }
    const end = repair?.kind === 'completed' ? repair.to : validEnd;
    return { file, inode, header: header.text, start: header.end, end, repair };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** The end of the last valid line. Reads only the end of the file, and more of it as long as it finds no valid line. */
async function endOfValidLines(files: Files, path: string, start: number): Promise<number> {
  for (let count = 2; ; count *= 8) {
    const lines = await readTail(files, path, count, { from: start, to: Number.POSITIVE_INFINITY });
    const valid = lines.findLast(({ status }) => status === 'ok' || status === 'unverified');
    if (valid !== undefined) return valid.end;
    if (lines.length < count) return start;
  }
}

async function repairEnd(file: OpenFile, validEnd: number, size: number): Promise<Repair | undefined> {
  if (validEnd === size) return undefined;
  const rest = Buffer.alloc(size - validEnd);
  await file.read(rest, validEnd);
  // Some programs write no newline after the last line; cutting it off would lose an entry.
  if (!rest.includes('\n') && verifyLine(rest) !== 'corrupt') {
    appendAll(file, Buffer.from('\n'));
    return { kind: 'completed', from: validEnd, to: size + 1 };
  }
  file.truncate(validEnd);
  return { kind: 'cut', from: validEnd, to: size };
}

/** Removes a file that is not needed, if it exists. */
export function discard(files: Files, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // The next file with this name replaces it, or the error that is reported is the original one.
  }
}
