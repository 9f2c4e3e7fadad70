import { type JsonObject, parseObject, withoutUndefined } from '../../base/index.ts';
import { encodeEntry, type Entry, type SessionTree } from '../session/index.ts';

/** Entries of a session as JSON objects, in file order. */
export interface RecordedEntries {
  readonly entries: readonly JsonObject[];
  /** The leaf; null before the first entry. */
  readonly leafId: string | null;
}

/** All entries, or those after an entry; undefined if that entry does not exist. */
export function entriesAfter(tree: SessionTree, after: string | undefined): RecordedEntries | undefined {
  const entries = [...tree.entries()];
  const at = after === undefined ? -1 : entries.findIndex(({ id }) => id === after);
  if (after !== undefined && at < 0) return undefined;
  return {
    entries: entries.slice(at + 1).map((entry) => parseObject(encodeEntry(entry)) ?? {}),
    leafId: tree.leafId,
  };
}

/** An entry and its descendants, oldest first. */
export interface EntryNode {
  /** JSON text on one line. */
  readonly json: string;
  /** The label that a person gave the entry. */
  readonly label?: string;
  readonly children: readonly EntryNode[];
}

/** The root entries, oldest first. Long sessions are deeply nested: do not walk them recursively. */
export function entryNodes(tree: SessionTree): readonly EntryNode[] {
  const roots: EntryNode[] = [];
  const children = new Map<string, EntryNode[]>();
  for (const entry of tree.entries()) {
    const label = tree.labels.get(entry.id);
    const below: EntryNode[] = [];
    const node = { json: entryJson(entry), ...withoutUndefined({ label }), children: below };
    const siblings = entry.parentId === null ? undefined : children.get(entry.parentId);
    (siblings ?? roots).push(node);
    children.set(entry.id, below);
  }
  return roots;
}

function entryJson(entry: Entry): string {
  // A line of another program may contain white space that would end a line of ours.
  return entry.type === 'unknown' ? JSON.stringify(parseObject(entry.raw) ?? {}) : encodeEntry(entry);
}
