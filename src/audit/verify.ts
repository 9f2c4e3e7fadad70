import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { asPolypodError, numberOf, objectOf, stringOf } from '../base/index.ts';
import { acquireLock, type Lock } from '../store/index.ts';
import { readHead } from './audit-log.ts';
import { type AuditEntry, CHAIN_START, type ChainHead, decodeEntry } from './entry.ts';
import { type AuditFiles, listAuditFiles } from './files.ts';

/** A place where the log is not what was written. */
export interface AuditProblem {
  readonly file: string;
  /** From 1 on; the line after the last one for what is missing at the end. */
  readonly line: number;
  readonly problem: string;
}

export interface AuditVerdict {
  readonly files: number;
  readonly entries: number;
  readonly first: number | undefined;
  /** The end of the chain: note it elsewhere, and a later check proves that nothing before it was changed. */
  readonly head: ChainHead | undefined;
  /** Lines that a crash cut short and a later entry accounts for. */
  readonly torn: number;
  readonly problems: readonly AuditProblem[];
}

export interface VerifyOptions {
  /** Entries before this one are not looked at. */
  readonly from?: number | undefined;
  /** An entry that was noted earlier, which must be in the chain. */
  readonly expect?: ChainHead | undefined;
}

/** Proves that every entry follows the one before, over all files, and that none is missing as far as that can be known. */
export function verifyAudit(files: AuditFiles, { from = 1, expect }: VerifyOptions = {}): AuditVerdict {
  const { opened: all, head: noted } = snapshot(files);
  const problems: AuditProblem[] = [];
  const removed: ChainHead[] = [];
  const known = [expect, noted].filter((one) => one !== undefined);
  const isSeen = new Set<ChainHead>();
  let entries = 0;
  let torn = 0;
  let first: { readonly entry: AuditEntry; readonly file: string; readonly line: number } | undefined;
  let last: ChainHead | undefined;
  let cut: { readonly file: string; readonly line: number; readonly bytes: Buffer } | undefined;
  let end: { readonly file: string; readonly line: number } = { file: files.current, line: 1 };
  for (const file of all) {
    const { path } = file;
    for (const [index, line] of linesIn(contentOf(file)).entries()) {
      const at = { file: path, line: index + 1 };
      end = { file: path, line: index + 2 };
      const entry = decodeEntry(line.toString('utf8'));
      if (entry === undefined) {
        if (cut !== undefined) problems.push({ file: cut.file, line: cut.line, problem: CHANGED });
        cut = { ...at, bytes: line };
        continue;
      }
      if (cut !== undefined) {
        if (isAccountOf(entry, cut.bytes)) torn += 1;
        else problems.push({ file: cut.file, line: cut.line, problem: CHANGED });
        cut = undefined;
      }
      if (entry.seq < from) continue;
      entries += 1;
      first ??= { entry, ...at };
      const broken = last === undefined ? undefined : breakBetween(last, entry);
      if (broken !== undefined) problems.push({ ...at, problem: broken });
      for (const one of known.filter(({ seq }) => seq === entry.seq)) {
        isSeen.add(one);
        if (one.hash !== entry.hash)
          problems.push({
            ...at,
            problem: `entry ${entry.seq} is not the one that was ${one === expect ? 'expected' : 'recorded in audit.head'}: the chain was rewritten`,
          });
      }
      if (entry.event === 'audit.removed') removed.push(removedIn(entry));
      last = { seq: entry.seq, hash: entry.hash };
    }
  }
  if (cut !== undefined) problems.push({ file: cut.file, line: cut.line, problem: UNFINISHED });
  if (first !== undefined && from <= 1) {
    const problem = problemOfStart(first.entry, removed);
    if (problem !== undefined) problems.unshift({ file: first.file, line: first.line, problem });
  }
  for (const one of known)
    if (!isSeen.has(one) && one.seq >= from && one.seq > (last?.seq ?? 0))
      problems.push({
        ...end,
        problem: `the last entries are missing: the chain ends with ${last?.seq ?? 0}, and ${one.seq} was written`,
      });
  return { files: all.length, entries, first: first?.entry.seq, head: last, torn, problems };
}

const CHANGED = 'the line was changed: its hash is not that of its content';
const UNFINISHED =
  'the line is unfinished: a process was ended while it wrote, and nothing was recorded since';

function breakBetween(last: ChainHead, { seq, prev, event }: AuditEntry): string | undefined {
  if (seq === last.seq + 1 && prev === last.hash) return undefined;
  if (seq > last.seq + 1)
    return event === 'audit.gap'
      ? `entries ${last.seq + 1} to ${seq - 1} are missing: removed, or lost in a power cut`
      : `entries ${last.seq + 1} to ${seq - 1} are missing`;
  if (seq <= last.seq) return `entry ${seq} comes after entry ${last.seq}: lines were reordered or repeated`;
  return `entry ${seq} does not follow entry ${last.seq}: the chain was rewritten`;
}

/** The oldest entry that is there is the first of all, or follows files that were removed because they were too many. */
function problemOfStart({ seq, prev }: AuditEntry, removed: readonly ChainHead[]): string | undefined {
  if (seq === 1 && prev === CHAIN_START.hash) return undefined;
  const through = removed.find((one) => one.seq === seq - 1);
  if (through?.hash === prev) return undefined;
  return seq === 1
    ? 'the chain was rewritten: entry 1 follows another'
    : `entries 1 to ${seq - 1} are missing`;
}

function removedIn({ details }: AuditEntry): ChainHead {
  return { seq: numberOf(details?.through) ?? -1, hash: stringOf(details?.hash) };
}

function isAccountOf({ event, details }: AuditEntry, bytes: Buffer): boolean {
  if (event !== 'audit.torn') return false;
  return objectOf(details).sha256 === createHash('sha256').update(bytes).digest('hex');
}

function linesIn(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    lines.push(bytes.subarray(from, end === -1 ? bytes.length : end));
    if (end === -1) break;
    from = end + 1;
  }
  return lines;
}

interface Opened {
  readonly path: string;
  readonly descriptor: number;
  readonly size: number;
}

/** All files as they are at one moment: nobody appends or rotates while they are opened. They are read one by one. */
function snapshot(files: AuditFiles): {
  readonly opened: readonly Opened[];
  readonly head: ChainHead | undefined;
} {
  const lock = lockBriefly(files.current);
  try {
    const head = readHead(files.head);
    return { head, opened: listAuditFiles(files).map(opened) };
  } finally {
    lock?.release();
  }
}

function opened(path: string): Opened {
  const descriptor = openSync(path, 'r');
  return { path, descriptor, size: fstatSync(descriptor).size };
}

/** Without the right to write there is no lock: then an entry may come in while we read, which does no harm. */
function lockBriefly(path: string): Lock | undefined {
  for (let attempts = 0; attempts < 500; attempts += 1) {
    try {
      return acquireLock(path);
    } catch (thrown) {
      if (asPolypodError(thrown).code !== 'conflict') return undefined;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return undefined;
}

/** What a file had when it was opened; closes it. */
function contentOf({ descriptor, size }: Opened): Buffer {
  try {
    const bytes = Buffer.alloc(size);
    let got = 0;
    for (let more = -1; more !== 0 && got < size; got += more)
      more = readSync(descriptor, bytes, got, size - got, got);
    return bytes.subarray(0, got);
  } finally {
    closeSync(descriptor);
  }
}
