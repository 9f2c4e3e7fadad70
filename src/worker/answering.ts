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
  textOf,
  type Usage,
  type UsageEvent,
} from '../llm/index.ts';
import type { AnswerOutcome, RunEvent } from './event.ts';
import { interruptedItems, textsIn } from './interruption.ts';
import { requestFor, type TurnSettings } from './settings.ts';

/** What the model answered to one turn, after as many attempts as it took. */
export interface Answered {
  readonly outcome: AnswerOutcome;
  readonly items: readonly Item[];
  /** What there is of it, if it was cut. */
  readonly broken: readonly Item[] | undefined;
  readonly stopReason: StopReason | undefined;
  readonly failure: Failure | undefined;
  readonly usage: Usage | undefined;
  readonly cost: Cost | undefined;
}

export interface Asking {
  readonly settings: TurnSettings;
  /** The conversation as it is to be sent. */
  readonly items: () => readonly Item[];
  /** Adds what a broken answer had finished, and the note that asks to go on. */
  readonly keep: (items: readonly Item[]) => void;
  readonly retry: RetryPolicy;
  readonly maxContinuations: number;
  /** Ends early when the signal fires, or when the person gives up waiting. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<'waited' | 'given-up'>;
  readonly random: () => number;
  /** Passes events to the Timeline, if the worker has one. */
  readonly dispatch: (events: readonly LlmEvent[]) => void;
  readonly emit: (events: readonly RunEvent[]) => void;
}

/** Asks the model, again where it may help: before the answer began by the retry policy, after that by going on. */
export async function answerTurn(asking: Asking, signal: AbortSignal): Promise<Answered> {
  const spent: Usage[] = [];
  const efforts: Efforts = { attempts: 0, continuations: 0, waitedMs: 0 };
  for (;;) {
    const tried = await attempt(asking, signal);
    efforts.attempts += 1;
    if (tried.usage) spent.push(tried.usage);
    const next = await nextAttempt(asking, tried, efforts, signal);
    if (next === 'again') continue;
    return {
      outcome: next,
      items: itemsLeft(next, tried),
      broken: next === 'completed' ? undefined : tried.broken,
      stopReason: tried.stopReason,
      failure: tried.failure,
      ...account(asking.settings, spent),
    };
  }
}

/** What the answer leaves in the conversation. A failed one leaves nothing: it may be the reason of the failure. */
function itemsLeft(outcome: AnswerOutcome, { items, broken }: Attempted): readonly Item[] {
  if (outcome === 'completed') return items;
  return outcome === 'cancelled' ? interruptedItems(textsIn(broken)) : [];
}

/** What has been done so far for one turn's answer. */
interface Efforts {
  attempts: number;
  continuations: number;
  waitedMs: number;
}

/** Waits and says `again`, or says how it ended. */
async function nextAttempt(
  asking: Asking,
  tried: Attempted,
  efforts: Efforts,
  signal: AbortSignal,
): Promise<'again' | AnswerOutcome> {
  const { failure } = tried;
  if (failure === undefined) {
    const outcome = tried.status === 'completed' ? 'completed' : 'cancelled';
    tellRetryEnd(asking, efforts.attempts - 1, outcome === 'completed', undefined);
    return outcome;
  }
  const continuation =
    tried.answerBegan && canGoOn(failure) && efforts.continuations < asking.maxContinuations;
  const delayMs = delayBefore(asking, failure, tried.answerBegan, continuation, efforts);
  if (delayMs === undefined) {
    tellRetryEnd(asking, efforts.attempts - 1, false, failure);
    return 'failed';
  }
  const { maxAttempts } = asking.retry;
  const attemptNumber = efforts.attempts;
  asking.emit([{ type: 'retry-start', attempt: attemptNumber, maxAttempts, delayMs, continuation, failure }]);
  const waited = await asking.wait(delayMs, signal);
  efforts.waitedMs += delayMs;
  if (signal.aborted || waited === 'given-up') {
    tellRetryEnd(asking, attemptNumber, false, failure);
    return signal.aborted ? 'cancelled' : 'failed';
  }
  if (continuation) {
    efforts.continuations += 1;
    keepFinished(asking, tried.items);
  }
  return 'again';
}

function delayBefore(
  { retry, random }: Asking,
  failure: Failure,
  answerBegan: boolean,
  continuation: boolean,
  { attempts, waitedMs }: Efforts,
): number | undefined {
  return retryDelay(retry, {
    failure,
    // Going on has a bound of its own, and what it repeats has not been answered.
    attempts: continuation ? Math.min(attempts, retry.maxAttempts - 1) : attempts,
    answerBegan: answerBegan && !continuation,
    waitedMs,
    random: random(),
  });
}

function tellRetryEnd(
  { emit }: Asking,
  attempt: number,
  success: boolean,
  failure: Failure | undefined,
): void {
  if (attempt > 0) emit([{ type: 'retry-end', attempt, success, ...(failure ? { failure } : {}) }]);
}

interface Attempted {
  readonly status: 'completed' | 'cancelled' | 'failed';
  readonly items: readonly Item[];
  readonly broken: readonly Item[];
  readonly answerBegan: boolean;
  readonly stopReason: StopReason | undefined;
  readonly failure: Failure | undefined;
  readonly usage: Usage | undefined;
}

async function attempt(asking: Asking, signal: AbortSignal): Promise<Attempted> {
  const items = new AnswerItems();
  let status: Attempted['status'] = 'cancelled';
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
  const request = requestFor(asking.settings, asking.items());
  for await (const batch of asking.settings.llm.batches(request, signal)) {
    asking.emit(batch);
    asking.dispatch(batch);
    for (const event of batch) read(event);
  }
  return {
    status,
    items: items.items(),
    broken: items.broken(),
    answerBegan,
    stopReason,
    failure,
    usage,
  };
}

/** Whether asking to go on makes sense: the connection or the provider broke, not the request. */
function canGoOn({ kind }: Failure): boolean {
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
 * What the broken answer had finished stays, up to its last text: a thought without what follows it cannot be sent back,
 * and calls of a broken stream are discarded, since nobody knows what else it would have called.
 */
function keepFinished(asking: Asking, items: readonly Item[]): void {
  const lastText = items.findLastIndex((item) => item.type === 'message' && textOf(item.content) !== '');
  const finished = items.slice(0, lastText + 1).filter((item) => item.type !== 'tool-call');
  if (finished.length === 0) return;
  asking.keep([...finished, { type: 'message', role: 'user', content: textContent(GO_ON) }]);
}

const GO_ON =
  'Your answer broke off because of a failure. Go on exactly where it stopped, without repeating anything.';

/** Every attempt is paid for: usage and cost are summed over all of them. */
function account(settings: TurnSettings, spent: readonly Usage[]): Pick<Answered, 'usage' | 'cost'> {
  if (spent.length === 0) return { usage: undefined, cost: undefined };
  const usage = spent.reduce(addUsage);
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
