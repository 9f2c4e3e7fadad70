import { AnswerItems, type Failure, type Item, textContent, textOf, type Usage } from '../llm/index.ts';
import type { CompactionResult } from './event.ts';
import { withInterruptions } from './interruption.ts';
import type { TurnSettings } from './settings.ts';
import { estimateTokens, tokensOf } from './tokens.ts';

export interface CompactionPolicy {
  readonly auto: boolean;
  /** The newest items, about so many tokens, stay as they are. */
  readonly keepTokens: number;
}

export const DEFAULT_COMPACTION: CompactionPolicy = { auto: true, keepTokens: 20_000 };

/** Whether the context is so full that the next answer may not fit. An unknown window is never full. */
export function isNearLimit(contextTokens: number, window: number | undefined): boolean {
  return (
    window !== undefined &&
    contextTokens > window - Math.max(Math.ceil(window * 0.15), Math.min(16_384, window / 2))
  );
}

/**
 * The first item that stays. An answer is never parted, nor a call from its result; 0 means that there is nothing to
 * summarise.
 */
export function cutPoint(items: readonly Item[], keepTokens: number): number {
  let room = keepTokens;
  let wanted = items.length;
  for (const item of items.toReversed()) {
    room -= tokensOf(item);
    if (room < 0) break;
    wanted -= 1;
  }
  for (let at = wanted; at > 0; at--) if (isClean(items, at)) return at;
  return 0;
}

/** Whether an input or an answer begins here, and every call before has its result before. */
function isClean(items: readonly Item[], at: number): boolean {
  const [before, here] = [items[at - 1], items[at]];
  if (before === undefined || here === undefined || here.type === 'tool-result') return false;
  if (!isInput(here) && !isInput(before) && before.type !== 'tool-result') return false;
  const past = items.slice(0, at);
  const answered = new Set(past.flatMap((item) => (item.type === 'tool-result' ? [item.callId] : [])));
  return past.every((item) => item.type !== 'tool-call' || answered.has(item.callId));
}

function isInput(item: Item): boolean {
  return item.type === 'message' && item.role !== 'assistant';
}

/** Whether somebody was answered, and no call is open: then there is something to summarise. */
function isExchange(items: readonly Item[]): boolean {
  const results = new Set(items.flatMap((item) => (item.type === 'tool-result' ? [item.callId] : [])));
  const isOpen = (item: Item): boolean => item.type === 'tool-call' && !results.has(item.callId);
  const isAnswer = (item: Item): boolean => item.type === 'message' && item.role === 'assistant';
  return items.some(isAnswer) && !items.some(isOpen);
}

export interface Compacted {
  readonly result: CompactionResult;
  /** The conversation afterwards; the same as before unless the result says `compacted`. */
  readonly items: readonly Item[];
  readonly usage: Usage | undefined;
}

/** Has the model summarise all but the newest items. */
export async function compact(
  settings: TurnSettings,
  items: readonly Item[],
  options: {
    readonly keepTokens: number;
    readonly instructions: string | undefined;
    /** A person asked for it: a conversation that would fit is summarised as a whole. */
    readonly isAsked: boolean;
  },
  signal: AbortSignal,
): Promise<Compacted> {
  const fitting = options.isAsked && isExchange(items) ? items.length : 0;
  const cut = cutPoint(items, options.keepTokens) || fitting;
  if (cut === 0) return { result: { status: 'skipped' }, items, usage: undefined };
  const { text, failure, usage, cancelled } = await summarise(
    settings,
    items.slice(0, cut),
    options.instructions,
    signal,
  );
  if (cancelled) return { result: { status: 'cancelled' }, items, usage };
  if (failure !== undefined) return { result: { status: 'failed', failure }, items, usage };
  const compacted = [summaryItem(text), ...items.slice(cut)];
  const tokensBefore = estimateTokens(items);
  const tokensAfter = estimateTokens(compacted);
  return {
    result: { status: 'compacted', summary: text, replaced: cut, tokensBefore, tokensAfter },
    items: compacted,
    usage,
  };
}

/** How a summary stands in the conversation. */
export function summaryItem(summary: string): Item {
  const text = `The conversation before this point was summarised to save space:\n\n<summary>\n${summary}\n</summary>`;
  return { type: 'message', role: 'user', content: textContent(text) };
}

interface Summary {
  readonly text: string;
  readonly failure: Failure | undefined;
  readonly usage: Usage | undefined;
  readonly cancelled: boolean;
}

async function summarise(
  { llm, model }: TurnSettings,
  items: readonly Item[],
  instructions: string | undefined,
  signal: AbortSignal,
): Promise<Summary> {
  // Half of the window is left for the answer and for what four characters to a token get wrong.
  const transcript = transcriptOf(withInterruptions(items), (model.contextWindow ?? 100_000) * 2);
  const prompt = `${transcript}\n\n${TASK}${instructions ? `\n\nPay special attention to this:\n${instructions}` : ''}`;
  const answer = new AnswerItems();
  let failure: Failure | undefined;
  let usage: Usage | undefined;
  let cancelled = false;
  const request = {
    model: model.id,
    system: ROLE,
    items: [userMessage(prompt)],
    maxTokens: Math.min(8192, model.maxOutput ?? 8192),
  };
  for await (const batch of llm.batches(request, signal)) {
    for (const event of batch) {
      answer.add(event);
      if (event.type === 'error') failure = event;
      if (event.type === 'usage') usage = event;
      if (event.type === 'status' && event.status === 'cancelled') cancelled = true;
    }
  }
  const text = answer
    .items()
    .map((item) => (item.type === 'message' ? textOf(item.content) : ''))
    .join('')
    .trim();
  if (text === '' && failure === undefined)
    failure = { kind: 'provider', message: 'the model wrote no summary' };
  return { text, failure, usage, cancelled };
}

const ROLE =
  'You summarise conversations between a person and a coding agent, so that the agent can go on with the summary alone.';

const TASK = `Summarise the conversation above. Keep what is needed to go on: what the person wants and decided; what was done, with
exact paths, names, commands and values; what failed and why; the state of the work; the next steps. Write plain text under short
headings. Do not continue the conversation and do not answer it.`;

function userMessage(text: string): Item {
  return { type: 'message', role: 'user', content: textContent(text) };
}

const MAX_RESULT = 2000;

/** The conversation as text; when it is too long its middle is left out. */
function transcriptOf(items: readonly Item[], maxLength: number): string {
  const text = items
    .map(lineOf)
    .filter((line) => line !== '')
    .join('\n\n');
  if (text.length <= maxLength) return text;
  const half = Math.floor(maxLength / 2);
  return `${text.slice(0, half)}\n\n[… left out …]\n\n${text.slice(-half)}`;
}

function lineOf(item: Item): string {
  switch (item.type) {
    case 'message':
      return `[${item.role}]\n${textOf(item.content)}`;
    case 'tool-call':
      return `[call ${item.name}]\n${shortened(item.arguments)}`;
    case 'tool-result':
      return `[${item.isError ? 'failed result' : 'result'}]\n${shortened(textOf(item.content))}`;
    default:
      return '';
  }
}

function shortened(text: string): string {
  return text.length > MAX_RESULT ? `${text.slice(0, MAX_RESULT)}…` : text;
}
