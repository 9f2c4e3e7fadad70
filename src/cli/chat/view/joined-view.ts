import { isObject, stringOf, tryParse } from '../../../base/index.ts';
import type { Item, ItemOf } from '../../../llm/index.ts';
import type { Origin, Snapshot } from '../../../pod/index.ts';
import { shellTitle, textOf } from './answer-steps.ts';
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

function past({ items, approvals, denied }: Snapshot): readonly Print[] {
  const prompts = items.flatMap((item, index) => (isPrompt(item) ? [index] : []));
  const from = prompts.at(-PROMPTS_SHOWN) ?? 0;
  const earlier = prompts.filter((index) => index < from).length;
  const skipped =
    earlier === 0 ? [] : [notice(`${earlier} earlier ${earlier === 1 ? 'prompt' : 'prompts'} not shown`)];
  const results = new Map(
    items.flatMap((item) => (item.type === 'tool-result' ? [[item.callId, item] as const] : [])),
  );
  // A pending approval shows its call below.
  const asked = new Set(approvals.map(({ callId }) => callId));
  const shown = items.slice(from).filter((item) => item.type !== 'tool-call' || !asked.has(item.callId));
  return [...skipped, ...shown.flatMap((item) => printsOf(item, results, new Set(denied)))];
}

type Result = ItemOf<'tool-result'>;

function printsOf(
  item: Item,
  results: ReadonlyMap<string, Result>,
  denied: ReadonlySet<string>,
): readonly Print[] {
  switch (item.type) {
    case 'message': {
      const text = textOf(item.content);
      if (item.role === 'assistant') return [{ type: 'text', text }, { type: 'text-end' }];
      const images = item.content.filter(({ type }) => type === 'image').length;
      return item.role === 'user' ? [{ type: 'message', text, from: undefined, images }] : [];
    }
    case 'tool-call': {
      const result = results.get(item.callId);
      const failed = denied.has(item.callId) ? 'denied' : 'failed';
      const status = result === undefined ? 'waiting' : result.isError ? failed : 'done';
      const [summary = ''] = result?.isError === true ? textOf(result.content).split('\n', 1) : [];
      const title = `${item.name} ${argumentsInShort(item.arguments)}`.trim();
      const card = {
        type: 'tool',
        title,
        status,
        durationMs: undefined,
        summary,
        diff: '',
        output: '',
      } as const;
      return [{ type: 'card', card }];
    }
    default:
      return [];
  }
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
  return item.type === 'message' && item.role === 'user';
}

function lastAnswer(items: readonly Item[]): string {
  const last = items.findLast((item) => item.type === 'message' && item.role === 'assistant');
  return last?.type === 'message' ? textOf(last.content) : '';
}
