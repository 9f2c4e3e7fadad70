import { derivedAbort, messageOf, onAbort } from '../base/index.ts';
import { type Content, type Item, textContent } from '../llm/index.ts';
import { errorOutput, type HostToolContext, type ToolOutput, type ToolContext } from '../tools/index.ts';
import {
  type Call,
  type Decided,
  type DecisionContext,
  type Finished,
  judgeCall,
  plainLine,
  refused,
  type Undecided,
} from './decide-call.ts';
import type { CallLine, RunEvent } from './event.ts';
import { type LoopPolicy, loopVerdict, REFUSAL } from './loop-guard.ts';

/** The calls of one turn with what has been decided and done: kept over a pause, so that nothing is asked or run twice. */
export interface ToolBatch {
  readonly calls: readonly Call[];
  readonly decided: Map<string, Decided>;
  readonly finished: Map<string, Finished>;
  /** The calls that run now. */
  readonly running: Set<Promise<void>>;
}

/** `finished`: results that are known already, from before a restart. */
export function newToolBatch(
  calls: readonly Call[],
  finished: ReadonlyMap<string, Finished> = new Map(),
): ToolBatch {
  return { calls, decided: new Map(), finished: new Map(finished), running: new Set() };
}

/** All that running calls needs of the worker. */
export interface ToolBatchContext extends DecisionContext {
  /** What happened between the latest prompt and this turn, for the loop guard. */
  readonly past: readonly Item[];
  readonly loop: LoopPolicy;
  /** How long a cancelled call may take to end before the run goes on without it. */
  readonly graceMs: number;
  readonly surroundings: (callId: string) => HostToolContext;
  /** Resolves when all events so far are durable. A call has no effect before its start is. */
  readonly written: () => Promise<void>;
  /** Whether a person's message wants the rest of the calls to give way. */
  readonly interrupts: () => boolean;
  /** Whether no further call may start: the run is to be paused. */
  readonly isHeld: () => boolean;
  /** Fires when the process has to end while questions are open: calls that run are stopped, the questions stay. */
  readonly halt: AbortSignal;
  readonly emit: (events: readonly RunEvent[]) => void;
}

/**
 * Decides and runs the calls of a turn. Questions are raised in call order, all before the first call starts. A call then
 * starts as soon as it is decided and every earlier call that its result may depend on has ended: a parallel call waits for
 * the earlier calls that are not parallel, any other call for all earlier ones. Later calls are never waited for.
 *
 * With `done` every call has a result, whatever happened. With `paused` some calls are undecided or were not started.
 */
export async function runToolBatch(
  batch: ToolBatch,
  context: ToolBatchContext,
  signal: AbortSignal,
): Promise<'done' | 'paused' | 'loop'> {
  const open = batch.calls.filter(({ callId }) => !batch.finished.has(callId));
  const undecided = open.filter(({ callId }) => !batch.decided.has(callId));
  const verdicts = new Map(undecided.map((call) => [call, loopVerdict(context.past, call, context.loop)]));
  if (!signal.aborted && [...verdicts.values()].includes('stop')) return 'loop';
  // Fires for a cancelled run, and for a message that comes before the rest of the calls.
  const { controller: stop, release } = derivedAbort(signal);
  const judged = signal.aborted
    ? []
    : await Promise.all(
        undecided.map(async (call) =>
          verdicts.get(call) === 'refuse'
            ? refused(plainLine(call), 'failed', REFUSAL)
            : judgeCall(call, context, stop.signal),
        ),
      );
  const schedule = new Schedule(batch, context, { signal, stop });
  // In call order, without a break between them: this is where the questions are raised.
  const answers = undecided.map((call, at) => schedule.take(call, judged[at]));
  await Promise.all(open.map((call) => schedule.run(call)));
  await Promise.all(answers);
  release();
  const unfinished = batch.calls.filter(({ callId }) => !batch.finished.has(callId));
  if (unfinished.length > 0 && !stop.signal.aborted) return 'paused';
  for (const call of unfinished) {
    const line = batch.decided.get(call.callId)?.line ?? plainLine(call);
    context.emit([{ type: 'tool-start', call: line }]);
    finish(batch, line, signal.aborted ? INTERRUPTED : SKIPPED, context);
  }
  return 'done';
}

/** When each call of a batch starts. */
class Schedule {
  readonly #batch: ToolBatch;
  readonly #context: ToolBatchContext;
  readonly #signal: AbortSignal;
  readonly #stop: AbortController;
  /** For each open call, by id: resolves when it is decided. */
  readonly #decisions = new Map<string, Promise<void>>();
  /** Whether calls after it must wait for it even if they are parallel. */
  readonly #exclusive = new Set<string>();
  /** Resolves when a call has ended, or will not be started. */
  readonly #over = new Map<string, Promise<void>>();
  /** A call stays undecided: what comes after it has to wait for the resumed run. */
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
    for (const [callId, decided] of batch.decided) this.#note(callId, decided);
  }

  /** Takes in what is known of a call, and raises its question if there is one. */
  take(call: Call, judged: Decided | Undecided | undefined): Promise<void> {
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

  /** Resolves when the call has ended, or is known not to start. */
  run(call: Call): Promise<void> {
    const before = this.#batch.calls.slice(0, this.#batch.calls.indexOf(call));
    const over = this.#run(call, before);
    this.#over.set(call.callId, over);
    return over;
  }

  async #run(call: Call, before: readonly Call[]): Promise<void> {
    const { callId } = call;
    await this.#decisions.get(callId);
    const decided = this.#batch.decided.get(callId);
    if (decided === undefined) return;
    // A refusal does nothing that an earlier call could change.
    if (!('refused' in decided)) {
      const awaited = before.filter((earlier) => !decided.parallel || this.#exclusive.has(earlier.callId));
      for (const { callId: earlier } of awaited) await this.#over.get(earlier);
    }
    if (this.#stop.signal.aborted || this.#isHeld()) return;
    const running = this.#perform(call, decided);
    this.#batch.running.add(running);
    await running;
    this.#batch.running.delete(running);
    if (this.#context.interrupts()) this.#stop.abort();
  }

  #isHeld(): boolean {
    return this.#isPaused || this.#context.isHeld() || this.#context.halt.aborted;
  }

  async #perform(call: Call, decided: Decided): Promise<void> {
    const { halt } = this.#context;
    const { controller: ended, release } = derivedAbort(this.#stop.signal);
    const forget = onAbort(halt, () => ended.abort());
    try {
      await runOne(this.#batch, call, decided, this.#context, {
        signal: ended.signal,
        cancelled: () => this.#signal.aborted || halt.aborted,
      });
    } finally {
      forget();
      release();
    }
  }

  #settle(callId: string, decided: Decided | undefined): void {
    if (decided === undefined) {
      this.#isPaused = true;
      return;
    }
    this.#batch.decided.set(callId, decided);
    this.#note(callId, decided);
  }

  #note(callId: string, decided: Decided): void {
    if ('refused' in decided || decided.parallel) this.#exclusive.delete(callId);
    else this.#exclusive.add(callId);
  }
}

/** Why a call may be stopped: the run is cancelled or the process ends, or else a person's message came first. */
interface Stopping {
  readonly signal: AbortSignal;
  readonly cancelled: () => boolean;
}

async function runOne(
  batch: ToolBatch,
  call: Call,
  decided: Decided,
  context: ToolBatchContext,
  { signal, cancelled }: Stopping,
): Promise<void> {
  const { line } = decided;
  context.emit([{ type: 'tool-start', call: line }]);
  if ('refused' in decided) {
    finish(batch, line, decided.refused, context);
    return;
  }
  const around: ToolContext = {
    ...context.surroundings(call.callId),
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
  const begin = async (): Promise<ToolOutput | undefined> => {
    await context.written();
    return signal.aborted ? undefined : decided.run.run(around, signal);
  };
  const output = await settled(begin(), signal, context.graceMs);
  if (signal.aborted && !cancelled()) finish(batch, line, SKIPPED, context);
  else if (output === undefined) finish(batch, line, INTERRUPTED, context);
  else {
    const status = signal.aborted ? 'interrupted' : output.isError ? 'failed' : 'done';
    finish(batch, line, { status, output: capped(output) }, context);
  }
}

/** The output; undefined when the call was cancelled and does not end. What a tool throws is a failed result. */
async function settled(
  running: Promise<ToolOutput | undefined>,
  signal: AbortSignal,
  graceMs: number,
): Promise<ToolOutput | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let forget = (): void => {};
  const givenUp = new Promise<undefined>((resolve) => {
    forget = onAbort(signal, () => {
      timer = setTimeout(resolve, graceMs, undefined);
    });
  });
  try {
    return await Promise.race([running, givenUp]);
  } catch (thrown) {
    return errorOutput(messageOf(thrown));
  } finally {
    forget();
    clearTimeout(timer);
  }
}

function finish(batch: ToolBatch, line: CallLine, finished: Finished, context: ToolBatchContext): void {
  batch.finished.set(line.callId, finished);
  context.emit([{ type: 'tool-end', callId: line.callId, name: line.name, ...finished }]);
}

/** The results of a batch as items, in call order. */
export function resultsOf(batch: ToolBatch): readonly Item[] {
  return batch.calls.flatMap(({ callId }): readonly Item[] => {
    const finished = batch.finished.get(callId);
    if (finished === undefined) return [];
    const { content, isError } = finished.output;
    return [{ type: 'tool-result', callId, content, isError }];
  });
}

const SKIPPED: Finished = { status: 'skipped', output: errorOutput('Skipped due to queued user message.') };
const INTERRUPTED: Finished = { status: 'interrupted', output: errorOutput('Tool execution was aborted') };

/** The result of a call that a broken or abandoned turn left behind: every call has one. */
export function abandonedResult({ callId }: Call, { output } = INTERRUPTED): Item {
  return { type: 'tool-result', callId, content: output.content, isError: output.isError };
}

/** Tools cap their own output; this is the net below them. */
const MAX_TEXT = 400_000;

function capped(output: ToolOutput): ToolOutput {
  const fits = output.content.every((part) => part.type !== 'text' || part.text.length <= MAX_TEXT);
  return fits ? output : { ...output, content: output.content.flatMap(cappedPart) };
}

function cappedPart(part: Content): readonly Content[] {
  if (part.type !== 'text' || part.text.length <= MAX_TEXT) return [part];
  return textContent(
    `${part.text.slice(0, MAX_TEXT)}\n[${part.text.length - MAX_TEXT} more characters left out]`,
  );
}
