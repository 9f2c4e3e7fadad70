import { PolypodError } from '../base/index.ts';
import {
  type Content,
  costOf,
  DEFAULT_RETRY,
  type Item,
  type Model,
  type RetryPolicy,
  type StopReason,
  type Usage,
} from '../llm/index.ts';
import { TextBlockCollector, Timeline, ToolCallCollector } from '../timeline/index.ts';
import type { ToolSurroundings } from '../tools/index.ts';
import { type Answered, answerTurn } from './answering.ts';
import type { Approve } from './approval.ts';
import { type CompactionPolicy, compact, DEFAULT_COMPACTION, isNearLimit } from './compaction.ts';
import type {
  CompactionReason,
  CompactionResult,
  InputOrigin,
  RunEvent,
  RunOutcome,
  Totals,
} from './event.ts';
import type { Hook } from './hooks.ts';
import { Inbox, type Message } from './inbox.ts';
import { DEFAULT_LOOP, type LoopPolicy } from './loop-guard.ts';
import { DEFAULT_PRUNE, type PrunePolicy, pruned } from './prune.ts';
import type { TurnSettings } from './settings.ts';
import { estimateTokens } from './tokens.ts';
import {
  abandonedResult,
  type Batch,
  type BatchContext,
  type Call,
  decideBatch,
  newBatch,
  resultsOf,
  runBatch,
} from './tool-batch.ts';
import { countCalls, countTurn, NO_TOTALS, sum } from './totals.ts';

export interface WorkerOptions {
  /** Asked before every turn. */
  readonly settings: () => TurnSettings;
  readonly cwd: string;
  readonly approve: Approve;
  /** What a running call may use, apart from what the worker itself knows. */
  readonly surroundings: (callId: string) => Omit<ToolSurroundings, 'cwd' | 'resolve' | 'update'>;
  /** Gets every event, in order, in the batches they came in. */
  readonly emit: (events: readonly RunEvent[]) => void;
  readonly hooks?: readonly Hook[];
  /** The conversation so far, for one that goes on. */
  readonly items?: readonly Item[];
  readonly totals?: Totals;
  readonly bounds?: Partial<RunBounds>;
  readonly policies?: Partial<WorkerPolicies>;
  /** Waits between attempts; a test's clock, or one that a person can cut short. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<'waited' | 'given-up'>;
  readonly random?: () => number;
  readonly newRunId?: () => string;
}

/** Where a run ends although the model would go on. */
export interface RunBounds {
  readonly maxTurns: number;
  /** In USD. */
  readonly budget: number;
}

export interface WorkerPolicies {
  readonly retry: RetryPolicy;
  readonly maxContinuations: number;
  readonly loop: LoopPolicy;
  readonly prune: PrunePolicy;
  readonly compaction: CompactionPolicy;
}

/**
 * Runs a conversation: asks the model, runs the tools it asks for, and asks again until it asks for none. One run at a
 * time; everything that happens is an event, and a run never rejects for what a model, a tool or a person did.
 */
export class Worker {
  /** For handlers of one's own; the collectors are attached already. */
  readonly timeline = new Timeline();
  readonly text = new TextBlockCollector();
  readonly calls = new ToolCallCollector();
  readonly inbox = new Inbox();

  readonly #options: WorkerOptions;
  readonly #policies: WorkerPolicies;
  #items: readonly Item[];
  #totals: Totals;
  #turn: number;
  /** The last usage, and how many items the conversation had then: what the context holds. */
  #measured: { readonly tokens: number; readonly items: number } | undefined;
  #paused: Batch | undefined;
  #pauseWanted = false;
  #running = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#policies = {
      retry: DEFAULT_RETRY,
      maxContinuations: 3,
      loop: DEFAULT_LOOP,
      prune: DEFAULT_PRUNE,
      compaction: DEFAULT_COMPACTION,
      ...options.policies,
    };
    this.#items = options.items ?? [];
    this.#totals = options.totals ?? NO_TOTALS;
    this.#turn = this.#totals.turns;
    this.text.attach(this.timeline);
    this.calls.attach(this.timeline);
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  get totals(): Totals {
    return this.#totals;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Tokens in the context, as far as they are known. */
  get contextTokens(): number {
    const { tokens, items } = this.#measured ?? { tokens: 0, items: 0 };
    return tokens + estimateTokens(this.#items.slice(items));
  }

  /** From one prompt to quiet. Calls that a paused run left behind are closed first. */
  async run(prompt: Message, signal: AbortSignal): Promise<RunOutcome> {
    return this.#exclusively(async (emit) => {
      this.#abandonCalls(emit);
      this.#add('prompt', prompt, emit);
      return this.#loop(emit, signal);
    });
  }

  /** Goes on with a paused run, or with a conversation that was broken off: nothing decided is asked again. */
  async resume(signal: AbortSignal): Promise<RunOutcome> {
    return this.#exclusively((emit) => this.#loop(emit, signal));
  }

  /** The run ends before the calls of a turn are run, or before the next turn. */
  pause(): void {
    if (this.#running) this.#pauseWanted = true;
  }

  /** Gives up a paused run: its calls get a result, and nothing of it is run any more. */
  abandon(): void {
    if (this.#running) throw busy();
    this.#abandonCalls(this.#options.emit);
  }

  /** Summarises all but the newest items now. */
  async compact(instructions: string | undefined, signal: AbortSignal): Promise<CompactionResult> {
    if (this.#running) throw busy();
    this.#running = true;
    try {
      return await this.#compact('manual', instructions, this.#options.emit, signal);
    } finally {
      this.#running = false;
    }
  }

  async #exclusively(work: (emit: Emit) => Promise<RunOutcome>): Promise<RunOutcome> {
    if (this.#running) throw busy();
    this.#running = true;
    this.#pauseWanted = false;
    const runId = this.#options.newRunId?.() ?? crypto.randomUUID();
    const before = this.#totals;
    const emit = this.#observed();
    emit([{ type: 'run-start', runId }]);
    try {
      const outcome = await work(emit);
      emit([{ type: 'run-end', runId, outcome, totals: difference(this.#totals, before) }]);
      return outcome;
    } finally {
      this.#running = false;
    }
  }

  async #loop(emit: Emit, signal: AbortSignal): Promise<RunOutcome> {
    const before = this.#totals;
    let recovered = false;
    for (;;) {
      const open = this.#openCalls();
      if (open.length > 0) {
        const outcome = await this.#runCalls(this.#paused ?? newBatch(open), emit, signal);
        if (outcome !== undefined) return outcome;
      }
      if (signal.aborted) return { status: 'cancelled' };
      this.#deliverSteering(emit);
      const limit = this.#limit(before);
      if (limit !== undefined) return limit;
      if (this.#pauseWanted) return { status: 'paused', callIds: [] };
      await this.#compactIfFull(emit, signal);
      if (signal.aborted) return { status: 'cancelled' };

      const answered = await this.#answer(emit, signal);
      if (answered.failure?.kind === 'context-too-long' && !recovered) {
        // The provider's own count is the one that matters: make room once, and ask again.
        recovered = true;
        this.#endTurn(failedOutcome(answered), emit);
        const { status } = await this.#compact('overflow', undefined, emit, signal);
        if (status === 'compacted') continue;
        return status === 'cancelled' ? { status: 'cancelled' } : failedOutcome(answered);
      }
      if (answered.outcome === 'cancelled') return this.#endTurn({ status: 'cancelled' }, emit);
      if (answered.outcome === 'failed') return this.#endTurn(failedOutcome(answered), emit);
      if (this.#openCalls().length > 0) continue;
      emit([{ type: 'turn-end', turn: this.#turn, results: [] }]);
      if (goesOn(answered.stopReason) || this.#deliverSteering(emit) || this.#deliverFollowUps(emit))
        continue;
      return { status: 'finished' };
    }
  }

  async #answer(emit: Emit, signal: AbortSignal): Promise<Answered> {
    const settings = this.#options.settings();
    this.#turn += 1;
    emit([{ type: 'turn-start', turn: this.#turn }]);
    const answered = await answerTurn(
      {
        settings,
        items: () => pruned(this.#items, this.#policies.prune),
        keep: (items, note) => {
          this.#items = [...this.#items, ...items, note];
          emit([{ type: 'input', origin: 'continuation', item: note }]);
        },
        retry: this.#policies.retry,
        maxContinuations: this.#policies.maxContinuations,
        wait: this.#options.wait ?? waitFor,
        random: this.#options.random ?? Math.random,
        timeline: this.timeline,
        emit,
      },
      signal,
    );
    this.#items = [...this.#items, ...answered.items];
    this.#account(answered.usage, answered.cost);
    const { outcome, items, usage, cost } = answered;
    emit([
      {
        type: 'llm-end',
        turn: this.#turn,
        outcome,
        items,
        ...(usage ? { usage } : {}),
        ...(cost ? { cost } : {}),
      },
    ]);
    return answered;
  }

  /** Undefined when the conversation goes on. */
  async #runCalls(batch: Batch, emit: Emit, signal: AbortSignal): Promise<RunOutcome | undefined> {
    const context = this.#batchContext(batch, emit);
    if (this.#pauseWanted) return this.#pauseWith(batch);
    const decision = signal.aborted ? 'go' : await decideBatch(batch, context, signal);
    if (decision === 'paused' || (this.#pauseWanted && !signal.aborted)) return this.#pauseWith(batch);
    if (decision === 'go') await runBatch(batch, context, signal);
    this.#paused = undefined;
    const results = decision === 'loop' ? batch.calls.map(abandonedResult) : resultsOf(batch);
    this.#items = [...this.#items, ...results];
    this.#totals = countCalls(this.#totals, results.length);
    emit([{ type: 'turn-end', turn: this.#turn, results }]);
    if (decision === 'loop') return LOOPING;
    return signal.aborted ? { status: 'cancelled' } : undefined;
  }

  #batchContext(batch: Batch, emit: Emit): BatchContext {
    const first = batch.calls[0];
    return {
      tools: this.#options.settings().tools,
      cwd: this.#options.cwd,
      approve: this.#options.approve,
      hooks: this.#options.hooks ?? [],
      past: this.#items.slice(0, first === undefined ? 0 : this.#items.indexOf(first)),
      loop: this.#policies.loop,
      surroundings: this.#options.surroundings,
      interrupts: () => this.inbox.interrupts(),
      emit,
    };
  }

  #pauseWith(batch: Batch): RunOutcome {
    this.#paused = batch;
    this.#pauseWanted = false;
    return { status: 'paused', callIds: batch.calls.map(({ callId }) => callId) };
  }

  async #compactIfFull(emit: Emit, signal: AbortSignal): Promise<void> {
    const { model } = this.#options.settings();
    if (!this.#policies.compaction.auto || !isNearLimit(this.contextTokens, model.contextWindow)) return;
    await this.#compact('threshold', undefined, emit, signal);
  }

  async #compact(
    reason: CompactionReason,
    instructions: string | undefined,
    emit: Emit,
    signal: AbortSignal,
  ): Promise<CompactionResult> {
    const settings = this.#options.settings();
    emit([{ type: 'compaction-start', reason }]);
    const keepTokens = keptTokens(this.#policies.compaction, settings.model);
    const { result, items, usage } = await compact(
      settings,
      this.#items,
      { keepTokens, instructions },
      signal,
    );
    this.#items = items;
    if (result.status === 'compacted') this.#measured = undefined;
    if (usage)
      this.#totals = sum(this.#totals, {
        ...countTurn(NO_TOTALS, usage, costOf(settings.model, usage)),
        turns: 0,
      });
    emit([{ type: 'compaction-end', reason, result }]);
    return result;
  }

  #limit(before: Totals): RunOutcome | undefined {
    const { maxTurns, budget } = {
      maxTurns: Number.POSITIVE_INFINITY,
      budget: Number.POSITIVE_INFINITY,
      ...this.#options.bounds,
    };
    const used = difference(this.#totals, before);
    if (used.turns >= maxTurns) {
      return {
        status: 'limited',
        limit: 'max-turns',
        message: `the run has taken the ${maxTurns} turns it may take`,
      };
    }
    if ((used.cost ?? 0) < budget) return undefined;
    return { status: 'limited', limit: 'budget', message: `the run has cost the $${budget} it may cost` };
  }

  #deliverSteering(emit: Emit): boolean {
    return this.#deliver('steer', this.inbox.takeSteering(), emit);
  }

  #deliverFollowUps(emit: Emit): boolean {
    return this.#deliver('follow-up', this.inbox.takeFollowUps(), emit);
  }

  #deliver(origin: InputOrigin, messages: readonly Message[], emit: Emit): boolean {
    for (const message of messages) this.#add(origin, message, emit);
    return messages.length > 0;
  }

  #add(origin: InputOrigin, content: readonly Content[], emit: Emit): void {
    const item: Item = { type: 'message', role: 'user', content };
    this.#items = [...this.#items, item];
    emit([{ type: 'input', origin, item }]);
  }

  /** Calls without a result, which only the latest answer can have: every new prompt closes what is left open. */
  #openCalls(): readonly Call[] {
    const answered = new Set<string>();
    const open: Call[] = [];
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at];
      if (item?.type === 'tool-result') answered.add(item.callId);
      else if (item?.type === 'tool-call' && !answered.has(item.callId)) open.unshift(item);
      else if (item?.type === 'message' && item.role === 'user') break;
    }
    return open;
  }

  #abandonCalls(emit: Emit): void {
    this.#paused = undefined;
    const results = this.#openCalls().map(abandonedResult);
    if (results.length === 0) return;
    this.#items = [...this.#items, ...results];
    emit([{ type: 'turn-end', turn: this.#turn, results }]);
  }

  #account(usage: Usage | undefined, cost: Answered['cost']): void {
    this.#totals = countTurn(this.#totals, usage, cost);
    if (usage?.inputTokens === undefined) return;
    this.#measured = { tokens: usage.inputTokens + (usage.outputTokens ?? 0), items: this.#items.length };
  }

  #endTurn(outcome: RunOutcome, emit: Emit): RunOutcome {
    emit([{ type: 'turn-end', turn: this.#turn, results: [] }]);
    return outcome;
  }

  /** Events go to their owner first, then to the hooks that only look. */
  #observed(): Emit {
    const { emit, hooks = [] } = this.#options;
    const observers = hooks.flatMap((hook) => (hook.observe ? [hook.observe] : []));
    if (observers.length === 0) return emit;
    return (events) => {
      emit(events);
      for (const observe of observers) for (const event of events) observe(event);
    };
  }
}

type Emit = (events: readonly RunEvent[]) => void;

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

function difference(now: Totals, before: Totals): Totals {
  const minus = Object.fromEntries(Object.entries(before).map(([name, value]) => [name, -Number(value)]));
  return sum(now, { ...NO_TOTALS, ...minus });
}

function busy(): PolypodError {
  return new PolypodError('conflict', 'a run is under way: steer it, queue a follow-up, or cancel it first');
}

async function waitFor(ms: number, signal: AbortSignal): Promise<'waited'> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  await sleep(ms, undefined, { signal }).catch(() => {});
  return 'waited';
}
