import { randomDigits } from '../../base/index.ts';
import {
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  type Body,
  type Entry,
  FORK,
  RUN_END,
  RUN_START,
} from '../session/index.ts';
import type { Note } from './note.ts';
import { pairCalls } from './pair-calls.ts';
import type { Part } from './part.ts';
import { type RelinkedEntries, relink, type RepairRow } from './relink.ts';

export interface RepairedTree {
  readonly rows: readonly RepairRow[];
  /** The leaf: the parent of the next entry. */
  readonly leafId: string | null;
  readonly notes: readonly Note[];
  /** Creates another entry under the leaf. */
  readonly append: (body: Body, parentId: string | null) => Entry;
}

/**
 * Turns the entries of a damaged file into a tree that every reader and provider accepts. Pure except for new ids and the time.
 */
export function mendTree(parts: readonly Part[], now: () => Date): RepairedTree {
  const linked = relink(parts);
  const newId = freshIds(linked);
  const paired = pairCalls(linked.rows, linked.leafId, { newId, now });
  const compacted = relinkCompactions(paired.rows, linked.firstChildOf);
  const rows = [...compacted.rows];
  const late: Note[] = [];
  let { leafId } = linked;
  const append = (body: Body, parentId: string | null): Entry => ({
    ...body,
    id: newId(),
    parentId,
    timestamp: now().toISOString(),
  });
  const pending = pendingApprovals(rows);
  const isAwaited = pending.some(({ callId }) => callId !== undefined && paired.openAtLeaf.has(callId));
  // A turn that waits for a person resumes when the session is opened; any other turn is over.
  if (leafId !== null && !isAwaited && !isPaused(rows)) {
    const results = paired.closeLeaf(leafId);
    rows.push(...results);
    leafId = results.at(-1)?.entry.id ?? leafId;
  }
  for (const { approvalId, callId } of pending) {
    if (callId === undefined || paired.openAtLeaf.has(callId)) continue;
    const response = { approvalId, status: 'cancelled', at: now().toISOString() } as const;
    const entry = append(APPROVAL_RESPONSE.body(response), leafId);
    rows.push({ entry });
    leafId = entry.id;
    late.push({
      kind: 'approval',
      id: entry.id,
      text: `the call of approval ${approvalId} is lost: the approval is cancelled`,
    });
  }
  const notes = [...linked.notes, ...paired.notes, ...compacted.notes, ...late];
  return { rows, leafId, notes, append };
}

function freshIds({ rows }: RelinkedEntries): () => string {
  const taken = new Set(rows.map(({ entry }) => entry.id));
  return () => {
    let id = randomDigits(8);
    while (taken.has(id)) id = randomDigits(8);
    taken.add(id);
    return id;
  };
}

/** Pending approvals of this session's own calls. */
function pendingApprovals(rows: readonly RepairRow[]): readonly { approvalId: string; callId?: string }[] {
  const pending = new Map<string, { approvalId: string; callId?: string }>();
  for (const { entry } of rows) {
    if (FORK.in(entry) !== undefined) pending.clear();
    const request = APPROVAL_REQUEST.in(entry);
    if (request?.runId !== undefined && request.podId === undefined) pending.set(request.approvalId, request);
    pending.delete(APPROVAL_RESPONSE.in(entry)?.approvalId ?? '');
  }
  return [...pending.values()];
}

function isPaused(rows: readonly RepairRow[]): boolean {
  const last = rows.findLast(
    ({ entry }) => RUN_START.in(entry) !== undefined || RUN_END.in(entry) !== undefined,
  );
  return last !== undefined && RUN_END.in(last.entry)?.status === 'paused';
}

/** If the first kept entry of a compaction is lost, keeps the entries after it; a result is not kept without its call. */
function relinkCompactions(
  rows: readonly RepairRow[],
  firstChildOf: ReadonlyMap<string, string>,
): { readonly rows: readonly RepairRow[]; readonly notes: readonly Note[] } {
  const byId = new Map(rows.map((row) => [row.entry.id, row]));
  const notes: Note[] = [];
  const changed = rows.map((row): RepairRow => {
    const { entry, line } = row;
    if (entry.type !== 'compaction' || entry.firstKeptEntryId === entry.id) return row;
    const path = pathBefore(entry, byId);
    const wanted = byId.has(entry.firstKeptEntryId)
      ? entry.firstKeptEntryId
      : firstChildOf.get(entry.firstKeptEntryId);
    const at = path.findIndex(({ id }) => id === wanted);
    const first = at < 0 ? undefined : path.slice(at).find((one) => !isResult(one));
    const firstKeptEntryId = first?.id ?? entry.id;
    if (firstKeptEntryId === entry.firstKeptEntryId) return row;
    const text =
      first === undefined
        ? 'the first entry that the compaction kept is lost: the model sees its summary and what follows'
        : `the compaction now keeps the entries from ${firstKeptEntryId} on`;
    notes.push({ kind: 'compaction', id: entry.id, text, ...(line && { line }) });
    return { entry: { ...entry, firstKeptEntryId }, ...(line && { line }) };
  });
  return { rows: changed, notes };
}

function pathBefore(entry: Entry, byId: ReadonlyMap<string, RepairRow>): readonly Entry[] {
  const path: Entry[] = [];
  for (let at = byId.get(entry.parentId ?? ''); at !== undefined; at = byId.get(at.entry.parentId ?? ''))
    path.push(at.entry);
  return path.toReversed();
}

function isResult(entry: Entry): boolean {
  return entry.type === 'message' && entry.message.role === 'toolResult';
}
