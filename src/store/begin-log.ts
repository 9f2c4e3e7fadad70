import { AppendLog, type LogOptions } from './append-log.ts';
import { fileFailure } from './failure.ts';
import { type Files, realFiles } from './files.ts';
import { sealRecords } from './line.ts';
import { appendFully, type LogFile } from './log-file.ts';

/**
 * Begins a log where there is no file yet, at once, for a caller who cannot wait. What cannot wait for the disk can promise
 * nothing about it, so this is a log that never syncs: a power cut may leave it empty or without its header.
 */
export function beginLog(path: string, options: Omit<LogOptions, 'durability' | 'syncWithinMs'>): AppendLog {
  const { files = realFiles, guard = () => {}, isPrivate = false } = options;
  const settings = { ...options, files, guard, isPrivate, durability: 'none', syncWithinMs: 0 } as const;
  try {
    guard();
    return new AppendLog(path, settings, begun(files, path, options.header));
  } catch (error) {
    throw fileFailure(path, 'begin', error);
  }
}

function begun(files: Files, path: string, header: string): LogFile {
  if (files.stat(path) !== undefined) throw new Error('there is a file already');
  try {
    const end = writeFirst(files, path, sealRecords([header]));
    const file = files.openToAppend(path);
    return { file, inode: file.state().inode, header, start: end, end, repair: undefined };
  } catch (error) {
    discard(files, path);
    throw error;
  }
}

/** Answers where the line ends. */
function writeFirst(files: Files, path: string, line: Uint8Array): number {
  const file = files.create(path);
  try {
    appendFully(file, line);
    return line.length;
  } finally {
    file.close();
  }
}

function discard(files: Files, path: string): void {
  try {
    files.unlink(path);
  } catch {
    // It may not be there; and what is told is why it could not be begun.
  }
}
