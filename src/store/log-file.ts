import { basename, dirname } from 'node:path';
import { PolypodError } from '../base/index.ts';
import { settleDoubt } from './doubt.ts';
import { fileFailure } from './failure.ts';
import type { Files, OpenFile } from './files.ts';
import { sealRecords, verifyLine } from './line.ts';
import { type LogLine, readFirstLine, readTail } from './read-lines.ts';

/** How a log's file begins and which of its bytes a crash may take. */
export interface LogKind {
  /** The record that a new file begins with. */
  readonly header: string;
  /** Whether a file that begins with this record is ours to write to. May refuse with a sentence of its own. */
  isHeader(text: string): boolean;
}

/**
 * What was done to the end of a file so that it can be appended to: bytes that were no whole line were `cut` off, or a
 * last line that only lacked its newline was `completed`.
 */
export interface Repair {
  readonly kind: 'cut' | 'completed';
  readonly from: number;
  readonly to: number;
}

/** A log's file, open, its end sound. */
export interface LogFile {
  readonly file: OpenFile;
  readonly inode: number;
  /** The header's text, and the offset of the first record after it. */
  readonly header: string;
  readonly start: number;
  readonly end: number;
  readonly repair: Repair | undefined;
}

/** Opens the file, which is made if there is none, and repairs its end. One without a valid header is left untouched. */
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
    const header = headerIn(first, path, kind);
    if (isSynced) await settleDoubt(files, path);
    return await repaired(files, path, header, isSynced);
  } catch (error) {
    throw fileFailure(path, 'open', error);
  }
}

/**
 * Puts a new file with nothing but a header at the path, in place of the one there. It gets its name only when it is
 * whole, so that no crash leaves half a header behind, with which the file could never be written to again.
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
    appendFully(file, sealRecords([header]));
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

/** All of the bytes: a write that took only a part of them is gone on with. */
export function appendFully(file: OpenFile, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; )
    written += file.append(written === 0 ? bytes : bytes.subarray(written));
}

/** Takes back what an append left behind when it failed half-way. False if that fails as well. */
export function cutBack(file: OpenFile, end: number): boolean {
  try {
    file.truncate(end);
    return true;
  } catch {
    return false;
  }
}

export function cutFile(files: Files, path: string, end: number): void {
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

function headerIn(line: LogLine | undefined, path: string, kind: LogKind): Header {
  if (line?.status === 'ok' || line?.status === 'unverified')
    if (kind.isHeader(line.text)) return { text: line.text, end: line.end };
  throw new PolypodError(
    'conflict',
    `${basename(path)} does not begin with the header it should have, so it is left untouched. Move it away or choose another file.`,
  );
}

async function repaired(files: Files, path: string, header: Header, isSynced: boolean): Promise<LogFile> {
  const file = files.openToAppend(path);
  try {
    const { inode, size } = file.state();
    const soundEnd = await endOfSoundLines(files, path, header.end);
    const repair = await repairEnd(file, soundEnd, size);
    // What a process wrote and did not live to sync is about to be taken for a fact, and the same goes for its name.
    if (isSynced) {
      await file.sync();
      await files.syncDirectory(dirname(path));
    }
    const end = repair?.kind === 'completed' ? repair.to : soundEnd;
    return { file, inode, header: header.text, start: header.end, end, repair };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Where the last line ends that can be trusted. Only the end of the file is read, more of it while nothing there is sound. */
async function endOfSoundLines(files: Files, path: string, start: number): Promise<number> {
  for (let count = 2; ; count *= 8) {
    const lines = await readTail(files, path, count, { from: start, to: Number.POSITIVE_INFINITY });
    const sound = lines.findLast(({ status }) => status === 'ok' || status === 'unverified');
    if (sound !== undefined) return sound.end;
    if (lines.length < count) return start;
  }
}

async function repairEnd(file: OpenFile, soundEnd: number, size: number): Promise<Repair | undefined> {
  if (soundEnd === size) return undefined;
  const rest = Buffer.alloc(size - soundEnd);
  await file.read(rest, soundEnd);
  // Some programs do not end their last line; to cut it off would lose an entry.
  if (!rest.includes('\n') && verifyLine(rest) !== 'corrupt') {
    appendFully(file, Buffer.from('\n'));
    return { kind: 'completed', from: soundEnd, to: size + 1 };
  }
  file.truncate(soundEnd);
  return { kind: 'cut', from: soundEnd, to: size };
}

function discard(files: Files, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // It may not be there, and the next draft overwrites it anyway.
  }
}
