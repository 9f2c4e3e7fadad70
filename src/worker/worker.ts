import { derivedAbort, type PolypodError, WrongStateError, withoutUndefined } from '../base/index.ts';
import {
  type Content,
  type Cost,
  costOf,
  DEFAULT_RETRY,
  type Item,
  type Model,
  type RetryPolicy,
  type StopReason,
  textContent,
  type Usage,
} from '../llm/index.ts';
import { TextBlockCollector, Timeline, ToolCallCollector } from '../timeline/index.ts';
import type { HostToolContext } from '../tools/index.ts';
import { type TurnAnswer, answerTurn } from './answer-turn.ts';
import type { Approve } from './approval.ts';
import {
  type CompactionPolicy,
  type CompactionRequest,
  compact,
  DEFAULT_COMPACTION,
  isNearLimit,
} from './compaction.ts';
import { Conversation, type ContextMeasurement } from './conversation.ts';
import type { CallOutcome } from './decide-call.ts';
import type {
  CompactionReason,
  CompactionResult,
  InputOrigin,
  RunEvent,
  RunOutcome,
  Totals,
} from './event.ts';
import { type Hook, withObservers } from './hooks.ts';
import { Inbox, type Message } from './inbox.ts';
import { DEFAULT_LOOP, type LoopPolicy } from './loop-guard.ts';
import { DEFAULT_PRUNE, type PrunePolicy, pruneItems } from './prune.ts';
import { boundReached, type RunBounds } from './run-bounds.ts';
import type { TurnSettings } from './settings.ts';
import {
  abandonedResult,
  type ToolBatch,
  type ToolBatchContext,
  newToolBatch,
  toolResults,
  runToolBatch,
} from './tool-batch.ts';
import { subtractTotals, NO_TOTALS } from './totals.ts';

export interface WorkerOptions {
  /** Called before every turn. */
  readonly settings: () => TurnSettings;
  readonly cwd: string;
  readonly approve: Approve;
  /** What a running call may use, apart from what the worker itself knows. */
  readonly toolContext: (callId: string) => HostToolContext;
  /** Resolves when all events so far are durable; a call has no effect before its start is. */
  readonly whenDurable?: () => Promise<void>;
  /** Gets every event, in order, in the batches they came in. */
  readonly emit: (events: readonly RunEvent[]) => void;
  readonly hooks?: readonly Hook[];
  /** The items of a conversation to continue. */
  readonly items?: readonly Item[];
  /** Results of calls at its end that are not in `items`, because earlier calls of their turn have none yet. */
  readonly finished?: ReadonlyMap<string, CallOutcome>;
  readonly totals?: Totals;
  readonly measured?: ContextMeasurement;
  /** Called before every turn, like `policies`. */
  readonly bounds?: () => Partial<RunBounds>;
  readonly policies?: () => Partial<WorkerPolicies>;
  /** Called before every request: what happened meanwhile, for the model. It is not called again about the same. */
  readonly notices?: () => readonly string[];
  /** Waits between attempts. Replaceable for tests, and for users who cut the wait short. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<'waited' | 'given-up'>;
  readonly random?: () => number;
  readonly newRunId?: () => string;
}

export interface WorkerPolicies {
  readonly retry: RetryPolicy;
  readonly maxContinuations: number;
  /** How long to wait for a cancelled tool to end. */
  readonly toolGraceMs: number;
  readonly loop: LoopPolicy;
  readonly prune: PrunePolicy;
  readonly compaction: CompactionPolicy;
}

/**
 * Runs a conversation: requests an answer, runs its tool calls, and repeats until the answer has none. One run at a time.
 * Everything that happens is an event; a run never rejects because of a model, a tool or a user.
 */
export class Worker {
  readonly inbox = new Inbox();

  readonly #options: WorkerOptions;
  readonly #conversation: Conversation;
  readonly #emit: Emit;
  /** The calls of the current or paused turn. */
  #batch: ToolBatch | undefined;
  /** Results from before this worker. Only for the first batch, because providers may reuse call ids. */
  #resultsBeforeStart: ReadonlyMap<string, CallOutcome>;
  readonly #halt = new AbortController();
  #isPauseRequested = false;
  #running = false;
  #timeline: Timeline | undefined;
  #text: TextBlockCollector | undefined;
  #calls: ToolCallCollector | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#resultsBeforeStart = options.finished ?? NO_RESULTS;
    this.#conversation = new Conversation(options.items ?? [], options.totals ?? NO_TOTALS, options.measured);
    this.#emit = withObservers(options.hooks ?? [], options.emit);
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

  /** Adds the usage of a request that is not part of the conversation to the totals. */
  count(usage: Usage | undefined, cost: Cost | undefined): void {
    this.#conversation.count(usage, cost);
  }

  get running(): boolean {
    return this.#running;
  }

  /** The tokens in the context: measured where possible, otherwise estimated. */
  get contextTokens(): number {
    return this.#conversation.contextTokens;
  }

  /** Runs from one prompt until there is nothing left to do. Open calls of a paused run are closed first. */
  async run(prompt: Message, signal: AbortSignal): Promise<RunOutcome> {
    return this.#emitRun(signal, (stop) => {
      this.#abandonCalls();
      this.#add('prompt', prompt);
      return this.#loop(stop);
    });
  }

  /** Continues a paused run or an interrupted conversation. Decided calls are not asked again. */
  async resume(signal: AbortSignal): Promise<RunOutcome> {
    return this.#emitRun(signal, (stop) => this.#loop(stop));
  }

  /** Starts no further call. The run ends when the running calls have ended and the rest is decided, or before the next turn. */
  pause(): void {
    if (this.#running) this.#isPauseRequested = true;
  }

  /**
   * Stops the running calls and starts no others, because the process ends. Pending approvals stay open: they are requested
   * again when the conversation is resumed.
   */
  async halt(): Promise<void> {
    this.#halt.abort();
    for (const running of this.#batch?.running ?? []) await running;
  }

  /** Gives up a paused run: its open calls get a result and are not run. */
  abandon(): void {
    if (this.#running) throw runActiveError();
    this.#abandonCalls();
  }

  /** Adds an item between two runs, to be sent with the next prompt. */
  addInput(origin: InputOrigin, item: Item): void {
    if (this.#running) throw runActiveError();
    this.#conversation.add(item);
    this.#emit([{ type: 'input', origin, item }]);
  }

  /** Summarizes all but the newest items now. */
  async compact(request: CompactionRequest, signal: AbortSignal): Promise<CompactionResult> {
    return this.#exclusively(() => this.#compact('manual', request, signal));
  }

  get #policies(): WorkerPolicies {
    return { ...DEFAULT_POLICIES, ...this.#options.policies?.() };
  }

  async #exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running) throw runActiveError();
    this.#running = true;
    try {
      return await work();
    } finally {
      this.#running = false;
    }
  }

  async #emitRun(signal: AbortSignal, work: (stop: AbortSignal) => Promise<RunOutcome>): Promise<RunOutcome> {
    return this.#exclusively(async () => {
      // A separate signal, because many calls listen at once and would exceed the listener limit of the caller's.
      const { controller, release } = derivedAbort(signal);
      this.#isPauseRequested = false;
      const runId = this.#options.newRunId?.() ?? crypto.randomUUID();
      const before = this.totals;
      this.#emit([{ type: 'run-start', runId }]);
      const outcome = await work(controller.signal).finally(release);
      this.#emit([{ type: 'run-end', runId, outcome, totals: subtractTotals(this.totals, before) }]);
      return outcome;
    });
  }

  async #loop(signal: AbortSignal): Promise<RunOutcome> {
    const before = this.totals;
    let recovered = false;
    // Pending messages have just been delivered: in the mode one-at-a-time, the next message gets its own turn.
    let delivered = false;
    for (;;) {
      const open = this.#conversation.openCalls();
      if (open.length > 0) {
        const outcome = await this.#runCalls(
          this.#batch ?? newToolBatch(open, this.#takeResultsBeforeStart()),
          signal,
        );
        if (outcome !== undefined) return outcome;
      }
      if (signal.aborted) return { status: 'cancelled' };
      if (!delivered) this.#deliver('steer', this.inbox.takeSteering());
      delivered = false;
      const limit = boundReached(this.#options.bounds?.() ?? {}, subtractTotals(this.totals, before));
      if (limit !== undefined) return limit;
      if (this.#isPauseRequested) return { status: 'paused', callIds: [] };
      await this.#compactIfFull(signal);
      if (signal.aborted) return { status: 'cancelled' };
      this.#addNotices();

      const answer = await this.#answer(signal);
      if (answer.outcome === 'completed' && this.#conversation.openCalls().length > 0) continue;
      this.#emit([{ type: 'turn-end', turn: this.#conversation.turn, results: [] }]);
      if (answer.failure?.kind === 'context-too-long' && !recovered) {
        // Only the provider's own token count is exact: compact once and retry.
        recovered = true;
        const { status } = await this.#compact('overflow', {}, signal);
        if (status === 'compacted') continue;
        return status === 'cancelled' ? { status } : failedOutcome(answer);
      }
      if (answer.outcome === 'cancelled') return { status: 'cancelled' };
      if (answer.outcome === 'failed') return failedOutcome(answer);
      if (mustContinue(answer.stopReason)) continue;
      delivered = this.#deliverWaiting();
      if (!delivered) return { status: 'finished' };
    }
  }

  async #answer(signal: AbortSignal): Promise<TurnAnswer> {
    const turn = this.#conversation.beginTurn();
    this.#emit([{ type: 'turn-start', turn }]);
    const policies = (): WorkerPolicies => this.#policies;
    const answer = await answerTurn(
      {
        settings: this.#options.settings(),
        items: () => pruneItems(this.items, this.#policies.prune),
        keep: (items) => {
          this.#conversation.add(...items);
          this.#emit(items.map((item) => ({ type: 'input', origin: 'continuation', item })));
        },
        // Read when an attempt has failed, which may be long after it started.
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
    const { outcome, items, broken, usage, cost } = answer;
    this.#conversation.addAnswer(items, usage, cost);
    this.#emit([
      {
        type: 'llm-end',
        turn,
        outcome,
        items,
        ...withoutUndefined({ broken, usage, cost }),
      },
    ]);
    return answer;
  }

  /** Returns undefined if the run continues. */
  async #runCalls(batch: ToolBatch, signal: AbortSignal): Promise<RunOutcome | undefined> {
    const context = this.#batchContext(batch);
    this.#batch = batch;
    if (this.#isPauseRequested) return this.#pauseBatch(batch);
    const end = await runToolBatch(batch, context, signal);
    if (end === 'paused') return this.#pauseBatch(batch);
    this.#batch = undefined;
    const results =
      end === 'loop'
        ? batch.calls.map((call) => abandonedResult(call, batch.finished.get(call.callId)))
        : toolResults(batch);
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
      history: this.#conversation.sincePrompt(batch.calls[0]),
      loop: this.#policies.loop,
      graceMs: this.#policies.toolGraceMs,
      toolContext: this.#options.toolContext,
      whenDurable: this.#options.whenDurable ?? (async () => {}),
      interrupts: () => this.inbox.interrupts(),
      isPausing: () => this.#isPauseRequested,
      halt: this.#halt.signal,
      emit: this.#emit,
      addUse: (used) => this.#conversation.addUse(used),
    };
  }

  #takeResultsBeforeStart(): ReadonlyMap<string, CallOutcome> {
    const resultsBeforeStart = this.#resultsBeforeStart;
    this.#resultsBeforeStart = NO_RESULTS;
    return resultsBeforeStart;
  }

  #pauseBatch(batch: ToolBatch): RunOutcome {
    this.#batch = batch;
    this.#isPauseRequested = false;
    return { status: 'paused', callIds: batch.calls.map(({ callId }) => callId) };
  }

  async #compactIfFull(signal: AbortSignal): Promise<void> {
    const { model } = this.#options.settings();
    if (!this.#policies.compaction.auto || !isNearLimit(this.contextTokens, model.contextWindow)) return;
    await this.#compact('threshold', {}, signal);
  }

  async #compact(
    reason: CompactionReason,
    request: CompactionRequest,
    signal: AbortSignal,
  ): Promise<CompactionResult> {
    const settings = this.#options.settings();
    this.#emit([{ type: 'compaction-start', reason }]);
    const keepTokens = tokensToKeep(this.#policies.compaction, settings.model);
    const { result, items, usage } = await compact(
      settings,
      this.items,
      { ...request, keepTokens, isAsked: reason === 'manual' },
      signal,
    );
    this.#conversation.replace(items, usage, usage && costOf(settings.model, usage));
    this.#emit([{ type: 'compaction-end', reason, result }]);
    return result;
  }

  /** Delivers steering first, and follow-ups only if there is no steering. */
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

  #addNotices(): void {
    const notices = this.#options.notices?.() ?? [];
    if (notices.length === 0) return;
    const item: Item = { type: 'message', role: 'user', content: textContent(notices.join('\n')) };
    this.#conversation.add(item);
    this.#emit([{ type: 'input', origin: 'notice', item }]);
  }

  #abandonCalls(): void {
    const results = this.#conversation.closeCalls(this.#batch?.finished ?? this.#takeResultsBeforeStart());
    this.#batch = undefined;
    if (results.length > 0) this.#emit([{ type: 'turn-end', turn: this.#conversation.turn, results }]);
  }
}

const NO_RESULTS: ReadonlyMap<string, CallOutcome> = new Map();

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
  message: 'the model kept repeating the same call although it was refused',
};

/** Whether the answer is to be continued by another request. */
function mustContinue(stopReason: StopReason | undefined): boolean {
  return stopReason === 'pause-turn';
}

function failedOutcome({ failure }: TurnAnswer): RunOutcome {
  return {
    status: 'failed',
    failure: failure ?? { kind: 'provider', message: 'the provider gave no reason' },
  };
}

/** Limits the kept tokens to a quarter of a small context window. */
function tokensToKeep({ keepTokens }: CompactionPolicy, { contextWindow }: Model): number {
  return contextWindow === undefined ? keepTokens : Math.min(keepTokens, Math.floor(contextWindow / 4));
}

function runActiveError(): PolypodError {
  return new WrongStateError('a run is under way: steer it, queue a follow-up, or cancel it first');
}

async function waitFor(ms: number, signal: AbortSignal): Promise<'waited'> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(ms, undefined, { signal }).catch(() => {});
  return 'waited';
}
