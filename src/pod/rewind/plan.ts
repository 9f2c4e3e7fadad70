import { arrayOf, isObject, PolypodError, stringOf } from '../../base/index.ts';
import type { FileChangeRecord, RecordedVersion } from '../event.ts';
import type { RewindParts } from '../rewind-parts.ts';
import { type Entry, FILE_CHANGE, FORK, REWIND, type SessionTree } from '../session/index.ts';

/** A prompt of the current conversation: files and conversation can be returned to the point before it. */
export interface RewindPoint {
  readonly entryId: string;
  readonly text: string;
  /** ISO 8601. */
  readonly at: string;
  /** The number of files that changed between this prompt and the next one. */
  readonly files: number;
}

/** The points that a conversation can be returned to, oldest first. */
export interface RewindPoints {
  readonly points: readonly RewindPoint[];
  /** The last rewind, if it can be undone: no prompt followed. */
  readonly redo?: { readonly entryId: string; readonly at: string; readonly parts: RewindParts };
}

/** Finds the prompts of the current conversation and the rewind that can be undone. */
export function rewindPoints(tree: SessionTree): RewindPoints {
  const order = orderOf(tree);
  const changes = changesIn(tree);
  const prompts = promptsOn(tree.path());
  const points = prompts.map((entry, index): RewindPoint => {
    const from = order.get(entry.id) ?? 0;
    const next = prompts[index + 1];
    const to = next === undefined ? order.size : (order.get(next.id) ?? order.size);
    const made = changes.filter(({ at }) => at > from && at < to);
    return {
      entryId: entry.id,
      text: promptText(entry),
      at: entry.timestamp,
      files: new Set(made.map(({ path }) => path)).size,
    };
  });
  const redo = rewindToUndo(tree);
  return { points, ...(redo && { redo }) };
}

/** What a rewind to the point before an entry would do. */
export interface RewindPlan {
  readonly files: readonly PlannedFile[];
  /** Where the conversation continues: an entry or `root`; undefined if it does not move. */
  readonly leaf: string | undefined;
}

/** A file that has changed since the point, and its version there. */
export interface PlannedFile {
  readonly path: string;
  /** Undefined if the file did not exist. */
  readonly target: RecordedVersion | undefined;
  /** The versions that the last change found and left. Any other content was written by somebody else. */
  readonly known: readonly (RecordedVersion | undefined)[];
  /** Whether somebody else changed the file between the recorded changes. */
  readonly isMixed: boolean;
  /** The directories that were created for the file since, outermost first. */
  readonly directories: readonly string[];
}

/**
 * Plans a return to the point before a prompt, or to the point before a rewind. Files are returned to their versions at that
 * time, whichever branch changed them since.
 */
export function planRewind(tree: SessionTree, entryId: string): RewindPlan {
  const entry = tree.get(entryId);
  if (entry === undefined) throw notFound(entryId);
  const order = orderOf(tree);
  const rewind = REWIND.in(entry);
  const changes = changesIn(tree);
  if (rewind !== undefined) {
    const start = startOfRewind(tree, entryId, order);
    const files = planFiles(changes.filter(({ at }) => at >= start));
    return { files, leaf: rewind.from };
  }
  if (!isPrompt(entry)) throw notFound(entryId);
  const from = order.get(entryId) ?? 0;
  return { files: planFiles(changes.filter(({ at }) => at > from)), leaf: entry.parentId ?? 'root' };
}

/** The first version of each file is the target, and the changes tell whether anybody else wrote in between. */
export function planFiles(changes: readonly FileChangeRecord[]): readonly PlannedFile[] {
  const byPath = new Map<string, FileChangeRecord[]>();
  for (const change of changes) {
    const earlier = byPath.get(change.path);
    if (earlier === undefined) byPath.set(change.path, [change]);
    else earlier.push(change);
  }
  return [...byPath].map(([path, made]) => {
    const last = made.at(-1);
    return {
      path,
      target: made[0]?.before,
      known: [last?.after, last?.before],
      directories: made.flatMap(({ directories = [] }) => directories),
      // A recorded change may not have happened, so the next one may find the version before it.
      isMixed: made.some(({ before }, index) => {
        const previous = made[index - 1];
        return previous !== undefined && !isSame(before, previous.after) && !isSame(before, previous.before);
      }),
    };
  });
}

/** Whether two versions have the same content. A version that was not saved equals no other. */
export function isSame(one: RecordedVersion | undefined, other: RecordedVersion | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.hash !== undefined && one.hash === other.hash;
}

function notFound(entryId: string): PolypodError {
  return new PolypodError(
    'not-found',
    `there is no prompt ${entryId} in this session: polypod sessions rewind --dry-run lists them`,
  );
}

interface OrderedChange extends FileChangeRecord {
  /** The position of the entry in the file. */
  readonly at: number;
}

/** Changes before a fork belong to another session, which has saved their versions. */
function changesIn(tree: SessionTree): readonly OrderedChange[] {
  const entries = [...tree.entries()];
  const fork = entries.findLastIndex((entry) => FORK.in(entry) !== undefined);
  return entries.flatMap((entry, at) => {
    const change = at < fork ? undefined : FILE_CHANGE.in(entry);
    return change === undefined ? [] : [{ ...change, at }];
  });
}

function orderOf(tree: SessionTree): ReadonlyMap<string, number> {
  return new Map([...tree.entries()].map(({ id }, index) => [id, index]));
}

/** Messages that steer a run follow results of calls: returning there would leave a run without its end. */
function promptsOn(path: readonly Entry[]): readonly Entry[] {
  const messages = path.filter(({ type }) => type === 'message');
  return messages.filter((entry, index) => {
    const previous = messages[index - 1];
    return isPrompt(entry) && (previous?.type !== 'message' || previous.message.role !== 'toolResult');
  });
}

function isPrompt(entry: Entry): boolean {
  return entry.type === 'message' && entry.message.role === 'user';
}

function promptText(entry: Entry): string {
  const content = entry.type === 'message' ? entry.message.content : undefined;
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .flatMap((part) => (isObject(part) && part.type === 'text' ? [stringOf(part.text)] : []))
    .join('\n');
}

/** Undoing a rewind makes the one before it the next to be undone; a prompt ends the list. */
function rewindToUndo(tree: SessionTree): RewindPoints['redo'] {
  const undoable: NonNullable<RewindPoints['redo']>[] = [];
  for (const entry of tree.entries()) {
    if (isPrompt(entry)) undoable.length = 0;
    const rewind = REWIND.in(entry);
    if (rewind === undefined) continue;
    if (undoable.at(-1)?.entryId === rewind.target) undoable.pop();
    else undoable.push({ entryId: entry.id, at: entry.timestamp, parts: rewind.parts });
  }
  return undoable.at(-1);
}

/** A rewind that was interrupted and repeated counts as one: its changes precede its entry without others between. */
function startOfRewind(tree: SessionTree, entryId: string, order: ReadonlyMap<string, number>): number {
  const entries = [...tree.entries()];
  const end = order.get(entryId) ?? 0;
  let start = end;
  for (let at = end - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry === undefined || isPrompt(entry) || REWIND.in(entry) !== undefined) break;
    const change = FILE_CHANGE.in(entry);
    if (change?.callId !== undefined) break;
    if (change !== undefined) start = at;
  }
  return start;
}
