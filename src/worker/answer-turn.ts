import { withoutUndefined } from '../base/index.ts';
import {
  AnswerItems,
  type Cost,
  costOf,
  type ErrorEvent,
  type Failure,
  type Item,
  type LlmEvent,
  type RetryPolicy,
  retryDelay,
  type StopReason,
  textContent,
  contentText,
  type Usage,
  type UsageEvent,
} from '../llm/index.ts';
import type { AnswerOutcome, RunEvent } from './event.ts';
import { interruptedItems, messageTexts } from './interruption.ts';
import { requestFor, type TurnSettings } from './settings.ts';

/** The model's answer to one turn, after all attempts. */
export interface TurnAnswer {
  readonly outcome: AnswerOutcome;
  readonly items: readonly Item[];
  /** The partial answer, if it was cut off. */
  readonly broken: readonly Item[] | undefined;
  readonly stopReason: StopReason | undefined;
  readonly failure: Failure | undefined;
  readonly usage: Usage | undefined;
  readonly cost: Cost | undefined;
}

export interface AnswerRequest {
  readonly settings: TurnSettings;
  /** The conversation to send. */
  readonly items: () => readonly Item[];
  /** Adds the finished items of an answer that was cut off, and the message that asks the model to continue. */
  readonly keep: (items: readonly Item[]) => void;
  readonly retry: RetryPolicy;
  readonly maxContinuations: number;
  /** Resolves early when the signal aborts or the user gives up waiting. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<'waited' | 'given-up'>;
  readonly random: () => number;
  /** Passes events to the Timeline, if the worker has one. */
  readonly dispatch: (events: readonly LlmEvent[]) => void;
  readonly emit: (events: readonly RunEvent[]) => void;
}

/** Requests an answer from the model. Retries by the retry policy before the answer starts, and by continuing it afterwards. */
export async function answerTurn(input: AnswerRequest, signal: AbortSignal): Promise<TurnAnswer> {
  const usages: Usage[] = [];
  const counters: AttemptCounters = { attempts: 0, continuations: 0, waitedMs: 0 };
  for (;;) {
    const result = await attempt(input, signal);
    counters.attempts += 1;
    if (result.usage) usages.push(result.usage);
    const next = await nextAttempt(input, result, counters, signal);
    if (next === 'again') continue;
    return {
      outcome: next,
      items: itemsToKeep(next, result),
      broken: next === 'completed' ? undefined : result.broken,
      stopReason: result.stopReason,
      failure: result.failure,
      ...sumUsage(input.settings, usages),
    };
  }
}

/** The items that the answer adds to the conversation. A failed answer adds none: it may be the cause of the failure. */
function itemsToKeep(outcome: AnswerOutcome, { items, broken }: AttemptResult): readonly Item[] {
  if (outcome === 'completed') return items;
  return outcome === 'cancelled' ? interruptedItems(messageTexts(broken)) : [];
}

/** Counters over all attempts of one turn. */
interface AttemptCounters {
  attempts: number;
  continuations: number;
  waitedMs: number;
}

/** Waits and returns `again`, or returns the outcome. */
async function nextAttempt(
  input: AnswerRequest,
  result: AttemptResult,
  counters: AttemptCounters,
  signal: AbortSignal,
): Promise<'again' | AnswerOutcome> {
  const { failure } = result;
  if (failure === undefined) {
    const outcome = result.status === 'completed' ? 'completed' : 'cancelled';
    emitRetryEnd(input, counters.attempts - 1, outcome === 'completed', undefined);
    return outcome;
  }
  const continuation =
    result.answerBegan && canContinue(failure) && counters.continuations < input.maxContinuations;
  const delayMs = delayBefore(input, failure, result.answerBegan, continuation, counters);
  if (delayMs === undefined) {
    emitRetryEnd(input, counters.attempts - 1, false, failure);
    return 'failed';
  }
  const { maxAttempts } = input.retry;
  const attemptNumber = counters.attempts;
  input.emit([{ type: 'retry-start', attempt: attemptNumber, maxAttempts, delayMs, continuation, failure }]);
  const waitResult = await input.wait(delayMs, signal);
  counters.waitedMs += delayMs;
  if (signal.aborted || waitResult === 'given-up') {
    emitRetryEnd(input, attemptNumber, false, failure);
    return signal.aborted ? 'cancelled' : 'failed';
  }
  if (continuation) {
    counters.continuations += 1;
    keepFinishedItems(input, result.items);
  }
  return 'again';
}

function delayBefore(
  { retry, random }: AnswerRequest,
  failure: Failure,
  answerBegan: boolean,
  continuation: boolean,
  { attempts, waitedMs }: AttemptCounters,
): number | undefined {
  return retryDelay(retry, {
    failure,
    // Continuations have their own limit, and they do not repeat output.
    attempts: continuation ? Math.min(attempts, retry.maxAttempts - 1) : attempts,
    answerBegan: answerBegan && !continuation,
    waitedMs,
    random: random(),
  });
}

function emitRetryEnd(
  { emit }: AnswerRequest,
  attempt: number,
  success: boolean,
  failure: Failure | undefined,
): void {
  if (attempt > 0) emit([{ type: 'retry-end', attempt, success, ...withoutUndefined({ failure }) }]);
}

interface AttemptResult {
  readonly status: 'completed' | 'cancelled' | 'failed';
  readonly items: readonly Item[];
  readonly broken: readonly Item[];
  readonly answerBegan: boolean;
  readonly stopReason: StopReason | undefined;
  readonly failure: Failure | undefined;
  readonly usage: Usage | undefined;
}

async function attempt(input: AnswerRequest, signal: AbortSignal): Promise<AttemptResult> {
  const items = new AnswerItems();
  let status: AttemptResult['status'] = 'cancelled';
  let answerBegan = false;
  let stopReason: StopReason | undefined;
  let failure: Failure | undefined;
  let usage: Usage | undefined;
  const read = (event: LlmEvent): void => {
    items.add(event);
    if (event.type === 'block-start') answerBegan = true;
    else if (event.type === 'usage') usage = usageOf(event);
    else if (event.type === 'error') failure = failureOf(event);
    else if (event.type === 'status' && event.status !== 'started') {
      status = event.status;
      if (event.status === 'completed') stopReason = event.stopReason;
    }
  };
  const request = requestFor(input.settings, input.items());
  for await (const batch of input.settings.llm.batches(request, signal)) {
    input.emit(batch);
    input.dispatch(batch);
    for (const event of batch) read(event);
  }
  return {
    status,
    items: items.items(),
    broken: items.partialItems(),
    answerBegan,
    stopReason,
    failure,
    usage,
  };
}

/** Whether the model can continue its answer: the connection or the provider failed, not the request. */
function canContinue({ kind }: Failure): boolean {
  return (
    kind === 'cut-off' ||
    kind === 'timeout' ||
    kind === 'network' ||
    kind === 'overloaded' ||
    kind === 'rate-limit' ||
    kind === 'server' ||
    kind === 'malformed'
  );
}

/**
 * Keeps the finished items of an answer that was cut off, up to its last text: reasoning without the following item cannot be
 * sent back. Tool calls are discarded, because the rest of the answer might have added more.
 */
function keepFinishedItems(input: AnswerRequest, items: readonly Item[]): void {
  const lastText = items.findLastIndex((item) => item.type === 'message' && contentText(item.content) !== '');
  const finished = items.slice(0, lastText + 1).filter((item) => item.type !== 'tool-call');
  if (finished.length === 0) return;
  input.keep([...finished, { type: 'message', role: 'user', content: textContent(CONTINUE_PROMPT) }]);
}

const CONTINUE_PROMPT =
  'Your answer broke off because of a failure. Go on exactly where it stopped, without repeating anything.';

/** Sums usage and cost over all attempts, because every attempt is billed. */
function sumUsage(settings: TurnSettings, usages: readonly Usage[]): Pick<TurnAnswer, 'usage' | 'cost'> {
  if (usages.length === 0) return { usage: undefined, cost: undefined };
  const usage = usages.reduce(addUsage);
  return { usage, cost: costOf(settings.model, usage) };
}

function addUsage(a: Usage, b: Usage): Usage {
  const both: Record<string, number> = { ...a };
  for (const [name, value] of Object.entries(b)) both[name] = (both[name] ?? 0) + Number(value);
  return both;
}

function usageOf({ type: _, ...usage }: UsageEvent): Usage {
  return usage;
}

function failureOf({ type: _, ...failure }: ErrorEvent): Failure {
  return failure;
}
