import { stringOf } from '../../base/index.ts';
import type { Item } from '../../llm/index.ts';
import { NO_TOTALS, summaryItem, type Totals } from '../../worker/index.ts';
import { readContent } from './content.ts';
import type { Body, Entry } from './entry.ts';
import { CHECKPOINT, RUN_END } from './facts.ts';
import { branchSummaryItems, userItem } from './foreign.ts';
import { itemsOf } from './messages.ts';
import { withAnswer } from './totals.ts';
import type { SessionTree } from './tree.ts';
import { spentOn } from './usage.ts';

/** Which model answers. */
export interface ModelChoice {
  readonly provider: string;
  readonly modelId: string;
}

/** What a session comes down to at its leaf. */
export interface Conversation {
  readonly items: readonly Item[];
  /** For each item the entry that it came from. */
  readonly entryIds: readonly string[];
  readonly model?: ModelChoice;
  readonly thinkingLevel?: string;
  readonly name?: string;
  /** Absent when a part of the way to the leaf is not known. */
  readonly totals?: Totals;
}

/** The conversation at the leaf, or at another entry. */
export function conversation(tree: SessionTree, at: string | null = tree.leafId): Conversation {
  const path = tree.path(at);
  const said = saidOn(path);
  const name = nameOf(tree);
  return {
    items: said.map(({ item }) => item),
    entryIds: said.map(({ entryId }) => entryId),
    ...settingsOn(path),
    ...(name === undefined ? {} : { name }),
  };
}

/** A compaction of the conversation, of which the first `replaced` items give way to the summary. */
export function compactionBody(
  { entryIds }: Pick<Conversation, 'entryIds'>,
  done: { readonly summary: string; readonly replaced: number; readonly tokensBefore: number },
): Body {
  const { summary, replaced, tokensBefore } = done;
  // Nothing kept: the tree puts the compaction's own id there, which no reader finds before it.
  return { type: 'compaction', summary, firstKeptEntryId: entryIds[replaced] ?? '', tokensBefore };
}

/** What has to be known of a conversation by one who will not read what is in front of this. */
export function checkpointBody(
  { model, thinkingLevel, name, totals }: Conversation,
  state: Readonly<Record<string, unknown>> = {},
): Body {
  return CHECKPOINT.body({
    ...model,
    ...(thinkingLevel === undefined ? {} : { thinkingLevel }),
    ...(name === undefined ? {} : { name }),
    ...(totals === undefined ? {} : { totals }),
    state,
  });
}

interface Said {
  readonly item: Item;
  readonly entryId: string;
}

/** The last compaction counts: its summary, what it kept, and what follows. */
function saidOn(path: readonly Entry[]): readonly Said[] {
  const at = path.findLastIndex(({ type }) => type === 'compaction');
  const compaction = path[at];
  if (compaction?.type !== 'compaction') return path.flatMap(saidIn);
  const before = path.slice(0, at);
  const first = before.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  return [
    { item: summaryItem(compaction.summary), entryId: compaction.id },
    ...(first < 0 ? [] : before.slice(first)).flatMap(saidIn),
    ...path.slice(at + 1).flatMap(saidIn),
  ];
}

function saidIn(entry: Entry): readonly Said[] {
  return itemsIn(entry).map((item) => ({ item, entryId: entry.id }));
}

/** What an entry puts into the conversation; a compaction does so only when it is the last. */
function itemsIn(entry: Entry): readonly Item[] {
  switch (entry.type) {
    case 'message':
      return itemsOf(entry.message);
    case 'custom_message':
      return [userItem(readContent(entry.content))];
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
      if (entry.message.role !== 'assistant') return settings;
      const { totals } = settings;
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
  const totals = RUN_END.in(entry)?.totals;
  if (totals !== undefined) return { ...settings, totals };
  const known = CHECKPOINT.in(entry);
  if (known === undefined) return settings;
  const { provider, modelId, thinkingLevel } = known;
  return {
    ...(provider === undefined || modelId === undefined ? {} : { model: { provider, modelId } }),
    ...(thinkingLevel === undefined ? {} : { thinkingLevel }),
    ...(known.totals === undefined ? {} : { totals: known.totals }),
  };
}

/** The last name given, on whatever branch; an empty one takes it away. */
function nameOf(tree: SessionTree): string | undefined {
  let name = tree.header.title;
  for (const entry of tree.entries()) {
    if (entry.type === 'session_info') name = entry.name.trim() || undefined;
    else if (CHECKPOINT.in(entry) !== undefined) name = CHECKPOINT.in(entry)?.name;
  }
  return name;
}
