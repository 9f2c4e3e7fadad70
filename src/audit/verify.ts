import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { asPolypodError, numberOf, objectOf, stringOf } from '../base/index.ts';
import { acquireLock, type Lock } from '../store/index.ts';
import { readHead } from './audit-log.ts';
import { type AuditEntry, CHAIN_START, type ChainHead, decodeEntry } from './entry.ts';
import { type AuditFiles, listAuditFiles } from './files.ts';

/** A problem at a line of the log. */
export interface AuditProblem {
  readonly file: string;
  /** Starts at 1; the line after the last one for missing entries at the end. */
  readonly line: number;
  readonly problem: string;
}

export interface AuditVerdict {
  readonly files: number;
  readonly entries: number;
  readonly first: number | undefined;
  /** The end of the chain. Stored elsewhere, it lets a later check prove that nothing before it was changed. */
  readonly head: ChainHead | undefined;
  /** The number of lines that a crash cut off and a later entry accounts for. */
  readonly torn: number;
  readonly problems: readonly AuditProblem[];
}

export interface VerifyOptions {
  /** Entries before this one are not checked. */
  readonly from?: number | undefined;
  /** A previously stored head, which must be in the chain. */
  readonly expect?: ChainHead | undefined;
}

/** Verifies the chain over all files, and reports missing entries as far as they can be detected. */
export function verifyAudit(files: AuditFiles, { from = 1, expect }: VerifyOptions = {}): AuditVerdict {
  const { opened: all, head: storedHead } = snapshot(files);
  const problems: AuditProblem[] = [];
  const removed: ChainHead[] = [];
  const known = [expect, storedHead].filter((one) => one !== undefined);
  const seen = new Set<ChainHead>();
  let entries = 0;
  let torn = 0;
  let first: { readonly entry: AuditEntry; readonly file: string; readonly line: number } | undefined;
  let last: ChainHead | undefined;
  let unverified: { readonly file: string; readonly line: number; readonly bytes: Buffer } | undefined;
  let end: { readonly file: string; readonly line: number } = { file: files.current, line: 1 };
  for (const file of all) {
    const { path } = file;
    for (const [index, line] of splitLines(readContent(file)).entries()) {
      const at = { file: path, line: index + 1 };
      end = { file: path, line: index + 2 };
      const entry = decodeEntry(line.toString('utf8'));
      if (entry === undefined) {
        if (unverified !== undefined)
          problems.push({ file: unverified.file, line: unverified.line, problem: CHANGED });
        unverified = { ...at, bytes: line };
        continue;
      }
      if (unverified !== undefined) {
        if (accountsFor(entry, unverified.bytes)) torn += 1;
        else problems.push({ file: unverified.file, line: unverified.line, problem: CHANGED });
        unverified = undefined;
      }
      if (entry.seq < from) continue;
      entries += 1;
      first ??= { entry, ...at };
      const gap = last === undefined ? undefined : chainProblem(last, entry);
      if (gap !== undefined) problems.push({ ...at, problem: gap });
      for (const one of known.filter(({ seq }) => seq === entry.seq)) {
        seen.add(one);
        if (one.hash !== entry.hash)
          problems.push({
            ...at,
            problem: `entry ${entry.seq} is not the one that was ${one === expect ? 'expected' : 'recorded in audit.head'}: the chain was rewritten`,
          });
      }
      if (entry.event === 'audit.removed') removed.push(removedHead(entry));
      last = { seq: entry.seq, hash: entry.hash };
    }
  }
  if (unverified !== undefined)
    problems.push({ file: unverified.file, line: unverified.line, problem: INCOMPLETE });
  if (first !== undefined && from <= 1) {
    const problem = startProblem(first.entry, removed);
    if (problem !== undefined) problems.unshift({ file: first.file, line: first.line, problem });
  }
  for (const one of known)
    if (!seen.has(one) && one.seq >= from && one.seq > (last?.seq ?? 0))
      problems.push({
        ...end,
        problem: `the last entries are missing: the chain ends with ${last?.seq ?? 0}, and ${one.seq} was written`,
      });
  return { files: all.length, entries, first: first?.entry.seq, head: last, torn, problems };
}

const CHANGED = 'the line was changed: its hash does not match its content';
const INCOMPLETE =
  'the line is incomplete: a process was killed while it wrote, and nothing has been recorded since';

function chainProblem(last: ChainHead, { seq, prev, event }: AuditEntry): string | undefined {
  if (seq === last.seq + 1 && prev === last.hash) return undefined;
  if (seq > last.seq + 1)
    return event === 'audit.gap'
      ? `entries ${last.seq + 1} to ${seq - 1} are missing: removed, or lost in a power cut`
      : `entries ${last.seq + 1} to ${seq - 1} are missing`;
  if (seq <= last.seq) return `entry ${seq} comes after entry ${last.seq}: lines were reordered or repeated`;
  return `entry ${seq} does not follow entry ${last.seq}: the chain was rewritten`;
}

/** The oldest existing entry must be the first of all, or follow files that were removed by rotation. */
function startProblem({ seq, prev }: AuditEntry, removed: readonly ChainHead[]): string | undefined {
  if (seq === 1 && prev === CHAIN_START.hash) return undefined;
  const through = removed.find((one) => one.seq === seq - 1);
  if (through?.hash === prev) return undefined;
  return seq === 1
    ? 'the chain was rewritten: entry 1 follows another'
    : `entries 1 to ${seq - 1} are missing`;
}

function removedHead({ details }: AuditEntry): ChainHead {
  return { seq: numberOf(details?.through) ?? -1, hash: stringOf(details?.hash) };
}

function accountsFor({ event, details }: AuditEntry, bytes: Buffer): boolean {
  if (event !== 'audit.torn') return false;
  return objectOf(details).sha256 === createHash('sha256').update(bytes).digest('hex');
}

function splitLines(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    lines.push(bytes.subarray(from, end === -1 ? bytes.length : end));
    if (end === -1) break;
    from = end + 1;
  }
  return lines;
}

interface OpenFile {
  readonly path: string;
  readonly descriptor: number;
  readonly size: number;
}

/** Opens all files under the lock, so that no process appends or rotates in between. They are read afterwards. */
function snapshot(files: AuditFiles): {
  readonly opened: readonly OpenFile[];
  readonly head: ChainHead | undefined;
} {
  const lock = lockBriefly(files.current);
  try {
    const head = readHead(files.head);
    return { head, opened: listAuditFiles(files).map(openFile) };
  } finally {
    lock?.release();
  }
}

function openFile(path: string): OpenFile {
  const descriptor = openSync(path, 'r');
  return { path, descriptor, size: fstatSync(descriptor).size };
}

/** Returns undefined without write permission: an entry may then be added while reading, which is harmless. */
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

/** Reads the content that the file had when it was opened, and closes it. */
function readContent({ descriptor, size }: OpenFile): Buffer {
  try {
    const bytes = Buffer.alloc(size);
    let filled = 0;
    for (let more = -1; more !== 0 && filled < size; filled += more)
      more = readSync(descriptor, bytes, filled, size - filled, filled);
    return bytes.subarray(0, filled);
  } finally {
    closeSync(descriptor);
  }
}
