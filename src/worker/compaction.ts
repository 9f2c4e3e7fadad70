import { ellipsize } from '../base/index.ts';
import { AnswerItems, type Failure, type Item, textContent, contentText, type Usage } from '../llm/index.ts';
import type { CompactionResult } from './event.ts';
import { markInterruptions } from './interruption.ts';
import type { TurnSettings } from './settings.ts';
import { estimateTokens, itemTokens } from './tokens.ts';

export interface CompactionPolicy {
  readonly auto: boolean;
  /** The newest items up to about this many tokens are kept unchanged. */
  readonly keepTokens: number;
}

export const DEFAULT_COMPACTION: CompactionPolicy = { auto: true, keepTokens: 20_000 };

/** Whether the next answer may exceed the context window. Always false for an unknown window. */
export function isNearLimit(contextTokens: number, window: number | undefined): boolean {
  return (
    window !== undefined &&
    contextTokens > window - Math.max(Math.ceil(window * 0.15), Math.min(16_384, window / 2))
  );
}

/**
 * The index of the first item to keep. Neither an answer nor a call and its result are split. 0 means that there is nothing
 * to summarize.
 */
export function findCutPoint(items: readonly Item[], keepTokens: number): number {
  let remaining = keepTokens;
  let index = items.length;
  for (const item of items.toReversed()) {
    remaining -= itemTokens(item);
    if (remaining < 0) break;
    index -= 1;
  }
  for (let at = index; at > 0; at--) if (isValidCut(items, at)) return at;
  return 0;
}

/** Whether an input or an answer starts here, and every earlier call has its result before this index. */
function isValidCut(items: readonly Item[], at: number): boolean {
  const [before, first] = [items[at - 1], items[at]];
  if (before === undefined || first === undefined || first.type === 'tool-result') return false;
  if (!isInput(first) && !isInput(before) && before.type !== 'tool-result') return false;
  const earlier = items.slice(0, at);
  const answered = new Set(earlier.flatMap((item) => (item.type === 'tool-result' ? [item.callId] : [])));
  return earlier.every((item) => item.type !== 'tool-call' || answered.has(item.callId));
}

function isInput(item: Item): boolean {
  return item.type === 'message' && item.role !== 'assistant';
}

/** Whether there is an answer and no open call, so that there is something to summarize. */
function isExchange(items: readonly Item[]): boolean {
  const results = new Set(items.flatMap((item) => (item.type === 'tool-result' ? [item.callId] : [])));
  const isOpen = (item: Item): boolean => item.type === 'tool-call' && !results.has(item.callId);
  const isAnswer = (item: Item): boolean => item.type === 'message' && item.role === 'assistant';
  return items.some(isAnswer) && !items.some(isOpen);
}

export interface Compaction {
  readonly result: CompactionResult;
  /** The new conversation; unchanged unless the status is `compacted`. */
  readonly items: readonly Item[];
  readonly usage: Usage | undefined;
}

/** What a user or a client requests. */
export interface CompactionRequest {
  /** Instructions for the summary. */
  readonly instructions?: string;
  /** Also accepts a summary that is longer than what it replaces. */
  readonly mayGrow?: boolean;
}

/** Lets the model summarize all but the newest items. */
export async function compact(
  settings: TurnSettings,
  items: readonly Item[],
  options: CompactionRequest & {
    readonly keepTokens: number;
    /** Requested by the user: even a short conversation is summarized, completely. */
    readonly isAsked: boolean;
  },
  signal: AbortSignal,
): Promise<Compaction> {
  const wholeConversation = options.isAsked && isExchange(items) ? items.length : 0;
  const cut = findCutPoint(items, options.keepTokens) || wholeConversation;
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
  if (tokensAfter > tokensBefore && options.mayGrow !== true)
    return { result: grown(tokensBefore, tokensAfter), items, usage };
  return {
    result: { status: 'compacted', summary: text, replaced: cut, tokensBefore, tokensAfter },
    items: compacted,
    usage,
  };
}

/** A summary can be longer than a short conversation: it would only lose information. */
function grown(before: number, after: number): CompactionResult {
  const message = `the conversation would grow from ${before} to ${after} tokens, so it is unchanged; compact it when it is longer`;
  return { status: 'failed', failure: { kind: 'provider', message } };
}

/** The item that represents a summary in the conversation. */
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
  // Half of the window is reserved for the answer and for the error of the token estimate.
  const transcript = buildTranscript(markInterruptions(items), (model.contextWindow ?? 100_000) * 2);
  const prompt = `${transcript}\n\n${SUMMARY_TASK}${instructions ? `\n\nPay special attention to this:\n${instructions}` : ''}`;
  const answer = new AnswerItems();
  let failure: Failure | undefined;
  let usage: Usage | undefined;
  let cancelled = false;
  const request = {
    model: model.id,
    system: SUMMARY_ROLE,
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
    .map((item) => (item.type === 'message' ? contentText(item.content) : ''))
    .join('')
    .trim();
  if (text === '' && failure === undefined)
    failure = { kind: 'provider', message: 'the model wrote no summary' };
  return { text, failure, usage, cancelled };
}

const SUMMARY_ROLE =
  'You summarise conversations between a person and a coding agent, so that the agent can go on with the summary alone.';

const SUMMARY_TASK = `Summarise the conversation above. Keep what is needed to go on: what the person wants and decided; what was done, with
exact paths, names, commands and values; what failed and why; the state of the work; the next steps. Write plain text under short
headings. Do not continue the conversation and do not answer it.`;

function userMessage(text: string): Item {
  return { type: 'message', role: 'user', content: textContent(text) };
}

const MAX_RESULT = 2000;

/** The conversation as text; if it is too long, the middle is omitted. */
function buildTranscript(items: readonly Item[], maxLength: number): string {
  const text = items
    .map(itemLine)
    .filter((line) => line !== '')
    .join('\n\n');
  if (text.length <= maxLength) return text;
  const half = Math.floor(maxLength / 2);
  return `${text.slice(0, half)}\n\n[… left out …]\n\n${text.slice(-half)}`;
}

function itemLine(item: Item): string {
  switch (item.type) {
    case 'message':
      return `[${item.role}]\n${contentText(item.content)}`;
    case 'tool-call':
      return `[call ${item.name}]\n${ellipsize(item.arguments, MAX_RESULT)}`;
    case 'tool-result':
      return `[${item.isError ? 'failed result' : 'result'}]\n${ellipsize(contentText(item.content), MAX_RESULT)}`;
    default:
      return '';
  }
}
