import type { SessionTree } from '../session/index.ts';

/** A compaction that the session has recorded. */
export interface RecordedCompaction {
  readonly summary: string;
  /** The oldest entry that the compaction kept. */
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
}

/** Returns the compaction that an entry records, or undefined. */
export function compactionIn(tree: SessionTree, entryId: string): RecordedCompaction | undefined {
  const entry = tree.get(entryId);
  if (entry?.type !== 'compaction') return undefined;
  const { summary, firstKeptEntryId, tokensBefore } = entry;
  return { summary, firstKeptEntryId, tokensBefore };
}

/** Whether nothing was added to the conversation since the last compaction. */
export function isCompacted(tree: SessionTree): boolean {
  return tree.path().findLast(({ type }) => !SILENT.has(type))?.type === 'compaction';
}

/** Entries that the model does not see. */
const SILENT: ReadonlySet<string> = new Set([
  'custom',
  'model_change',
  'thinking_level_change',
  'session_info',
]);
