import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { LogEntry, LogSink } from '../../base/index.ts';
import { makePrivateDirectory } from '../../setup/paths/index.ts';

export interface LogFile {
  readonly write: LogSink;
  readonly close: () => void;
}

const MOST_BYTES = 8 * 1024 * 1024;
const KEPT = 3;

/**
 * The daemon's log: JSON lines, readable only by its user. A full file is renamed to `.1`, the previous one to `.2`, and so on.
 */
export function openLogFile(path: string, { mostBytes = MOST_BYTES, kept = KEPT } = {}): LogFile {
  makePrivateDirectory(dirname(path));
  let descriptor = opened(path);
  let size = fstatSync(descriptor).size;
  const rotate = (): void => {
    closeSync(descriptor);
    for (let age = kept - 1; age >= 0; age -= 1)
      move(age === 0 ? path : `${path}.${age}`, `${path}.${age + 1}`);
    descriptor = opened(path);
    size = 0;
  };
  let isOpen = true;
  return {
    write: (entry) => {
      if (!isOpen) return;
      const bytes = Buffer.from(`${encodeLogEntry(entry)}\n`);
      try {
        if (size > 0 && size + bytes.length > mostBytes) rotate();
        size += writeSync(descriptor, bytes);
      } catch {
        // The store reports a full disk; there is nowhere to log it.
      }
    },
    close: () => {
      if (isOpen) closeSync(descriptor);
      isOpen = false;
    },
  };
}

/** One line of the file, without its newline. */
export function encodeLogEntry({ time, level, message, fields }: LogEntry): string {
  return JSON.stringify({ time, level, message, ...fields });
}

function opened(path: string): number {
  return openSync(path, 'a', 0o600);
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // There is no file of that age yet.
  }
}
