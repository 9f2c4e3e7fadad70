import { chmodSync, constants, copyFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { PolypodError, systemCodeOf, tryOrUndefined } from '../../base/index.ts';
import { acquireLock, fileFailure, readLock, realFiles, sealRecords } from '../../store/index.ts';
import {
  encodeEntry,
  encodeHeader,
  FORMAT_VERSION,
  type Header,
  readable,
  REPAIRED,
} from '../session/index.ts';
import { mendTree } from './mend-tree.ts';
import type { Note } from './note.ts';
import type { Part, RawLine } from './part.ts';
import { readParts } from './read-parts.ts';
import { type KnownSession, rebuiltHeader } from './rebuild-header.ts';
import { isNamedAsSession, noSession } from './refuse-damaged.ts';
import type { RepairRow } from './relink.ts';
import { isDamage, surveySession } from './survey.ts';

export interface RepairOptions {
  readonly file: string;
  readonly known: KnownSession;
  /** The working directory of a session if it is unknown. */
  readonly cwd: string;
  readonly now: () => Date;
  /** Reports what would be done without doing it. */
  readonly isDryRun: boolean;
}

export interface RepairReport {
  readonly file: string;
  /** `sound`: the file was not damaged. */
  readonly outcome: 'sound' | 'repaired' | 'would-repair';
  /** The path of the damaged file's backup. */
  readonly original?: string;
  /** The number of lines before, of entries after, and of losses. */
  readonly lines: number;
  readonly entries: number;
  readonly lost: number;
  readonly notes: readonly Note[];
}

/**
 * Repairs a damaged session file. The damaged file is kept as a backup, and the repaired one replaces it atomically: a crash
 * leaves one or the other. Rejects while a process has the session open.
 */
export async function repairSession(options: RepairOptions): Promise<RepairReport> {
  const file = realPath(options.file);
  if (options.isDryRun) {
    refuseOpen(file);
    return (await planned(file, options)).report;
  }
  const lock = acquireLock(file);
  try {
    const { report, lines } = await planned(file, options);
    if (report.outcome === 'sound') return report;
    const original = freeName(`${file}.damaged-${stamp(options.now())}`);
    await write(file, original, lines(original), () => lock.assertOwner());
    return { ...report, outcome: 'repaired', original };
  } finally {
    lock.release();
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    throw fileFailure(file, 'repair', error);
  }
}

function refuseOpen(file: string): void {
  const found = readLock(file);
  if (found?.state === 'alive')
    throw new PolypodError(
      'conflict',
      `${file} is open in process ${found.owner.pid}. Use it there, or end that process.`,
    );
}

interface Plan {
  readonly report: RepairReport;
  /** The lines of the repaired file. */
  readonly lines: (original: string) => readonly RawLine[];
}

async function planned(file: string, options: RepairOptions): Promise<Plan> {
  const { known, cwd, now } = options;
  const isDamaged = (await surveySession(realFiles, file)).defects.some(isDamage);
  const parts = await readParts(realFiles, file);
  const first = parts.find((part) => part.kind === 'header');
  const hasLostVersion = first !== undefined && first.header.version < 2 && parts.some(hasParent);
  const found = hasLostVersion ? undefined : first;
  if (found !== undefined) readable(found.header);
  refuseOtherFiles(parts, file, known);
  const mended = mendTree(parts, now);
  const header = first
    ? { ...first.header, ...(hasLostVersion && { version: FORMAT_VERSION }) }
    : rebuiltHeader(parts, file, known, { cwd, now: now() });
  const notes = [...ofParts(parts), ...(found ? [] : [headerNote(header)]), ...mended.notes].toSorted(
    (one, other) => (one.line ?? Number.POSITIVE_INFINITY) - (other.line ?? Number.POSITIVE_INFINITY),
  );
  const lost = notes.filter(({ kind }) => kind === 'lost').length;
  const isChanged = notes.some(({ kind }) => !EXACT.has(kind));
  const lines = (original: string): readonly RawLine[] => {
    const fact = REPAIRED.body({ original, lost });
    const last: RepairRow[] = isChanged ? [{ entry: mended.append(fact, mended.leafId) }] : [];
    const line = found?.raw ?? { text: encodeHeader(header), isSealed: true };
    return [line, ...inOrder([...mended.rows, ...last], parts)];
  };
  const outcome = notes.length === 0 && !isDamaged ? 'sound' : 'would-repair';
  const count = parts.reduce((most, { line }) => Math.max(most, line), 0);
  return { report: { file, outcome, lines: count, entries: mended.rows.length, lost, notes }, lines };
}

/** Version 1 entries have no ids. */
function hasParent(part: Part): boolean {
  return part.kind === 'entry' && part.raw.text.includes('"parentId":');
}

/** Changes that do not affect the history. */
const EXACT: ReadonlySet<Note['kind']> = new Set(['restored', 'repeated', 'unfinished']);

function refuseOtherFiles(parts: readonly Part[], file: string, known: KnownSession): void {
  if (parts.some(({ kind }) => kind === 'header' || kind === 'entry') || known.id !== undefined) return;
  if (isNamedAsSession(file, parts.length === 0)) return;
  const [first] = parts;
  if (first !== undefined && 'lost' in first && first.lost.what === 'the session header') return;
  throw noSession(file);
}

function ofParts(parts: readonly Part[]): readonly Note[] {
  const headers = parts.filter((part) => part.kind === 'header');
  return parts.flatMap((part): Note[] => {
    const { kind, line } = part;
    if (kind === 'lost' || kind === 'unfinished') {
      const { offset, bytes, what } = part.lost;
      return [{ kind, line, offset, bytes, text: kind === 'lost' ? what : UNFINISHED }];
    }
    if (kind === 'header' && part !== headers[0])
      return [{ kind: 'repeated', line, text: 'a second header: removed' }];
    const { remedy } = part.raw;
    if (remedy === undefined) return [];
    return [
      { kind: 'restored', line, text: REMEDIES[remedy], ...(kind === 'entry' && { id: part.entry.id }) },
    ];
  });
}

const UNFINISHED = 'an unfinished last line, which was never acknowledged';

const REMEDIES = {
  byte: 'one byte was wrong; the checksum says which',
  found: 'the line was intact between other bytes, or had no newline',
  encoding: 'the text was in another encoding',
} as const;

function headerNote({ id, cwd }: Header): Note {
  return { kind: 'header', text: `the header was rebuilt for session ${id} in the directory ${cwd}` };
}

/** The entries as lines. Lines that are not entries keep their position. */
function inOrder(rows: readonly RepairRow[], parts: readonly Part[]): readonly RawLine[] {
  const others = parts.flatMap((part) => (part.kind === 'other' ? [part] : []));
  const lines: RawLine[] = [];
  let next = 0;
  for (const { entry, raw, line = 0 } of rows) {
    for (let other = others[next]; other !== undefined && other.line < line; other = others[next]) {
      lines.push(other.raw);
      next += 1;
    }
    lines.push(raw ?? { text: encodeEntry(entry), isSealed: true });
  }
  return [...lines, ...others.slice(next).map(({ raw }) => raw)];
}

async function write(
  file: string,
  original: string,
  lines: readonly RawLine[],
  guard: () => void,
): Promise<void> {
  const draft = `${file}.repair`;
  try {
    const target = realFiles.create(draft);
    try {
      for (const line of lines) writeFully(target, bytesOf(line));
      await target.sync();
    } finally {
      target.close();
    }
    const left = (await surveySession(realFiles, draft)).defects.find(isDamage);
    if (left !== undefined)
      throw new PolypodError(
        'internal',
        `the repaired file would be damaged at line ${left.line}: ${left.text}`,
      );
    chmodSync(draft, statSync(file).mode & 0o777);
    guard();
    keep(file, original);
    realFiles.rename(draft, file);
    await realFiles.syncDirectory(dirname(file));
  } catch (error) {
    tryOrUndefined(() => realFiles.unlink(draft));
    throw fileFailure(file, 'repair', error);
  }
}

function writeFully(file: { append(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += file.append(bytes.subarray(written));
}

function bytesOf({ text, isSealed }: RawLine): Uint8Array {
  return isSealed ? sealRecords([text]) : Buffer.from(`${text}\n`);
}

/** Creates a hard link to the damaged file: nothing is copied, so nothing can be lost. */
function keep(file: string, original: string): void {
  try {
    realFiles.link(file, original);
  } catch (error) {
    // Some file systems have no hard links.
    if (systemCodeOf(error) === 'EEXIST') throw error;
    copyFileSync(file, original, constants.COPYFILE_EXCL);
  }
}

function freeName(name: string): string {
  for (let count = 1; ; count += 1) {
    const candidate = count === 1 ? name : `${name}-${count}`;
    if (statSync(candidate, { throwIfNoEntry: false }) === undefined) return candidate;
  }
}

/** Formatted as 20261116T081500Z. */
function stamp(at: Date): string {
  return at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
}
