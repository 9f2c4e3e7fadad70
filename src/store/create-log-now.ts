import { AppendLog, type LogOptions } from './append-log.ts';
import { fileFailure } from './failure.ts';
import { type Files, realFiles } from './files.ts';
import { sealRecords } from './line.ts';
import { appendAll, discard, type LogFile } from './log-file.ts';

/**
 * Creates a log synchronously; the file must not exist. Because the caller cannot wait for the disk, the log is never
 * synced: a power cut may leave it empty or without its header.
 */
export function createLogNow(
  path: string,
  options: Omit<LogOptions, 'durability' | 'syncWithinMs'>,
): AppendLog {
  const { files = realFiles, guard = () => {}, isPrivate = false } = options;
  const settings = { ...options, files, guard, isPrivate, durability: 'none', syncWithinMs: 0 } as const;
  try {
    guard();
    return new AppendLog(path, settings, createFile(files, path, options.header));
  } catch (error) {
    throw fileFailure(path, 'create', error);
  }
}

function createFile(files: Files, path: string, header: string): LogFile {
  if (files.stat(path) !== undefined) throw new Error('the file already exists');
  try {
    const end = writeHeader(files, path, sealRecords([header]));
    const file = files.openToAppend(path);
    return { file, inode: file.state().inode, header, start: end, end, repair: undefined };
  } catch (error) {
    discard(files, path);
    throw error;
  }
}

/** Returns the end of the line. */
function writeHeader(files: Files, path: string, line: Uint8Array): number {
  const file = files.create(path);
  try {
    appendAll(file, line);
    return line.length;
  } finally {
    file.close();
  }
}
