import { derivedAbort, type PolypodError, WrongState } from '../base/index.ts';
import {
  type Content,
  costOf,
  DEFAULT_RETRY,
  type Item,
  type Model,
  type RetryPolicy,
  type StopReason,
} from '../llm/index.ts';
import { TextBlockCollector, Timeline, ToolCallCollector } from '../timeline/index.ts';
import type { HostToolContext } from '../tools/index.ts';
import { type Answered, answerTurn } from './answering.ts';
import type { Approve } from './approval.ts';
import { type CompactionPolicy, compact, DEFAULT_COMPACTION, isNearLimit } from './compaction.ts';
import { Conversation, type Measured } from './conversation.ts';
import type { Finished } from './decide-call.ts';
import type {
  CompactionReason,
  CompactionResult,
  InputOrigin,
  RunEvent,
  RunOutcome,
  Totals,
} from './event.ts';
import { type Hook, observedBy } from './hooks.ts';
import { Inbox, type Message } from './inbox.ts';
import { DEFAULT_LOOP, type LoopPolicy } from './loop-guard.ts';
import { DEFAULT_PRUNE, type PrunePolicy, pruned } from './prune.ts';
import { boundReached, type RunBounds } from './run-bounds.ts';
import type { TurnSettings } from './settings.ts';
import {
  abandonedResult,
  type ToolBatch,
  type ToolBatchContext,
  newToolBatch,
  resultsOf,
  runToolBatch,
} from './tool-batch.ts';
import { difference, NO_TOTALS } from './totals.ts';

export interface WorkerOptions {
  /** Asked before every turn. */
  readonly settings: () => TurnSettings;
  readonly cwd: string;
  readonly approve: Approve;
  /** What a running call may use, apart from what the worker itself knows. */
  readonly surroundings: (callId: string) => HostToolContext;
  /** Resolves when all events so far are durable; a call has no effect before its start is. */
  readonly written?: () => Promise<void>;
  /** Gets every event, in order, in the batches they came in. */
  readonly emit: (events: readonly RunEvent[]) => void;
  readonly hooks?: readonly Hook[];
  /** The conversation so far, for one that goes on. */
  readonly items?: readonly Item[];
  /** Results of calls at its end that are not in it, because earlier calls of their turn have none yet. */
  readonly finished?: ReadonlyMap<string, Finished>;
  readonly totals?: Totals;
  readonly measured?: Measured;
  /** Asked before every turn, as are the policies. */
  readonly bounds?: () => Partial<RunBounds>;
  readonly policies?: () => Partial<WorkerPolicies>;
  /** Waits between attempts; a test's clock, or one that a person can cut short. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<'waited' | 'given-up'>;
  readonly random?: () => number;
  readonly newRunId?: () => string;
}

export interface WorkerPolicies {
  readonly retry: RetryPolicy;
  readonly maxContinuations: number;
  /** How long a cancelled tool may take to end before the run goes on without it. */
  readonly toolGraceMs: number;
  readonly loop: LoopPolicy;
  readonly prune: PrunePolicy;
  readonly compaction: CompactionPolicy;
}

/**
 * Runs a conversation: asks the model, runs the tools it asks for, and asks again until it asks for none. One run at a
 * time; everything that happens is an event, and a run never rejects for what a model, a tool or a person did.
 */
export class Worker {
  readonly inbox = new Inbox();

  readonly #options: WorkerOptions;
  readonly #conversation: Conversation;
  readonly #emit: Emit;
  /** The calls of the turn under way, or of a paused one. */
  #batch: ToolBatch | undefined;
  /** Results from before this worker, for the first batch only: providers may use the ids of calls again. */
  #early: ReadonlyMap<string, Finished>;
  readonly #halt = new AbortController();
  #pauseWanted = false;
  #running = false;
  #timeline: Timeline | undefined;
  #text: TextBlockCollector | undefined;
  #calls: ToolCallCollector | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#early = options.finished ?? NONE;
    this.#conversation = new Conversation(options.items ?? [], options.totals ?? NO_TOTALS, options.measured);
    this.#emit = observedBy(options.hooks ?? [], options.emit);
  }

  /** For your own handlers. Events are dispatched from the first access on. */
  get timeline(): Timeline {
    return (this.#timeline ??= new Timeline());
  }

  /** Collects the model's text from the first access on: read it before the run whose text you need. */
  get text(): TextBlockCollector {
    return (this.#text ??= new TextBlockCollector().attach(this.timeline));
  }

  /** Collects the model's tool calls from the first access on. */
  get calls(): ToolCallCollector {
    return (this.#calls ??= new ToolCallCollector().attach(this.timeline));
  }

  get items(): readonly Item[] {
    return this.#conversation.items;
  }

  get totals(): Totals {
    return this.#conversation.totals;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Tokens in the context, as far as they are known. */
  get contextTokens(): number {
    return this.#conversation.contextTokens;
  }

  /** From one prompt to quiet. Calls that a paused run left behind are closed first. */
  async run(prompt: Message, signal: AbortSignal): Promise<RunOutcome> {
    return this.#tracked(signal, (stop) => {
      this.#abandonCalls();
      this.#add('prompt', prompt);
      return this.#loop(stop);
    });
  }

  /** Goes on with a paused run, or with a conversation that was broken off: nothing decided is asked again. */
  async resume(signal: AbortSignal): Promise<RunOutcome> {
    return this.#tracked(signal, (stop) => this.#loop(stop));
  }

  /** No further call is started. The run ends when those that run have ended and the rest is decided, or before the next turn. */
  pause(): void {
    if (this.#running) this.#pauseWanted = true;
  }

  /**
   * Stops the calls that run and starts no others, because the process ends. Open questions stay open: they are raised again
   * where the conversation is resumed.
   */
  async halt(): Promise<void> {
    this.#halt.abort();
    for (const running of this.#batch?.running ?? []) await running;
  }

  /** Gives up a paused run: its calls get a result, and nothing of it is run any more. */
  abandon(): void {
    if (this.#running) throw busy();
    this.#abandonCalls();
  }

  /** Puts something between two runs into the conversation, for the model to read with the next prompt. */
  note(origin: InputOrigin, item: Item): void {
    if (this.#running) throw busy();
    this.#conversation.add(item);
    this.#emit([{ type: 'input', origin, item }]);
  }

  /** Summarises all but the newest items now. */
  async compact(instructions: string | undefined, signal: AbortSignal): Promise<CompactionResult> {
    return this.#alone(() => this.#compact('manual', instructions, signal));
  }

  get #policies(): WorkerPolicies {
    return { ...DEFAULT_POLICIES, ...this.#options.policies?.() };
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running) throw busy();
    this.#running = true;
    try {
      return await work();
    } finally {
      this.#running = false;
    }
  }

  async #tracked(signal: AbortSignal, work: (stop: AbortSignal) => Promise<RunOutcome>): Promise<RunOutcome> {
    return this.#alone(async () => {
      // Many calls listen at once, which is more than a caller's signal should bear.
      const { controller, release } = derivedAbort(signal);
      this.#pauseWanted = false;
      const runId = this.#options.newRunId?.() ?? crypto.randomUUID();
      const before = this.totals;
      this.#emit([{ type: 'run-start', runId }]);
      const outcome = await work(controller.signal).finally(release);
      this.#emit([{ type: 'run-end', runId, outcome, totals: difference(this.totals, before) }]);
      return outcome;
    });
  }

  async #loop(signal: AbortSignal): Promise<RunOutcome> {
    const before = this.totals;
    let recovered = false;
    // What waited has just been delivered: in mode one-at-a-time the next message gets a turn of its own.
    let delivered = false;
    for (;;) {
      const open = this.#conversation.openCalls();
      if (open.length > 0) {
        const outcome = await this.#runCalls(this.#batch ?? newToolBatch(open, this.#takeEarly()), signal);
        if (outcome !== undefined) return outcome;
      }
      if (signal.aborted) return { status: 'cancelled' };
      if (!delivered) this.#deliver('steer', this.inbox.takeSteering());
      delivered = false;
      const limit = boundReached(this.#options.bounds?.() ?? {}, difference(this.totals, before));
      if (limit !== undefined) return limit;
      if (this.#pauseWanted) return { status: 'paused', callIds: [] };
      await this.#compactIfFull(signal);
      if (signal.aborted) return { status: 'cancelled' };

      const answered = await this.#answer(signal);
      if (answered.outcome === 'completed' && this.#conversation.openCalls().length > 0) continue;
      this.#emit([{ type: 'turn-end', turn: this.#conversation.turn, results: [] }]);
      if (answered.failure?.kind === 'context-too-long' && !recovered) {
        // The provider's own count is the one that matters: make room once, and ask again.
        recovered = true;
        const { status } = await this.#compact('overflow', undefined, signal);
        if (status === 'compacted') continue;
        return status === 'cancelled' ? { status } : failedOutcome(answered);
      }
      if (answered.outcome === 'cancelled') return { status: 'cancelled' };
      if (answered.outcome === 'failed') return failedOutcome(answered);
      if (goesOn(answered.stopReason)) continue;
      delivered = this.#deliverWaiting();
      if (!delivered) return { status: 'finished' };
    }
  }

  async #answer(signal: AbortSignal): Promise<Answered> {
    const turn = this.#conversation.beginTurn();
    this.#emit([{ type: 'turn-start', turn }]);
    const policies = (): WorkerPolicies => this.#policies;
    const answered = await answerTurn(
      {
        settings: this.#options.settings(),
        items: () => pruned(this.items, this.#policies.prune),
        keep: (items) => {
          this.#conversation.add(...items);
          this.#emit(items.map((item) => ({ type: 'input', origin: 'continuation', item })));
        },
        // As they are when an attempt has failed, which may be long after it began.
        get retry() {
          return policies().retry;
        },
        get maxContinuations() {
          return policies().maxContinuations;
        },
        wait: this.#options.wait ?? waitFor,
        random: this.#options.random ?? Math.random,
        dispatch: (events) => this.#timeline?.dispatchAll(events),
        emit: this.#emit,
      },
      signal,
    );
    const { outcome, items, broken, usage, cost } = answered;
    this.#conversation.addAnswer(items, usage, cost);
    this.#emit([
      {
        type: 'llm-end',
        turn,
        outcome,
        items,
        ...(broken && { broken }),
        ...(usage && { usage }),
        ...(cost && { cost }),
      },
    ]);
    return answered;
  }

  /** Undefined when the conversation goes on. */
  async #runCalls(batch: ToolBatch, signal: AbortSignal): Promise<RunOutcome | undefined> {
    const context = this.#batchContext(batch);
    this.#batch = batch;
    if (this.#pauseWanted) return this.#pauseWith(batch);
    const end = await runToolBatch(batch, context, signal);
    if (end === 'paused') return this.#pauseWith(batch);
    this.#batch = undefined;
    const results =
      end === 'loop'
        ? batch.calls.map((call) => abandonedResult(call, batch.finished.get(call.callId)))
        : resultsOf(batch);
    this.#conversation.addResults(results);
    this.#emit([{ type: 'turn-end', turn: this.#conversation.turn, results }]);
    if (end === 'loop') return LOOPING;
    return signal.aborted ? { status: 'cancelled' } : undefined;
  }

  #batchContext(batch: ToolBatch): ToolBatchContext {
    return {
      tools: this.#options.settings().tools,
      cwd: this.#options.cwd,
      approve: this.#options.approve,
      hooks: this.#options.hooks ?? [],
      past: this.#conversation.sincePrompt(batch.calls[0]),
      loop: this.#policies.loop,
      graceMs: this.#policies.toolGraceMs,
      surroundings: this.#options.surroundings,
      written: this.#options.written ?? (async () => {}),
      interrupts: () => this.inbox.interrupts(),
      isHeld: () => this.#pauseWanted,
      halt: this.#halt.signal,
      emit: this.#emit,
    };
  }

  #takeEarly(): ReadonlyMap<string, Finished> {
    const early = this.#early;
    this.#early = NONE;
    return early;
  }

  #pauseWith(batch: ToolBatch): RunOutcome {
    this.#batch = batch;
    this.#pauseWanted = false;
    return { status: 'paused', callIds: batch.calls.map(({ callId }) => callId) };
  }

  async #compactIfFull(signal: AbortSignal): Promise<void> {
    const { model } = this.#options.settings();
    if (!this.#policies.compaction.auto || !isNearLimit(this.contextTokens, model.contextWindow)) return;
    await this.#compact('threshold', undefined, signal);
  }

  async #compact(
    reason: CompactionReason,
    instructions: string | undefined,
    signal: AbortSignal,
  ): Promise<CompactionResult> {
    const settings = this.#options.settings();
    this.#emit([{ type: 'compaction-start', reason }]);
    const keepTokens = keptTokens(this.#policies.compaction, settings.model);
    const { result, items, usage } = await compact(
      settings,
      this.items,
      { keepTokens, instructions, isAsked: reason === 'manual' },
      signal,
    );
    this.#conversation.replace(items, usage, usage && costOf(settings.model, usage));
    this.#emit([{ type: 'compaction-end', reason, result }]);
    return result;
  }

  /** Steering first; follow-ups only when the work is done and nobody steers. */
  #deliverWaiting(): boolean {
    return (
      this.#deliver('steer', this.inbox.takeSteering()) ||
      this.#deliver('follow-up', this.inbox.takeFollowUps())
    );
  }

  #deliver(origin: InputOrigin, messages: readonly Message[]): boolean {
    for (const message of messages) this.#add(origin, message);
    return messages.length > 0;
  }

  #add(origin: InputOrigin, content: readonly Content[]): void {
    const item: Item = { type: 'message', role: 'user', content };
    this.#conversation.addPrompt(item);
    this.#emit([{ type: 'input', origin, item }]);
  }

  #abandonCalls(): void {
    const results = this.#conversation.closeCalls(this.#batch?.finished ?? this.#takeEarly());
    this.#batch = undefined;
    if (results.length > 0) this.#emit([{ type: 'turn-end', turn: this.#conversation.turn, results }]);
  }
}

const NONE: ReadonlyMap<string, Finished> = new Map();

type Emit = (events: readonly RunEvent[]) => void;

const DEFAULT_POLICIES: WorkerPolicies = {
  retry: DEFAULT_RETRY,
  maxContinuations: 3,
  toolGraceMs: 5000,
  loop: DEFAULT_LOOP,
  prune: DEFAULT_PRUNE,
  compaction: DEFAULT_COMPACTION,
};

const LOOPING: RunOutcome = {
  status: 'limited',
  limit: 'loop',
  message: 'the model made the same call again and again although it was told that this does not help',
};

/** Answers after which the provider or the model has more to say. */
function goesOn(stopReason: StopReason | undefined): boolean {
  return stopReason === 'pause-turn';
}

function failedOutcome({ failure }: Answered): RunOutcome {
  return {
    status: 'failed',
    failure: failure ?? { kind: 'provider', message: 'the provider gave no reason' },
  };
}

/** In a small window the tail has to be small too. */
function keptTokens({ keepTokens }: CompactionPolicy, { contextWindow }: Model): number {
  return contextWindow === undefined ? keepTokens : Math.min(keepTokens, Math.floor(contextWindow / 4));
}

function busy(): PolypodError {
  return new WrongState('a run is under way: steer it, queue a follow-up, or cancel it first');
}

async function waitFor(ms: number, signal: AbortSignal): Promise<'waited'> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(ms, undefined, { signal }).catch(() => {});
  return 'waited';
}
