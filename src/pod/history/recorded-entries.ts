import { type JsonObject, objectIn } from '../../base/index.ts';
import { encodeEntry, type Entry, type SessionTree } from '../session/index.ts';

/** Entries of a session as JSON objects, in the order of the file. */
export interface RecordedEntries {
  readonly entries: readonly JsonObject[];
  /** The entry that the next one follows; null before the first. */
  readonly leafId: string | null;
}

/** All entries, or those after one of them; undefined if there is no such entry. */
export function entriesAfter(tree: SessionTree, after: string | undefined): RecordedEntries | undefined {
  const entries = [...tree.entries()];
  const at = after === undefined ? -1 : entries.findIndex(({ id }) => id === after);
  if (after !== undefined && at < 0) return undefined;
  return {
    entries: entries.slice(at + 1).map((entry) => objectIn(encodeEntry(entry)) ?? {}),
    leafId: tree.leafId,
  };
}

/** An entry with those that follow it, oldest first. */
export interface EntryNode {
  /** JSON text on one line. */
  readonly json: string;
  /** A person's name for the entry. */
  readonly label?: string;
  readonly children: readonly EntryNode[];
}

/** The entries that follow none, oldest first. Long sessions are deeply nested: do not walk them recursively. */
export function entryNodes(tree: SessionTree): readonly EntryNode[] {
  const roots: EntryNode[] = [];
  const children = new Map<string, EntryNode[]>();
  for (const entry of tree.entries()) {
    const label = tree.labels.get(entry.id);
    const below: EntryNode[] = [];
    const node = { json: entryJson(entry), ...(label === undefined ? {} : { label }), children: below };
    const siblings = entry.parentId === null ? undefined : children.get(entry.parentId);
    (siblings ?? roots).push(node);
    children.set(entry.id, below);
  }
  return roots;
}

function entryJson(entry: Entry): string {
  // The line of another program may have white space that ends a line of ours.
  return entry.type === 'unknown' ? JSON.stringify(objectIn(entry.raw) ?? {}) : encodeEntry(entry);
}
