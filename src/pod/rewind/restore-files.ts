import { isAbsolute, relative } from 'node:path';
import { asPolypodError, messageOf, PolypodError } from '../../base/index.ts';
import {
  changeFile,
  classifyContent,
  createDiff,
  currentVersion,
  type FileVersion,
  type FileWrite,
  removeIfEmpty,
  type ToolContext,
} from '../../tools/index.ts';
import type { RecordedVersion, RewoundFile } from '../event.ts';
import { isSame, type PlannedFile } from './plan.ts';
import { contentHash, type SavedFiles } from './saved-files.ts';

/** Whether a file may be written. `isOutside` is true outside of the directories of the session. */
export type WriteVerdict =
  | { readonly resolve: ToolContext['resolve']; readonly isOutside: boolean }
  | { readonly refused: string };

export interface RestoreParts {
  readonly saved: Pick<SavedFiles, 'read'>;
  /** Judges a write by the policy of the session; undefined removes the file. */
  readonly judge: (path: string, after: string | undefined) => Promise<WriteVerdict>;
  /** Saves the version that is replaced, and records the change. */
  readonly record: (write: FileWrite) => Promise<void>;
}

/** A file that a rewind would change, and how. */
export interface FilePreview {
  readonly path: string;
  /** The path relative to the working directory, if the file is in it. */
  readonly label: string;
  readonly action: 'restore' | 'remove';
  /** `conflict`: somebody else changed it, or it is outside the scope, so it must be named to be overwritten. `unavailable`: it cannot be restored. */
  readonly status: 'ready' | 'conflict' | 'unavailable';
  readonly reason?: string;
  /** From the current content to the restored one; empty for binary files. */
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
}

type Version = FileVersion & { readonly bytes: Uint8Array };

/** Whether a file can be restored to its earlier version. */
type Examined =
  | { readonly status: 'unchanged' }
  | { readonly status: 'unavailable'; readonly reason: string }
  | {
      readonly status: 'ready' | 'conflict';
      readonly reason?: string;
      readonly resolve: ToolContext['resolve'];
      readonly current: FileVersion | undefined;
      readonly target: Version | undefined;
    };

/** Returns what a rewind would do with each file. Files that already have the earlier version are left out. */
export async function previewFiles(
  planned: readonly PlannedFile[],
  cwd: string,
  parts: RestoreParts,
): Promise<readonly FilePreview[]> {
  const previews: FilePreview[] = [];
  let room = MAX_DIFFS;
  for (const file of planned) {
    const examined = await examineFile(file, parts);
    if (examined.status === 'unchanged') continue;
    const label = labelOf(file.path, cwd);
    const diff = 'resolve' in examined ? await diffOf(label, examined) : NO_DIFF;
    const { status, reason } = examined;
    const text = diff.text.length > room ? '' : diff.text;
    room -= text.length;
    previews.push({
      path: file.path,
      label,
      action: file.target === undefined ? 'remove' : 'restore',
      status,
      ...(reason !== undefined && { reason }),
      diff: text,
      added: diff.added,
      removed: diff.removed,
    });
  }
  return previews;
}

/**
 * Restores the files one after the other. A failure affects only its file. After a crash, the same call continues: files that
 * already have their earlier version are left alone.
 */
export async function restoreFiles(
  planned: readonly PlannedFile[],
  overwrite: ReadonlySet<string>,
  parts: RestoreParts,
): Promise<readonly RewoundFile[]> {
  const rewound: RewoundFile[] = [];
  for (const file of planned) {
    const outcome = await restoreFile(file, overwrite.has(file.path), parts).catch(
      (thrown: unknown): Pick<RewoundFile, 'outcome' | 'reason'> => {
        // Without its record, the change could not be undone: nothing more is changed.
        if (asPolypodError(thrown).code === 'internal' && !isSystemError(thrown)) throw thrown;
        return { outcome: 'skipped', reason: messageOf(thrown) };
      },
    );
    if (outcome !== undefined) rewound.push({ path: file.path, ...outcome });
  }
  const removed = new Set(rewound.flatMap(({ path, outcome }) => (outcome === 'removed' ? [path] : [])));
  await removeDirectories(
    planned.filter(({ path }) => removed.has(path)),
    parts,
  );
  return rewound;
}

async function restoreFile(
  file: PlannedFile,
  isOverwritten: boolean,
  parts: RestoreParts,
): Promise<Pick<RewoundFile, 'outcome' | 'reason'> | undefined> {
  const examined = await examineFile(file, parts);
  if (examined.status === 'unchanged') return undefined;
  const { status, reason = '' } = examined;
  if (!('resolve' in examined) || (status === 'conflict' && !isOverwritten))
    return { outcome: 'skipped', reason };
  const { current, target, resolve } = examined;
  await changeFile(file.path, target, {
    resolve,
    record: parts.record,
    check: (found) => {
      if (!isSame(recordedVersion(found), recordedVersion(current)))
        throw new PolypodError('conflict', 'it changed just now');
    },
  });
  return { outcome: target === undefined ? 'removed' : 'restored' };
}

/** Other files may have been in the same directories, so this comes after all of them. */
async function removeDirectories(planned: readonly PlannedFile[], { judge }: RestoreParts): Promise<void> {
  const created = new Set(planned.flatMap(({ directories }) => directories));
  for (const path of [...created].toSorted((one, other) => other.length - one.length)) {
    const verdict = await judge(path, undefined);
    if ('resolve' in verdict) await removeIfEmpty(path, verdict.resolve);
  }
}

async function examineFile(file: PlannedFile, { saved, judge }: RestoreParts): Promise<Examined> {
  const { path, target: recorded, known, isMixed } = file;
  const bytes = recorded?.hash === undefined ? undefined : await saved.read(recorded.hash);
  if (recorded !== undefined && recorded.hash === undefined)
    return { status: 'unavailable', reason: 'its earlier version was too large to be saved' };
  if (recorded !== undefined && bytes === undefined)
    return { status: 'unavailable', reason: 'its earlier version is no longer saved' };
  const target = recorded && bytes && { bytes, mode: recorded.mode };
  const verdict = await judge(path, target && textOf(target));
  if ('refused' in verdict) return { status: 'unavailable', reason: verdict.refused };
  const { resolve } = verdict;
  try {
    const current = await currentVersion(path, resolve);
    const now = recordedVersion(current);
    if (isSame(now, recorded)) return { status: 'unchanged' };
    if (current !== undefined && current.bytes === undefined)
      return { status: 'unavailable', reason: 'it is now too large to be saved' };
    const found = { resolve, current, target };
    if (!known.some((version) => isSame(version, now)))
      return { status: 'conflict', reason: CHANGED_SINCE, ...found };
    if (isMixed) return { status: 'conflict', reason: CHANGED_BETWEEN, ...found };
    return verdict.isOutside
      ? { status: 'conflict', reason: OUTSIDE, ...found }
      : { status: 'ready', ...found };
  } catch (thrown) {
    if (asPolypodError(thrown).code === 'internal' && !isSystemError(thrown)) throw thrown;
    return { status: 'unavailable', reason: messageOf(thrown) };
  }
}

const CHANGED_SINCE = 'it was changed since by you, a command or another program';
/** A session file from elsewhere could name any file. */
const OUTSIDE = 'it is outside the working directory and the allowed paths';
const CHANGED_BETWEEN = 'it was also changed by you, a command or another program in between';

function isSystemError(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown;
}

/** The version of a file as a change records it. */
export function recordedVersion(version: FileVersion | undefined): RecordedVersion | undefined {
  if (version === undefined) return undefined;
  const { bytes, mode } = version;
  return bytes === undefined ? { mode } : { mode, hash: contentHash(bytes) };
}

function textOf({ bytes = EMPTY }: FileVersion): string | undefined {
  const content = classifyContent(Buffer.from(bytes));
  return content.type === 'text' ? content.text : undefined;
}

async function diffOf(
  label: string,
  { current, target }: { readonly current: FileVersion | undefined; readonly target: Version | undefined },
) {
  const before = current && textOf(current);
  const after = target && textOf(target);
  const isBinary =
    (current !== undefined && before === undefined) || (target !== undefined && after === undefined);
  return isBinary ? NO_DIFF : createDiff(label, before, after);
}

function labelOf(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  return inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}

const EMPTY = new Uint8Array();
const NO_DIFF = { text: '', added: 0, removed: 0 };
/** The characters of all diffs of a preview together. */
const MAX_DIFFS = 400_000;
