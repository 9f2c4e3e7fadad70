import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import type { AgentSettings, Backend } from '../../../backends/index.ts';
import {
  type Content,
  type Cost,
  DEFAULT_RETRY,
  type Item,
  type ProviderApi,
  PROVIDER_APIS,
  type Usage,
} from '../../../llm/index.ts';
import type { ClientServices, FileWrite, Policy } from '../../../tools/index.ts';
import {
  approveByPolicy,
  DEFAULT_COMPACTION,
  type CallOutcome,
  type ContextMeasurement,
  type RunEvent,
  type RunOutcome,
  NO_TOTALS,
  subtractTotals,
  type Totals,
  type TurnSettings,
  Worker,
  type CompactionRequest,
} from '../../../worker/index.ts';
import type { ReadyModel } from '../../agent.ts';
import type { Overrides } from '../../command.ts';
import type { RunPurpose } from '../../event.ts';
import { personOfRun } from '../../person.ts';
import type { UnnumberedEvent } from '../../journal/index.ts';
import type { ModelChoice } from '../../session/index.ts';
import type { RecordedReceipt } from '../../receipts.ts';
import { answerQuestion, type QuestionParts } from './answer-question.ts';
import { RetryWait } from './retry-wait.ts';
import { type CurrentRun, RunEvents, type ShellNote } from './run-events.ts';
import type { ReadyRun, RunSetup } from './run-setup.ts';

export interface RunnerParts extends QuestionParts {
  readonly setup: RunSetup;
  readonly totals: Totals | undefined;
  readonly measured: ContextMeasurement | undefined;
  readonly publish: (draft: UnnumberedEvent) => void;
  /** Resolves when everything published is on disk: a tool runs only after its call and its start have been recorded. */
  readonly written: () => Promise<void>;
  /** What happened since the last request, for the model. */
  readonly notices: () => readonly string[];
  readonly newRunId: () => string;
  /** Saves the version of a file that a call is about to replace. */
  readonly recordFileWrite: (write: FileWrite, callId: string) => Promise<void>;
  /** What a connected client does for the tools. */
  readonly clientServices: () => ClientServices | undefined;
  /** Records the session of the agent that does the work. */
  readonly recordAgentSession: (sessionId: string) => void;
  /** A run has ended, and the pod may start another. */
  readonly onQuiet: () => void;
}

/** The input of a new run. */
export interface RunInput extends Pick<CurrentRun, 'purpose' | 'queueId' | 'customType'> {
  readonly content: readonly Content[];
  /** By default a new id. */
  readonly runId?: string | undefined;
  readonly recordReceipt: (runId: string) => RecordedReceipt | undefined;
}

/** Runs the pod's conversation, one run at a time. */
export class Runner {
  readonly #parts: RunnerParts;
  readonly #events: RunEvents;
  readonly #retryWait = new RetryWait();
  #worker: Backend;
  #ready: ReadyRun | undefined;
  /** The model of the next run, as far as it is known in advance. */
  #shown: ReadyModel | undefined;
  #stop: AbortController | undefined;
  #over: Promise<void> = Promise.resolve();
  /** The totals when the current run started. */
  #before = NO_TOTALS;

  constructor(parts: RunnerParts) {
    const { view, publish } = parts;
    this.#parts = parts;
    this.#events = new RunEvents({ view, publish, totals: () => this.#worker.totals });
    this.#worker = this.#newWorker(view.items, parts.totals, parts.measured);
  }

  /** Whether a run or a compaction is active. */
  get active(): boolean {
    return this.#stop !== undefined;
  }

  get totals(): Totals {
    return this.#worker.totals;
  }

  /** The usage of the current run so far. */
  get used(): Totals {
    return subtractTotals(this.totals, this.#before);
  }

  /** Adds the usage of a request that is not part of the conversation. Returns the new totals. */
  count(usage: Usage | undefined, cost: Cost | undefined): Totals {
    this.#worker.count(usage, cost);
    return this.#worker.totals;
  }

  get contextTokens(): number {
    return this.#worker.contextTokens;
  }

  /** The current model, or the one that the next run would use. */
  get model(): ModelChoice & { readonly wire: ProviderApi; readonly contextWindow?: number } {
    const { llm, model } = (this.active ? this.#ready?.model : this.#shown) ?? {};
    if (llm === undefined || model === undefined)
      return { ...this.#parts.setup.choice({}), wire: 'anthropic' };
    const { contextWindow } = model;
    return {
      provider: model.account,
      modelId: model.id,
      wire: PROVIDER_APIS.find((wire) => wire === llm.account.api) ?? 'anthropic',
      ...withoutUndefined({ contextWindow }),
    };
  }

  /** Looks up the model of the next run. An unavailable model is reported when a run needs it. */
  async look(): Promise<void> {
    const { agent, setup } = this.#parts;
    this.#shown = await agent.model(setup.choice({})).catch(() => undefined);
  }

  /** Changes what later turns use, including those of the current run. */
  refresh(ready: ReadyRun): void {
    if (this.#ready === undefined) return;
    const { overrides, configured } = this.#ready;
    this.#ready = { ...ready, overrides, configured };
  }

  get overrides(): Overrides {
    return this.#ready?.overrides ?? {};
  }

  /** Starts a run. Its first events have been published when this returns. */
  start(ready: ReadyRun, { content, runId, recordReceipt, ...run }: RunInput): string {
    const current = { ...run, receiptOn: 'input', receipt: recordReceipt } as const;
    return this.#begin(ready, runId, current, (signal) => this.#worker.run(content, signal));
  }

  /** Continues the last run, which was paused or has decided calls. It keeps its id. */
  resume(
    ready: ReadyRun,
    purpose: RunPurpose,
    recordReceipt: (runId: string) => RecordedReceipt | undefined,
  ): string {
    const current = { purpose, receiptOn: 'run-start', receipt: recordReceipt } as const;
    const { lastRun } = this.#parts.view;
    return this.#begin(ready, lastRun?.runId, current, (signal) => this.#worker.resume(signal));
  }

  async compact(ready: ReadyRun, request: CompactionRequest): Promise<void> {
    this.#ready = ready;
    const stop = (this.#stop = new AbortController());
    this.#over = this.#worker
      .compact(request, stop.signal)
      .then(() => {})
      .finally(() => this.#quiet());
    await this.#over;
  }

  cancel(): void {
    this.#stop?.abort();
  }

  pause(): void {
    this.#worker.pause();
  }

  /** Stops running calls and starts no others. Pending approvals stay pending. */
  async halt(): Promise<void> {
    await this.#worker.halt();
  }

  /** Gives the calls of a paused run their results. */
  abandon(): void {
    this.#worker.abandon();
  }

  /** Ends the wait for the next attempt: the run fails. Returns false if no wait is active. */
  abortRetry(): boolean {
    return this.#retryWait.giveUp();
  }

  deliver(lane: 'steer' | 'follow-up', content: readonly Content[]): void {
    if (lane === 'steer') this.#worker.inbox.steer(content);
    else this.#worker.inbox.followUp(content);
  }

  /** Refills the inbox from the queue, after messages were removed. */
  refill(): void {
    const { view } = this.#parts;
    this.#worker.inbox.clear();
    for (const { lane, content } of view.queue) if (lane !== 'prompt') this.deliver(lane, content);
    this.#worker.inbox.modes = view.settings.delivery;
  }

  /** Adds the output of a person's shell command to the conversation. */
  note(item: Item, note: ShellNote): void {
    this.#events.withShellNote(note, () => this.#worker.addInput('shell', item));
  }

  /** Replaces the conversation. `finished` are results of its last calls, which are not part of it yet. */
  restart(
    items: readonly Item[],
    totals: Totals | undefined,
    measured?: ContextMeasurement,
    finished?: ReadonlyMap<string, CallOutcome>,
  ): void {
    this.#worker = this.#newWorker(items, totals, measured, finished);
  }

  /** Resolves when nothing is running. */
  async quiet(): Promise<void> {
    await this.#over;
  }

  #begin(
    ready: ReadyRun,
    runId: string | undefined,
    current: Omit<CurrentRun, 'runId'>,
    run: (signal: AbortSignal) => Promise<RunOutcome>,
  ): string {
    this.#ready = ready;
    const stop = (this.#stop = new AbortController());
    this.#before = this.totals;
    this.#events.begin({ ...current, runId: runId ?? this.#parts.newRunId() });
    this.#over = run(stop.signal)
      .then(() => {})
      .finally(() => this.#quiet());
    return this.#events.runId;
  }

  #quiet(): void {
    this.#stop = undefined;
    this.#parts.onQuiet();
  }

  #newWorker(
    items: readonly Item[],
    totals: Totals | undefined,
    measured: ContextMeasurement | undefined,
    finished?: ReadonlyMap<string, CallOutcome>,
  ): Backend {
    const { agent, view, cwd } = this.#parts;
    const options = {
      cwd,
      items: [...items],
      ...withoutUndefined({ totals, measured, finished }),
      approve: approveByPolicy({
        policy: () => this.#policy(),
        fileFacts: agent.fileFacts,
        ask: (question, signal) => {
          const { overrides, tools = [] } = this.#ready ?? {};
          const { runId } = this.#events;
          const run = { runId, limit: overrides?.limit, tools, policy: () => this.#policy() };
          return answerQuestion(question, run, this.#parts, signal);
        },
      }),
      whenDurable: () => this.#parts.written(),
      toolContext: (callId: string) => ({
        ...agent.toolContext(callId, this.#policy()),
        recordFileWrite: (write: FileWrite) => this.#parts.recordFileWrite(write, callId),
        clientFiles: this.#parts.clientServices()?.files,
        runInTerminal: this.#terminals(),
      }),
      emit: (events: readonly RunEvent[]) => {
        for (const event of events) this.#events.publish(event);
      },
      bounds: () => {
        const { maxTurns, budget } = this.overrides;
        return {
          ...withoutUndefined({ maxTurns, budget }),
        };
      },
      notices: () => this.#parts.notices(),
      newRunId: () => this.#events.runId,
    };
    const worker =
      agent.backend?.create({
        ...options,
        agentSettings: () => this.#agentSettings(),
        session: () => view.settings.agentSession,
        recordSession: (id) => this.#parts.recordAgentSession(id),
        setTodos: (todos) => this.#parts.publish({ fact: { type: 'todos', items: todos } }),
        client: () => this.#parts.clientServices(),
      }) ??
      new Worker({
        ...options,
        settings: () => this.#turnSettings(),
        policies: () => ({
          compaction: { ...DEFAULT_COMPACTION, auto: view.settings.autoCompaction },
          ...(view.settings.autoRetry ? {} : ONE_ATTEMPT),
        }),
        wait: (ms, signal) => this.#retryWait.wait(ms, signal),
      });
    worker.inbox.modes = view.settings.delivery;
    for (const { lane, content } of view.queue) {
      if (lane === 'steer') worker.inbox.steer(content);
      if (lane === 'follow-up') worker.inbox.followUp(content);
    }
    return worker;
  }

  #turnSettings(): TurnSettings {
    const ready = this.#ready;
    if (ready === undefined) throw new PolypodError('internal', 'a turn began before the run was prepared');
    const { setup, view } = this.#parts;
    const { thinking } = view.settings;
    return {
      ...ready.model,
      system: ready.system,
      tools: setup.offeredTools(ready.tools, ready.overrides),
      cache: { ttl: '5m' },
      ...withoutUndefined({ thinking }),
    };
  }

  /** What another agent needs to know of the settings. */
  #agentSettings(): AgentSettings {
    const { view, setup } = this.#parts;
    const {
      thinking,
      system,
      appendSystem,
      paths = [],
      toolLimit,
      tools,
      permissionTool,
    } = { ...view.settings, ...this.overrides };
    const { maxTurns, budget } = this.overrides;
    const { modelId } = setup.choice(this.overrides);
    // The model must not call the tool that decides about its calls.
    const hidden = [...(toolLimit?.without ?? []), ...(permissionTool === undefined ? [] : [permissionTool])];
    return {
      mode: this.#policy().mode,
      paths: [...new Set([...paths, ...(view.settings.paths ?? [])])],
      ...(modelId === DEFAULT_MODEL ? {} : { model: modelId }),
      ...withoutUndefined({ thinking, system, appendSystem, maxTurns, budget }),
      ...withoutUndefined({ allowedTools: tools ?? toolLimit?.only }),
      ...(hidden.length > 0 && { disallowedTools: hidden }),
    };
  }

  /** A terminal of an editor has the user's environment and none of our limits, so only the user's own runs use it. */
  #terminals(): ClientServices['runInTerminal'] {
    const { mode, sandboxed } = this.#policy();
    const isAllowed = mode !== 'read-only' && !sandboxed && personOfRun(this.overrides) === 'local';
    return isAllowed ? this.#parts.clientServices()?.runInTerminal : undefined;
  }

  #policy(): Policy {
    const { scope = { read: [], write: [] }, configured } = this.#ready ?? {};
    return this.#parts.setup.policy(scope, this.overrides, configured);
  }
}

/** The model that another agent chooses itself. */
const DEFAULT_MODEL = 'default';

/** With auto-retry off, a failure ends the run at once. */
const ONE_ATTEMPT = { retry: { ...DEFAULT_RETRY, maxAttempts: 1 }, maxContinuations: 0 };
