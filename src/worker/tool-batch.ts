import { derivedAbort, messageOf, onAbort } from '../base/index.ts';
import { type Content, type Item, textContent } from '../llm/index.ts';
import {
  errorOutput,
  type HostToolContext,
  type ModelUse,
  type ToolOutput,
  type ToolContext,
} from '../tools/index.ts';
import {
  type JudgedCall,
  type CallDecision,
  type DecisionContext,
  type CallOutcome,
  judgeCall,
  untitledLine,
  refuseCall,
  type PendingDecision,
} from './decide-call.ts';
import type { CallLine, RunEvent } from './event.ts';
import { type LoopPolicy, loopVerdict, LOOP_REFUSAL } from './loop-guard.ts';

/** The calls of one turn with their decisions and outcomes. Kept during a pause, so that nothing is asked or run twice. */
export interface ToolBatch {
  readonly calls: readonly JudgedCall[];
  readonly decided: Map<string, CallDecision>;
  readonly finished: Map<string, CallOutcome>;
  /** The running calls. */
  readonly running: Set<Promise<void>>;
}

/** `finished` holds the results from before a restart. */
export function newToolBatch(
  calls: readonly JudgedCall[],
  finished: ReadonlyMap<string, CallOutcome> = new Map(),
): ToolBatch {
  return { calls, decided: new Map(), finished: new Map(finished), running: new Set() };
}

/** What the batch needs from the worker. */
export interface ToolBatchContext extends DecisionContext {
  /** The items between the latest prompt and this turn, for the loop guard. */
  readonly history: readonly Item[];
  readonly loop: LoopPolicy;
  /** How long to wait for a cancelled call to end. */
  readonly graceMs: number;
  readonly toolContext: (callId: string) => HostToolContext;
  /** Resolves when all events so far are durable. A call has no effect before its start is. */
  readonly whenDurable: () => Promise<void>;
  /** Whether a person's message wants the rest of the calls to give way. */
  readonly interrupts: () => boolean;
  /** Whether no further call may start, because the run is being paused. */
  readonly isPausing: () => boolean;
  /** Aborts when the process ends: running calls are stopped, pending approvals stay open. */
  readonly halt: AbortSignal;
  readonly emit: (events: readonly RunEvent[]) => void;
  /** Adds what a call used of models to the totals. */
  readonly addUse: (used: ModelUse) => void;
}

/**
 * Decides and runs the calls of a turn. Approvals are requested in call order, all before the first call starts. A call
 * starts as soon as it is decided and every earlier call that it may depend on has ended: a parallel call waits for the
 * earlier calls that are not parallel, any other call for all earlier ones.
 *
 * `done`: every call has a result. `paused`: some calls are undecided or were not started.
 */
export async function runToolBatch(
  batch: ToolBatch,
  context: ToolBatchContext,
  signal: AbortSignal,
): Promise<'done' | 'paused' | 'loop'> {
  const open = batch.calls.filter(({ callId }) => !batch.finished.has(callId));
  const undecided = open.filter(({ callId }) => !batch.decided.has(callId));
  const verdicts = new Map(undecided.map((call) => [call, loopVerdict(context.history, call, context.loop)]));
  if (!signal.aborted && [...verdicts.values()].includes('stop')) return 'loop';
  // Aborts for a cancelled run, and for a steering message that skips the remaining calls.
  const { controller: stop, release } = derivedAbort(signal);
  const judged = signal.aborted
    ? []
    : await Promise.all(
        undecided.map(async (call) =>
          verdicts.get(call) === 'refuse'
            ? refuseCall(untitledLine(call), 'failed', LOOP_REFUSAL)
            : judgeCall(call, context, stop.signal),
        ),
      );
  const schedule = new Schedule(batch, context, { signal, stop });
  // Synchronously and in call order: this requests the approvals.
  const answers = undecided.map((call, at) => schedule.take(call, judged[at]));
  await Promise.all(open.map((call) => schedule.run(call)));
  await Promise.all(answers);
  release();
  const unfinished = batch.calls.filter(({ callId }) => !batch.finished.has(callId));
  if (unfinished.length > 0 && !stop.signal.aborted) return 'paused';
  for (const call of unfinished) {
    const line = batch.decided.get(call.callId)?.line ?? untitledLine(call);
    context.emit([{ type: 'tool-start', call: line }]);
    finish(batch, line, signal.aborted ? INTERRUPTED : SKIPPED, context);
  }
  return 'done';
}

/** Decides when each call of a batch starts. */
class Schedule {
  readonly #batch: ToolBatch;
  readonly #context: ToolBatchContext;
  readonly #signal: AbortSignal;
  readonly #stop: AbortController;
  /** By call id: resolves when the call is decided. */
  readonly #decisions = new Map<string, Promise<void>>();
  /** Calls that later calls must wait for even if these are parallel. */
  readonly #exclusive = new Set<string>();
  /** By call id: resolves when the call has ended or will not be started. */
  readonly #completion = new Map<string, Promise<void>>();
  /** A call stays undecided, so no further call starts until the run is resumed. */
  #isPaused = false;

  constructor(
    batch: ToolBatch,
    context: ToolBatchContext,
    { signal, stop }: { readonly signal: AbortSignal; readonly stop: AbortController },
  ) {
    this.#batch = batch;
    this.#context = context;
    this.#signal = signal;
    this.#stop = stop;
    for (const [callId, decided] of batch.decided) this.#trackExclusive(callId, decided);
  }

  /** Records the decision about a call, or requests its approval. */
  take(call: JudgedCall, judged: CallDecision | PendingDecision | undefined): Promise<void> {
    const { callId } = call;
    if (judged === undefined) this.#isPaused = true;
    else if ('ask' in judged) {
      if (!judged.parallel) this.#exclusive.add(callId);
      const decided = judged.ask().then((decision) => this.#settle(callId, decision));
      this.#decisions.set(callId, decided);
      return decided;
    } else this.#settle(callId, judged);
    return Promise.resolve();
  }

  /** Resolves when the call has ended or will not be started. */
  run(call: JudgedCall): Promise<void> {
    const before = this.#batch.calls.slice(0, this.#batch.calls.indexOf(call));
    const completion = this.#run(call, before);
    this.#completion.set(call.callId, completion);
    return completion;
  }

  async #run(call: JudgedCall, before: readonly JudgedCall[]): Promise<void> {
    const { callId } = call;
    await this.#decisions.get(callId);
    const decided = this.#batch.decided.get(callId);
    if (decided === undefined) return;
    // A refused call need not wait: it has no effects.
    if (!('refused' in decided)) {
      const awaited = before.filter((earlier) => !decided.parallel || this.#exclusive.has(earlier.callId));
      for (const { callId: earlier } of awaited) await this.#completion.get(earlier);
    }
    if (this.#stop.signal.aborted || this.#isHeld()) return;
    const running = this.#runWithSignals(call, decided);
    this.#batch.running.add(running);
    await running;
    this.#batch.running.delete(running);
    if (this.#context.interrupts()) this.#stop.abort();
  }

  #isHeld(): boolean {
    return this.#isPaused || this.#context.isPausing() || this.#context.halt.aborted;
  }

  async #runWithSignals(call: JudgedCall, decided: CallDecision): Promise<void> {
    const { halt } = this.#context;
    const { controller: ended, release } = derivedAbort(this.#stop.signal);
    const removeListener = onAbort(halt, () => ended.abort());
    try {
      await runOne(this.#batch, call, decided, this.#context, {
        signal: ended.signal,
        cancelled: () => this.#signal.aborted || halt.aborted,
      });
    } finally {
      removeListener();
      release();
    }
  }

  #settle(callId: string, decided: CallDecision | undefined): void {
    if (decided === undefined) {
      this.#isPaused = true;
      return;
    }
    this.#batch.decided.set(callId, decided);
    this.#trackExclusive(callId, decided);
  }

  #trackExclusive(callId: string, decided: CallDecision): void {
    if ('refused' in decided || decided.parallel) this.#exclusive.delete(callId);
    else this.#exclusive.add(callId);
  }
}

/** `cancelled` is true if the run is cancelled or the process ends, as opposed to a steering message. */
interface Stopping {
  readonly signal: AbortSignal;
  readonly cancelled: () => boolean;
}

async function runOne(
  batch: ToolBatch,
  call: JudgedCall,
  decided: CallDecision,
  context: ToolBatchContext,
  { signal, cancelled }: Stopping,
): Promise<void> {
  const { line } = decided;
  context.emit([{ type: 'tool-start', call: line }]);
  if ('refused' in decided) {
    finish(batch, line, decided.refused, context);
    return;
  }
  const toolContext: ToolContext = {
    ...context.toolContext(call.callId),
    callId: call.callId,
    cwd: context.cwd,
    resolve: decided.resolve,
    approved: decided.approved,
    prepareReadOnly: decided.prepareReadOnly,
    update: (text) => {
      if (!batch.finished.has(call.callId))
        context.emit([{ type: 'tool-update', callId: call.callId, text }]);
    },
  };
  const start = async (): Promise<ToolOutput | undefined> => {
    await context.whenDurable();
    return signal.aborted ? undefined : decided.run.run(toolContext, signal);
  };
  const output = await outputOrTimeout(start(), signal, context.graceMs);
  if (signal.aborted && !cancelled()) finish(batch, line, SKIPPED, context);
  else if (output === undefined) finish(batch, line, INTERRUPTED, context);
  else {
    const status = signal.aborted ? 'interrupted' : output.isError ? 'failed' : 'done';
    finish(batch, line, { status, output: limitOutput(output) }, context);
  }
}

/** The output; undefined if the call was cancelled and does not end in time. An error of the tool is a failed result. */
async function outputOrTimeout(
  running: Promise<ToolOutput | undefined>,
  signal: AbortSignal,
  graceMs: number,
): Promise<ToolOutput | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let removeListener = (): void => {};
  const timedOut = new Promise<undefined>((resolve) => {
    removeListener = onAbort(signal, () => {
      timer = setTimeout(resolve, graceMs, undefined);
    });
  });
  try {
    return await Promise.race([running, timedOut]);
  } catch (thrown) {
    return errorOutput(messageOf(thrown));
  } finally {
    removeListener();
    clearTimeout(timer);
  }
}

function finish(batch: ToolBatch, line: CallLine, finished: CallOutcome, context: ToolBatchContext): void {
  batch.finished.set(line.callId, finished);
  if (finished.output.used !== undefined) context.addUse(finished.output.used);
  context.emit([{ type: 'tool-end', callId: line.callId, name: line.name, ...finished }]);
}

/** The results of a batch as items, in call order. */
export function toolResults(batch: ToolBatch): readonly Item[] {
  return batch.calls.flatMap(({ callId }): readonly Item[] => {
    const finished = batch.finished.get(callId);
    if (finished === undefined) return [];
    const { content, isError } = finished.output;
    return [{ type: 'tool-result', callId, content, isError }];
  });
}

const SKIPPED: CallOutcome = {
  status: 'skipped',
  output: errorOutput('Skipped due to queued user message.'),
};
const INTERRUPTED: CallOutcome = { status: 'interrupted', output: errorOutput('Tool execution was aborted') };

/** The result of a call in an interrupted or abandoned turn: every call needs one. */
export function abandonedResult({ callId }: JudgedCall, { output } = INTERRUPTED): Item {
  return { type: 'tool-result', callId, content: output.content, isError: output.isError };
}

/** A last limit, in case a tool does not limit its own output. */
const MAX_TEXT = 400_000;

function limitOutput(output: ToolOutput): ToolOutput {
  const fits = output.content.every((part) => part.type !== 'text' || part.text.length <= MAX_TEXT);
  return fits ? output : { ...output, content: output.content.flatMap(limitPart) };
}

function limitPart(part: Content): readonly Content[] {
  if (part.type !== 'text' || part.text.length <= MAX_TEXT) return [part];
  return textContent(
    `${part.text.slice(0, MAX_TEXT)}\n[${part.text.length - MAX_TEXT} more characters left out]`,
  );
}
