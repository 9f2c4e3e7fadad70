import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PolypodError, withoutUndefined, namesIn } from '../../../base/index.ts';
import { findSession, type DataPaths } from '../../../setup/index.ts';
import { Layout, type Row, sessionsIn } from '../../../pod/sessions.ts';

/** A session file, or a segment of its feed. */
export interface LogFile {
  readonly path: string;
  /** Whether it is a segment of a feed; any other file is read as a session. */
  readonly isFeed: boolean;
  /** The row of the session in the catalogue. */
  readonly row?: Row;
}

/** Finds the files and feeds of the named sessions, or of all sessions. A path is used as given. */
export function findLogFiles({ dataDirectory }: DataPaths, words: readonly string[]): readonly LogFile[] {
  const layout = new Layout(dataDirectory);
  const rows = sessionsIn(dataDirectory);
  const withRow = (path: string): LogFile => {
    const row = rows.find(({ file }) => layout.path(file) === path);
    return { path, isFeed: isFeed(path), ...withoutUndefined({ row }) };
  };
  if (words.length > 0)
    return words.flatMap((word) => {
      if (isFile(word)) return [withRow(readableFile(word))];
      if (word.includes('/') || word.endsWith('.jsonl')) throw noFile(word);
      const { id, file } = findSession(rows, word);
      return [withRow(layout.path(file)), ...segmentsOf(layout.feed(id))];
    });
  // Includes sessions that are not in the catalogue.
  const sessions = namesIn(layout.sessions).filter((name) => name.endsWith('.jsonl'));
  return [
    ...sessions.map((name) => withRow(join(layout.sessions, name))),
    ...namesIn(layout.feeds).flatMap((id) => segmentsOf(layout.feed(id))),
  ];
}

function segmentsOf(directory: string): readonly LogFile[] {
  return namesIn(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => ({ path: join(directory, name), isFeed: true }));
}

function isFeed(path: string): boolean {
  return beginningOf(path).startsWith('{"type":"feed"');
}

/** The absolute path of a readable file. */
function readableFile(path: string): string {
  beginningOf(path);
  return resolve(path);
}

function beginningOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const first = Buffer.alloc(64);
    return first.toString('latin1', 0, readSync(file, first));
  } finally {
    closeSync(file);
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function noFile(path: string): PolypodError {
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  return new PolypodError(
    'not-found',
    isThere ? `${path} is not a file: name a session file` : `there is no file ${path}: check the path`,
  );
}
