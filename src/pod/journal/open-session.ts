import { dirname } from 'node:path';
import { PolypodError, randomDigits } from '../../base/index.ts';
import {
  acquireLock,
  type AppendLog,
  type Durability,
  type Files,
  type Lock,
  openLog,
  readLines,
  readTail,
} from '../../store/index.ts';
import { noSession, refuseDamaged } from '../repair/index.ts';
import {
  encodeHeader,
  type Header,
  parseLine,
  SessionTree,
  type Source,
  TailReader,
} from '../session/index.ts';

export interface SessionOptions {
  readonly file: string;
  /** The header of a new file; without it the file must exist. */
  readonly header?: Header;
  readonly files: Files;
  readonly durability: Durability;
  readonly now: () => Date;
}

/** A locked session file: no other process writes to it. */
export interface OpenSession {
  readonly tree: SessionTree;
  /** Whether the tree is complete; otherwise earlier entries are only in the file. */
  readonly isWhole: boolean;
  readonly lock: Lock;
  /** Called at the first write; creates a new file. */
  readonly log: () => Promise<AppendLog>;
  /** Loads the complete tree, for a branch to an entry that was not read. */
  readonly whole: () => Promise<SessionTree>;
  /** Closes the file and releases its lock. */
  readonly release: () => Promise<void>;
}

/** Locks a session file and reads as much of it as its pod needs. */
export async function openSession(options: SessionOptions): Promise<OpenSession> {
  const { file, files } = options;
  if (options.header === undefined && files.stat(file) === undefined)
    throw new PolypodError('not-found', `there is no session file ${file}`);
  const directory = dirname(file);
  const made = makeDirectories(files, directory);
  const unmake = (): void => {
    if (files.stat(file) === undefined) removeDirectories(files, directory, made.length);
  };
  let lock: Lock | undefined;
  try {
    lock = acquireLock(file, { files });
    const session = await read(options, lock);
    return { ...session, release: () => session.release().finally(unmake) };
  } catch (error) {
    lock?.release();
    unmake();
    throw error;
  }
}

async function read(options: SessionOptions, lock: Lock): Promise<OpenSession> {
  const { file, header: fresh, files, durability, now } = options;
  const source: Source = { newId: () => randomDigits(8), now };
  let log: Promise<AppendLog> | undefined;
  const opened = (): Promise<AppendLog> =>
    (log ??= openLog(file, {
      header: fresh === undefined ? '' : encodeHeader(fresh),
      isHeader: (text) => headerIn(text) !== undefined,
      guard: () => lock.assertOwner(),
      durability,
      files,
    }));
  const release = async (): Promise<void> => {
    try {
      await (await log)?.close();
    } finally {
      lock.release();
    }
  };
  if (files.stat(file) === undefined && fresh !== undefined) {
    const tree = new SessionTree(fresh, source);
    return { tree, isWhole: true, lock, log: opened, whole: async () => tree, release };
  }
  // Read before the file is opened for appending: nothing is written to an unreadable file.
  const isNew = fresh !== undefined && files.stat(file)?.size === 0;
  const survey = isNew ? undefined : await refuseDamaged(files, file);
  // Open the file before reading its end: that truncates what a crash left there.
  const { header: text, start, end } = await opened();
  const header = headerIn(text);
  if (header === undefined) throw noSession(file);
  const readAll = (): Promise<SessionTree> => readWhole(files, file, header, source);
  // Invalid lines that readers skip may be between the end and the checkpoint.
  if (survey !== undefined && survey.defects.length > 0) {
    const tree = await readAll();
    return { tree, isWhole: true, lock, log: opened, whole: async () => tree, release };
  }
  const reader = new TailReader(header, source);
  for (let to = end; to > start; ) {
    const lines = await readTail(files, file, LINES_AT_ONCE, { from: start, to });
    const texts = lines.flatMap((line) => ('text' in line ? [line.text] : []));
    if (!texts.toReversed().every((line) => reader.take(line))) break;
    to = lines[0]?.offset ?? start;
  }
  const { tree, whole: isWhole } = reader.end();
  const whole = async (): Promise<SessionTree> => {
    if (isWhole) return tree;
    await refuseDamaged(files, file);
    return readAll();
  };
  return { tree, isWhole, lock, log: opened, whole, release };
}

const LINES_AT_ONCE = 500;

/** All valid entries in file order. */
export async function readWhole(
  files: Files,
  file: string,
  header: Header,
  source: Source,
): Promise<SessionTree> {
  const tree = new SessionTree(header, source);
  for await (const lines of readLines(files, file)) {
    for (const line of lines) {
      const parsed = 'text' in line ? parseLine(line.text) : undefined;
      if (parsed?.kind === 'entry') tree.add(parsed.entry);
    }
  }
  return tree;
}

export function headerIn(text: string): Header | undefined {
  const line = parseLine(text);
  return line.kind === 'header' ? line.header : undefined;
}

/**
 * Creates the directory and its missing parents with access for the owner only. Returns the directories that were changed: until
 * they are synced, a power cut may remove the new ones with their content.
 */
export function makeDirectories(files: Files, path: string): readonly string[] {
  if (files.stat(path) !== undefined) return [];
  const parent = dirname(path);
  const above = parent === path ? [] : makeDirectories(files, parent);
  files.makeDirectory(path);
  return [...above, parent];
}

/** Removes directories that were created for a file that was never written, if they are empty. */
function removeDirectories(files: Files, path: string, count: number): void {
  if (count === 0) return;
  try {
    files.removeDirectory(path);
  } catch {
    return;
  }
  removeDirectories(files, dirname(path), count - 1);
}
