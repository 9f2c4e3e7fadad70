import type { Audit } from '../../audit/index.ts';
import { onAbort, PolypodError, tryParse } from '../../base/index.ts';
import {
  type Content,
  DEFAULT_RETRY,
  type Item,
  type ThinkingLevel,
  type Wire,
  WIRES,
} from '../../llm/index.ts';
import type { Policy, Scope, Tool } from '../../tools/index.ts';
import {
  approveByPolicy,
  DEFAULT_COMPACTION,
  type Finished,
  type Measured,
  type PermissionAnswer,
  type PermissionQuestion,
  type Reconsidered,
  reconsider,
  type RunEvent,
  type RunOutcome,
  type Totals,
  type TurnSettings,
  Worker,
} from '../../worker/index.ts';
import { acceptingEdits } from './accept-edits.ts';
import type { Agent, ReadyModel } from '../agent.ts';
import type { Limit, Overrides } from '../command.ts';
import type { RunPurpose, PodFactOf } from '../event.ts';
import type { UnnumberedEvent } from '../journal/index.ts';
import { loadTools } from './load-tools.ts';
import { beyondLimit, limitedMode, limitedScope, limitedSettings } from './apply-limit.ts';
import { askTool, permissionTool } from './permission-tool.ts';
import { personBehind } from '../person.ts';
import type { RecordedReceipt } from '../receipts.ts';
import type { AgentMessage, ModelChoice } from '../session/index.ts';
import { isWithinLimit } from '../tool-limit.ts';
import type { PodView } from '../view/view.ts';

export interface RunnerParts {
  readonly view: PodView;
  readonly agent: Agent;
  readonly cwd: string;
  readonly totals: Totals | undefined;
  readonly measured: Measured | undefined;
  readonly publish: (draft: UnnumberedEvent) => void;
  /** Resolves when all that was published is safe: a tool runs only when its call, and that it began, cannot be forgotten. */
  readonly written: () => Promise<void>;
  readonly ask: (
    question: PermissionQuestion,
    runId: string,
    signal: AbortSignal,
  ) => Promise<PermissionAnswer>;
  readonly audit: Audit;
  readonly clientTools: () => readonly Tool[];
  readonly newRunId: () => string;
  readonly now: () => Date;
  /** A run is over, and the pod may begin another. */
  readonly onQuiet: () => void;
}

/** What a model is told beside the conversation. */
export interface Briefing {
  readonly system: string;
  readonly tools: readonly Pick<Tool, 'name' | 'description' | 'parameters'>[];
}

/** All that a run needs and that takes time to get: asked for before the run is accepted. */
export interface Ready {
  readonly overrides: Overrides;
  readonly model: ReadyModel;
  readonly tools: readonly Tool[];
  readonly system: string;
  readonly scope: Scope;
}

/** What a run begins with. */
export interface Beginning {
  readonly content: readonly Content[];
  readonly purpose: RunPurpose;
  readonly queueId?: string | undefined;
  /** A new one if nothing is said. */
  readonly runId?: string | undefined;
  /** What of the program wrote it, if no person did. */
  readonly customType?: string | undefined;
  readonly sign: (runId: string) => RecordedReceipt | undefined;
}

/** Runs the pod's conversation, one run at a time, and says what happens in the pod's words. */
export class Runner {
  readonly #parts: RunnerParts;
  #worker: Worker;
  #ready: Ready | undefined;
  /** The model that would answer, as far as it is known before a run. */
  #shown: ReadyModel | undefined;
  #stop: AbortController | undefined;
  #over: Promise<void> = Promise.resolve();
  #giveUp: (() => void) | undefined;
  /** What the next events of the worker have to carry. */
  #purpose: RunPurpose = {};
  #queueId: string | undefined;
  #customType: string | undefined;
  #signed:
    | { readonly on: 'run-start' | 'input'; readonly by: (runId: string) => RecordedReceipt | undefined }
    | undefined;
  #message: AgentMessage | undefined;
  #shellId: string | undefined;
  #runId = '';

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#worker = this.#newWorker(parts.view.items, parts.totals, parts.measured);
  }

  /** Whether a run, or a compaction, is under way. */
  get active(): boolean {
    return this.#stop !== undefined;
  }

  get totals(): Totals {
    return this.#worker.totals;
  }

  get contextTokens(): number {
    return this.#worker.contextTokens;
  }

  /** The model that answers, or would. */
  get model(): ModelChoice & { readonly wire: Wire; readonly contextWindow?: number } {
    const { llm, model } = (this.active ? this.#ready?.model : this.#shown) ?? {};
    if (llm === undefined || model === undefined) return { ...this.#choice({}), wire: 'anthropic' };
    const { contextWindow } = model;
    return {
      provider: model.account,
      modelId: model.id,
      wire: WIRES.find((wire) => wire === llm.account.wire) ?? 'anthropic',
      ...(contextWindow === undefined ? {} : { contextWindow }),
    };
  }

  /** Looks the model up that would answer; one that cannot be had is told of when it is needed. */
  async look(): Promise<void> {
    this.#shown = await this.#parts.agent.model(this.#choice({})).catch(() => undefined);
  }

  /** Gets all that a run needs; refuses with the reason when something of it is not to be had. */
  async prepare(overrides: Overrides = {}): Promise<Ready> {
    const { agent, view } = this.#parts;
    const [model, tools, own, whole] = await Promise.all([
      agent.model(this.#choice(overrides)),
      loadTools(agent),
      agent.system(),
      agent.scope([...(view.settings.paths ?? []), ...(overrides.paths ?? [])]),
    ]);
    if (view.settings.permissionTool !== undefined) permissionTool(view.settings.permissionTool, tools);
    const { limit = {} } = overrides;
    const scope = await limitedScope(whole, limit, agent.fileFacts);
    return {
      overrides,
      model,
      tools,
      scope,
      system: this.#systemFrom(own, overrides),
    };
  }

  /** What a model would be told if it were asked now. */
  async briefing(): Promise<Briefing> {
    const { agent } = this.#parts;
    const [tools, own] = await Promise.all([loadTools(agent), agent.system()]);
    return {
      system: this.#systemFrom(own, this.overrides),
      tools: this.#given(tools, this.overrides).map(({ name, description, parameters }) => ({
        name,
        description,
        parameters,
      })),
    };
  }

  /** What the policy says of other arguments for a call that waits since before this process. */
  async reconsider(tool: string, args: string): Promise<Reconsidered> {
    const { agent, cwd, view } = this.#parts;
    const { tools, scope, overrides } = await this.prepare(view.lastRun?.overrides);
    const found = this.#toolNamed(tool, tools);
    // Asked by a client about something of its own: there is nothing that we could run.
    if (found === undefined) return { resolve: async (path) => path, rule: undefined };
    const policy = (): Policy => this.#policyWith(scope, overrides);
    return reconsider({ policy, fileFacts: agent.fileFacts }, tool, found.prepare(tryParse(args), cwd));
  }

  /** Why somebody with this limit may not allow a call; undefined if they may. */
  async beyond(limit: Limit, tool: string, args: string): Promise<string | undefined> {
    const { agent, cwd } = this.#parts;
    const prepared = this.#toolNamed(tool, await agent.tools())?.prepare(tryParse(args), cwd);
    if (prepared === undefined || 'invalid' in prepared) return undefined;
    return beyondLimit(tool, prepared, limit, agent.fileFacts);
  }

  #toolNamed(name: string, tools: readonly Tool[]): Tool | undefined {
    return [...tools, ...this.#parts.clientTools()].find((tool) => tool.name === name);
  }

  /** Other settings for the turns to come, of the run that is under way too. */
  refresh(ready: Ready): void {
    if (this.#ready !== undefined) this.#ready = { ...ready, overrides: this.#ready.overrides };
  }

  get overrides(): Overrides {
    return this.#ready?.overrides ?? {};
  }

  /** Begins a run; it has begun when this returns. */
  start(ready: Ready, { content, purpose, queueId, customType, runId, sign }: Beginning): string {
    this.#purpose = purpose;
    this.#queueId = queueId;
    this.#customType = customType;
    this.#signed = { on: 'input', by: sign };
    return this.#begin(ready, runId, (signal) => this.#worker.run(content, signal));
  }

  /** Continues the last run where it was paused, or where calls wait that have been decided. It keeps its id. */
  resume(ready: Ready, purpose: RunPurpose, sign: (runId: string) => RecordedReceipt | undefined): string {
    this.#purpose = purpose;
    this.#signed = { on: 'run-start', by: sign };
    return this.#begin(ready, this.#parts.view.lastRun?.runId, (signal) => this.#worker.resume(signal));
  }

  async compact(ready: Ready, instructions: string | undefined): Promise<void> {
    this.#ready = ready;
    const stop = (this.#stop = new AbortController());
    this.#over = this.#worker
      .compact(instructions, stop.signal)
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

  /** Stops the calls that run and starts no others; open questions stay open. */
  async halt(): Promise<void> {
    await this.#worker.halt();
  }

  /** The calls that a paused run left get their results. */
  abandon(): void {
    this.#worker.abandon();
  }

  /** Does not wait any longer for the next attempt: the run fails with what it waited for. */
  abortRetry(): boolean {
    const giveUp = this.#giveUp;
    giveUp?.();
    return giveUp !== undefined;
  }

  deliver(lane: 'steer' | 'follow-up', content: readonly Content[]): void {
    if (lane === 'steer') this.#worker.inbox.steer(content);
    else this.#worker.inbox.followUp(content);
  }

  /** Fills the inbox with what waits, after some of it was taken back. */
  refill(): void {
    const { view } = this.#parts;
    this.#worker.inbox.clear();
    for (const { lane, content } of view.queue) if (lane !== 'prompt') this.deliver(lane, content);
    this.#worker.inbox.modes = view.settings.delivery;
  }

  /** Puts what a person did beside the agent into the conversation. */
  note(item: Item, message: AgentMessage, shellId: string): void {
    [this.#message, this.#shellId] = [message, shellId];
    this.#worker.note('shell', item);
    [this.#message, this.#shellId] = [undefined, undefined];
  }

  /** The conversation is another one now. */
  rebase(items: readonly Item[], totals: Totals | undefined, measured?: Measured): void {
    this.#worker = this.#newWorker(items, totals, measured);
  }

  /** The conversation as it was read again, with results of calls at its end that have no place in it yet. */
  restore(
    items: readonly Item[],
    totals: Totals | undefined,
    measured: Measured | undefined,
    finished: ReadonlyMap<string, Finished>,
  ): void {
    this.#worker = this.#newWorker(items, totals, measured, finished);
  }

  /** Resolves when nothing is under way. */
  async quiet(): Promise<void> {
    await this.#over;
  }

  #begin(ready: Ready, runId: string | undefined, run: (signal: AbortSignal) => Promise<RunOutcome>): string {
    this.#ready = ready;
    const stop = (this.#stop = new AbortController());
    this.#runId = runId ?? this.#parts.newRunId();
    const running = run(stop.signal);
    this.#signed = undefined;
    this.#queueId = undefined;
    this.#customType = undefined;
    this.#over = running.then(() => {}).finally(() => this.#quiet());
    return this.#runId;
  }

  #quiet(): void {
    this.#stop = undefined;
    this.#parts.onQuiet();
  }

  #choice({ model }: Overrides): ModelChoice {
    return model ?? this.#parts.view.settings.model ?? this.#parts.agent.defaultModel;
  }

  #newWorker(
    items: readonly Item[],
    totals: Totals | undefined,
    measured: Measured | undefined,
    finished?: ReadonlyMap<string, Finished>,
  ): Worker {
    const { agent, view, cwd } = this.#parts;
    const byPolicy = approveByPolicy({
      policy: () => this.#policy(),
      fileFacts: agent.fileFacts,
      ask: (question, signal) => this.#ask(question, signal),
    });
    const worker = new Worker({
      settings: () => this.#turnSettings(),
      cwd,
      items: [...items],
      ...(totals && { totals }),
      ...(measured && { measured }),
      ...(finished && { finished }),
      approve: byPolicy,
      written: () => this.#parts.written(),
      surroundings: (callId) => agent.surroundings(callId, this.#policy()),
      emit: (events) => {
        for (const event of events) this.#tell(event);
      },
      bounds: () => {
        const { maxTurns, budget } = this.overrides;
        return {
          ...(maxTurns === undefined ? {} : { maxTurns }),
          ...(budget === undefined ? {} : { budget }),
        };
      },
      policies: () => ({
        compaction: { ...DEFAULT_COMPACTION, auto: view.settings.autoCompaction },
        ...(view.settings.autoRetry ? {} : ONE_ATTEMPT),
      }),
      wait: (ms, signal) => this.#wait(ms, signal),
      newRunId: () => this.#runId,
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
    const { thinking }: { readonly thinking?: ThinkingLevel } = this.#parts.view.settings;
    return {
      ...ready.model,
      system: ready.system,
      tools: this.#given(ready.tools, ready.overrides),
      cache: { ttl: '5m' },
      ...(thinking === undefined ? {} : { thinking }),
    };
  }

  #systemFrom(own: string, overrides: Overrides): string {
    const { system = own, appendSystem } = { ...this.#parts.view.settings, ...overrides };
    return appendSystem === undefined ? system : `${system}\n\n${appendSystem}`;
  }

  /** Those of the tools that the model is given, and the client's. */
  #given(tools: readonly Tool[], overrides: Overrides): readonly Tool[] {
    const { settings } = this.#parts.view;
    const names = overrides.tools ?? settings.tools;
    const own = tools.filter(({ name }) => isWithinLimit(name, settings.toolLimit));
    return [...own, ...this.#parts.clientTools()].filter(
      ({ name }) => name !== settings.permissionTool && (names === undefined || names.includes(name)),
    );
  }

  #policy(): Policy {
    return this.#policyWith(this.#ready?.scope ?? { read: [], write: [] }, this.overrides);
  }

  #policyWith(scope: Scope, overrides: Overrides): Policy {
    const { agent, view } = this.#parts;
    const { limit } = overrides;
    const settings = limitedSettings(view.settings, limit);
    const mode = limitedMode(overrides.mode ?? settings.mode ?? agent.mode, limit);
    const kept = agent.rulesOf?.(personBehind(overrides)) ?? [];
    const { fallbackRules = [] } = settings;
    // Whoever chose full access has said that nothing is asked.
    const fallback =
      mode === 'full-access' ? fallbackRules.filter(({ action }) => action !== 'ask') : fallbackRules;
    const all = [...settings.rules, ...agent.rules, ...kept, ...fallback];
    const rules = settings.acceptEdits ? acceptingEdits(all) : all;
    const { protectedPaths = [] } = agent;
    // The sandbox has the session's paths, which may be more than the limit's directories.
    const sandboxed = agent.sandboxed && limit?.directories === undefined;
    return { mode, rules, scope, sandboxed, protectedPaths };
  }

  async #ask(question: PermissionQuestion, signal: AbortSignal): Promise<PermissionAnswer> {
    const { view, now, ask, audit } = this.#parts;
    const until = limitedSettings(view.settings, this.overrides.limit).skipPermissionsUntil;
    const { name: toolName, title, arguments: args } = question.call;
    const details = { tool: toolName, title, arguments: args, runId: this.#runId };
    if (until !== undefined && now().getTime() < Date.parse(until)) {
      audit({ event: 'approval.skipped', details: { ...details, until } });
      return { decision: 'allow' };
    }
    const { permissionTool: name } = view.settings;
    if (name === undefined) return ask(question, this.#runId, signal);
    const { agent, cwd } = this.#parts;
    const tool = permissionTool(name, this.#ready?.tools ?? []);
    const surroundings = agent.surroundings(question.call.callId, this.#policy());
    const answer = await askTool(tool, question, { cwd, surroundings }, signal);
    const event = answer.decision === 'allow' ? 'approval.approved' : 'approval.denied';
    audit({ event, by: `tool ${name}`, door: 'mcp', details });
    return answer;
  }

  async #wait(ms: number, signal: AbortSignal): Promise<'waited' | 'given-up'> {
    return new Promise((resolve) => {
      const end = (how: 'waited' | 'given-up'): void => {
        clearTimeout(timer);
        forget();
        this.#giveUp = undefined;
        resolve(how);
      };
      const timer = setTimeout(end, ms, 'waited');
      let forget = (): void => {};
      this.#giveUp = () => end('given-up');
      forget = onAbort(signal, () => end('waited'));
    });
  }

  /** An event of the worker, with what only the pod knows of it. */
  #tell(event: RunEvent): void {
    this.#parts.publish(this.#draft(event));
  }

  #draft(event: RunEvent): UnnumberedEvent {
    switch (event.type) {
      case 'run-start':
        return { fact: { ...event, ...this.#purpose }, signed: this.#signature('run-start') };
      case 'input':
        return {
          fact: { ...event, ...this.#from(event.origin) },
          signed: this.#signature('input'),
          message: this.#message,
          shellId: this.#shellId,
        };
      case 'run-end':
        return { fact: { ...event, conversation: this.#worker.totals } };
      default:
        return { fact: event };
    }
  }

  #signature(on: 'run-start' | 'input'): RecordedReceipt | undefined {
    if (this.#signed?.on !== on) return undefined;
    const { by } = this.#signed;
    this.#signed = undefined;
    return by(this.#runId);
  }

  /** Who said it: for what waited, as it was noted then. Messages of a lane are delivered in their order. */
  #from(origin: PodFactOf<'input'>['origin']): Partial<PodFactOf<'input'>> {
    if (origin === 'prompt') {
      const { by, door } = this.#purpose;
      return {
        ...(by === undefined ? {} : { by }),
        ...(door === undefined ? {} : { door }),
        ...(this.#queueId === undefined ? {} : { queueId: this.#queueId }),
        ...(this.#customType === undefined ? {} : { customType: this.#customType }),
      };
    }
    if (origin === 'continuation') return { customType: origin };
    if (origin !== 'steer' && origin !== 'follow-up') return {};
    const queued = this.#parts.view.waiting(origin)[0];
    if (queued === undefined) return {};
    const { by, door, queueId } = queued;
    return { queueId, ...(by === undefined ? {} : { by }), ...(door === undefined ? {} : { door }) };
  }
}

/** For those who want to see a failure at once. */
const ONE_ATTEMPT = { retry: { ...DEFAULT_RETRY, maxAttempts: 1 }, maxContinuations: 0 };
