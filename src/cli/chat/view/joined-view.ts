import { isObject, stringOf, tryParse } from '../../../base/index.ts';
import type { Item, ItemOf } from '../../../llm/index.ts';
import type { Origin, Snapshot } from '../../../pod/index.ts';
import { QUIET, shellTitle, textOf } from './answer-steps.ts';
import type { ToolCard } from './card.ts';
import { notice, type Print } from './print.ts';
import type { StepResult } from './step-result.ts';

/** The number of earlier prompts that are printed, each with the answer to it. */
const PROMPTS_SHOWN = 4;

/** Creates the view of a pod from a snapshot, and the prints for its recent history. */
export function viewFromSnapshot(snapshot: Snapshot, me: Origin, now: number): StepResult {
  const { id, cwd, state, settings, model, items, stats, blocks, tools, shells } = snapshot;
  const texts = blocks.filter(({ blockType }) => blockType === 'text');
  const thoughts = blocks.filter(({ blockType, open }) => blockType === 'thinking' && open);
  const running = (title: string, callId: string, text: string) => ({
    id: callId,
    title,
    startedAt: now,
    text,
  });
  return {
    view: {
      podId: id,
      cwd,
      me,
      state,
      settings,
      title: snapshot.title?.text,
      // The configured model is shown, even before the pod has resolved it.
      model: settings.model ?? model,
      hasBegun: items.length > 0 || snapshot.queue.length > 0,
      activity: snapshot.compacting ? 'summarising the conversation' : 'working',
      since: now,
      written: 0,
      thoughts: new Map(thoughts.map(({ index, text }) => [index, { text, startedAt: now }])),
      answer: texts.at(-1)?.text ?? lastAnswer(items),
      calls: tools.map(({ call, text }) => running(call.title, call.callId, text)),
      shells: shells.map(({ shellId, command, private: isPrivate }) =>
        running(shellTitle(command, isPrivate), shellId, ''),
      ),
      background: snapshot.background ?? [],
      approvals: snapshot.approvals,
      queue: snapshot.queue,
      todos: snapshot.todos,
      totals: stats.totals,
      contextTokens: stats.contextTokens,
      contextWindow: stats.contextWindow,
      lastRun: snapshot.lastRun,
      lastShell: undefined,
      compactions: 0,
      decided: new Set(),
      isClosed: false,
      hasOtherClients: false,
      isAway: false,
    },
    prints: [
      ...past(snapshot),
      ...texts.flatMap(({ text, open }): Print[] => [
        { type: 'text', text },
        ...(open ? [] : [{ type: 'text-end' } as const]),
      ]),
    ],
  };
}

function past({ items, approvals, tools, denied, diffs }: Snapshot): readonly Print[] {
  const prompts = items.flatMap((item, index) => (isPrompt(item) ? [index] : []));
  const from = prompts.at(-PROMPTS_SHOWN) ?? 0;
  const earlier = prompts.filter((index) => index < from).length;
  const skipped =
    earlier === 0 ? [] : [notice(`${earlier} earlier ${earlier === 1 ? 'prompt' : 'prompts'} not shown`)];
  const results = new Map(
    items.flatMap((item) => (item.type === 'tool-result' ? [[item.callId, item] as const] : [])),
  );
  // A pending approval shows its call below, and so does a call that runs.
  const open = new Set([...approvals.map(({ callId }) => callId), ...tools.map(({ call }) => call.callId)]);
  const shown = items.slice(from).filter((item) => item.type !== 'tool-call' || !open.has(item.callId));
  const known: Known = {
    results,
    denied: new Set(denied),
    diffs: new Map(diffs?.map(({ callId, diff }) => [callId, diff])),
  };
  return [...skipped, ...shown.flatMap((item) => printsOf(item, known))];
}

type Result = ItemOf<'tool-result'>;

/** What is known about calls, by their ids. */
interface Known {
  readonly results: ReadonlyMap<string, Result>;
  readonly denied: ReadonlySet<string>;
  readonly diffs: ReadonlyMap<string, string>;
}

function printsOf(item: Item, known: Known): readonly Print[] {
  switch (item.type) {
    case 'message': {
      if (item.automatic === true) return [];
      const text = textOf(item.content);
      if (item.role === 'assistant') return [{ type: 'text', text }, { type: 'text-end' }];
      const images = item.content.filter(({ type }) => type === 'image').length;
      return item.role === 'user' ? [{ type: 'message', text, from: undefined, images }] : [];
    }
    case 'tool-call':
      return [{ type: 'card', card: earlierCard(item, known) }];
    case 'reasoning':
      return item.text.trim() === ''
        ? []
        : [{ type: 'card', card: { type: 'thought', text: item.text, durationMs: undefined } }];
    default:
      return [];
  }
}

/** The card of an earlier call, as it was shown when the call ended. */
function earlierCard(
  { callId, name, arguments: json }: ItemOf<'tool-call'>,
  { results, denied, diffs }: Known,
): ToolCard {
  const result = results.get(callId);
  const isError = result?.isError === true;
  const text = result === undefined ? '' : textOf(result.content);
  const diff = diffs.get(callId) ?? '';
  return {
    type: 'tool',
    title: `${name} ${argumentsInShort(json)}`.trim(),
    status: result === undefined ? 'waiting' : !isError ? 'done' : denied.has(callId) ? 'denied' : 'failed',
    durationMs: undefined,
    // The result of a tool that changes a file is its summary.
    summary: diff === '' ? '' : text.replace(/\.$/, ''),
    diff,
    output: diff !== '' || (QUIET.has(name) && !isError) ? '' : text,
  };
}

/** The most informative argument of a call. */
export function argumentsInShort(json: string): string {
  const value = tryParse(json);
  if (!isObject(value)) return '';
  const [first] = ['command', 'path', 'pattern', 'url', 'query'].flatMap((key) => {
    const text = stringOf(value[key]);
    return text === '' ? [] : [text];
  });
  return first ?? '';
}

function isPrompt(item: Item): boolean {
  return item.type === 'message' && item.role === 'user' && item.automatic !== true;
}

function lastAnswer(items: readonly Item[]): string {
  const last = items.findLast((item) => item.type === 'message' && item.role === 'assistant');
  return last?.type === 'message' ? textOf(last.content) : '';
}
