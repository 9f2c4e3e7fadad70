import { stringOf, withoutUndefined } from '../../base/index.ts';
import type { Item } from '../../llm/index.ts';
import { NO_TOTALS, summaryItem, type Totals } from '../../worker/index.ts';
import { readContent } from './content.ts';
import type { Body, Entry } from './entry.ts';
import { CHECKPOINT, RUN_END, TITLE } from './facts.ts';
import { branchSummaryItems, userItem } from './foreign.ts';
import { itemsOf } from './messages.ts';
import { withAnswer, withCallUse } from './totals.ts';
import type { SessionTree } from './tree.ts';
import { spentOn } from './usage.ts';

/** A selected model. */
export interface ModelChoice {
  readonly provider: string;
  readonly modelId: string;
}

/** The conversation at the leaf of a session. */
export interface Conversation {
  readonly items: readonly Item[];
  /** The entry of each item. */
  readonly entryIds: readonly string[];
  readonly model?: ModelChoice;
  readonly thinkingLevel?: string;
  readonly name?: string;
  /** Absent if a part of the path to the leaf has not been loaded. */
  readonly totals?: Totals;
}

/** The conversation at the leaf, or at another entry. */
export function conversation(tree: SessionTree, at: string | null = tree.leafId): Conversation {
  const path = tree.path(at);
  const items = itemsOnPath(path);
  const name = nameOf(tree);
  return {
    items: items.map(({ item }) => item),
    entryIds: items.map(({ entryId }) => entryId),
    ...settingsOn(path),
    ...withoutUndefined({ name }),
  };
}

/** A compaction of the conversation: the summary replaces the first `replaced` items. */
export function compactionBody(
  { entryIds }: Pick<Conversation, 'entryIds'>,
  done: { readonly summary: string; readonly replaced: number; readonly tokensBefore: number },
): Body {
  const { summary, replaced, tokensBefore } = done;
  // If nothing is kept, the tree fills in the compaction's own id, which no reader finds before it.
  return { type: 'compaction', summary, firstKeptEntryId: entryIds[replaced] ?? '', tokensBefore };
}

/** A checkpoint with what a reader needs that loads no earlier entries. */
export function checkpointBody(
  { model, thinkingLevel, name, totals }: Conversation,
  state: Readonly<Record<string, unknown>> = {},
): Body {
  return CHECKPOINT.body({
    ...model,
    ...withoutUndefined({ thinkingLevel, name, totals }),
    state,
  });
}

interface ItemWithEntry {
  readonly item: Item;
  readonly entryId: string;
}

/** Only the last compaction counts: its summary, the entries that it kept, and the entries after it. */
function itemsOnPath(path: readonly Entry[]): readonly ItemWithEntry[] {
  const at = path.findLastIndex(({ type }) => type === 'compaction');
  const compaction = path[at];
  if (compaction?.type !== 'compaction') return path.flatMap(itemsWithEntry);
  const before = path.slice(0, at);
  const first = before.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  return [
    { item: summaryItem(compaction.summary), entryId: compaction.id },
    ...(first < 0 ? [] : before.slice(first)).flatMap(itemsWithEntry),
    ...path.slice(at + 1).flatMap(itemsWithEntry),
  ];
}

function itemsWithEntry(entry: Entry): readonly ItemWithEntry[] {
  return itemsIn(entry).map((item) => ({ item, entryId: entry.id }));
}

/** The items that an entry adds to the conversation; a compaction adds some only if it is the last. */
function itemsIn(entry: Entry): readonly Item[] {
  switch (entry.type) {
    case 'message':
      return itemsOf(entry.message);
    case 'custom_message':
      return [{ ...userItem(readContent(entry.content)), ...(!entry.display && { automatic: true }) }];
    case 'branch_summary':
      return branchSummaryItems(entry.summary);
    default:
      return [];
  }
}

type Settings = Pick<Conversation, 'model' | 'thinkingLevel' | 'totals'>;

function settingsOn(path: readonly Entry[]): Settings {
  const isFromRoot = (path[0]?.parentId ?? null) === null;
  return path.reduce<Settings>(settingsAfter, isFromRoot ? { totals: NO_TOTALS } : {});
}

function settingsAfter(settings: Settings, entry: Entry): Settings {
  switch (entry.type) {
    case 'model_change': {
      if (entry.role !== undefined && entry.role !== 'default') return settings;
      return { ...settings, model: { provider: entry.provider, modelId: entry.modelId } };
    }
    case 'thinking_level_change': {
      const { thinkingLevel: _, ...others } = settings;
      return entry.thinkingLevel === null ? others : { ...others, thinkingLevel: entry.thinkingLevel };
    }
    case 'message': {
      const { totals } = settings;
      if (entry.message.role === 'toolResult' && totals !== undefined)
        return { ...settings, totals: withCallUse(totals, entry.message) };
      if (entry.message.role !== 'assistant') return settings;
      const model = {
        provider: stringOf(entry.message.provider),
        modelId: stringOf(entry.message.model),
      };
      if (totals === undefined) return { ...settings, model };
      return { ...settings, model, totals: withAnswer(totals, itemsIn(entry), spentOn(entry.message)) };
    }
    case 'custom':
      return afterFact(settings, entry);
    default:
      return settings;
  }
}

function afterFact(settings: Settings, entry: Entry): Settings {
  const totals = (RUN_END.in(entry) ?? TITLE.in(entry))?.totals;
  if (totals !== undefined) return { ...settings, totals };
  const known = CHECKPOINT.in(entry);
  if (known === undefined) return settings;
  const { provider, modelId, thinkingLevel } = known;
  return {
    ...(provider === undefined || modelId === undefined ? {} : { model: { provider, modelId } }),
    ...withoutUndefined({ thinkingLevel, totals: known.totals }),
  };
}

/** The last name given on any branch; an empty name removes it. */
function nameOf(tree: SessionTree): string | undefined {
  let name = tree.header.title;
  for (const entry of tree.entries()) {
    if (entry.type === 'session_info') name = entry.name.trim() || undefined;
    else if (CHECKPOINT.in(entry) !== undefined) name = CHECKPOINT.in(entry)?.name;
  }
  return name;
}
