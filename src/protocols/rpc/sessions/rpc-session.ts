import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import {
  type OfferedModel,
  type Caller,
  DEFAULT_SETTINGS,
  isPodBusy,
  isUnknownPod,
  type Pod,
  type PodCommand,
  type PodEvent,
  type PodSettings,
  type Receipt,
  type Snapshot,
  type PodCommandOf,
} from '../../../pod/index.ts';
import { Continuations } from '../../../reminders/index.ts';
import { ApprovalPrompts } from '../host-side/approvals.ts';
import { EventEncoder } from '../encode/encode.ts';
import { endRun, type Listening } from './end-run.ts';
import { TEXTS } from '../errors.ts';
import { HostTools } from '../host-side/host-tools.ts';
import { MessageUpdates } from '../encode/message-updates.ts';
import { OpenRun } from '../encode/open-run.ts';
import type { Outbox } from '../encode/outbox.ts';
import type { RpcParts } from '../parts.ts';
import { EventForwarder } from '../../event-forwarder.ts';
import { Shells } from '../host-side/shells.ts';
import { TodoBoard } from '../host-side/todo-board.ts';
import { openTasks } from '../host-side/todos.ts';
import { UiRequests } from '../host-side/ui.ts';
import type { RpcCompaction, RpcEvent } from '../wire.ts';

/** The parts of a snapshot that `get_state` reports. */
export type StateParts = Pick<Snapshot, 'id' | 'model' | 'settings' | 'queue' | 'run' | 'compacting'>;

/** The current session of a client: one pod at a time, with the link's state for it. */
export class RpcSession {
  readonly parts: RpcParts;
  readonly ui: UiRequests;
  readonly hostTools: HostTools;
  readonly todos: TodoBoard;
  readonly shells = new Shells();
  readonly #out: Outbox;
  readonly #updates: MessageUpdates;
  readonly #approvals: ApprovalPrompts;
  readonly #continuations: Continuations;
  readonly #openRun = new OpenRun();
  #encoder: EventEncoder;
  #pump: EventForwarder | undefined;
  #models: readonly OfferedModel[] = [];
  /** The session's own model, if it is not in the list: ids can be newer than lists. */
  #unlisted: OfferedModel | undefined;
  #model: { readonly provider: string; readonly modelId: string } = { provider: '', modelId: '' };
  /** The pod's settings after the events so far. */
  #settings: PodSettings = DEFAULT_SETTINGS;
  /** The number of the event that is being encoded. */
  #seq = 0;
  #isBusy = false;
  /** The number of the last event after which nothing runs. */
  #quietSeq = 0;
  #listeners = new Set<(event: PodEvent) => void>();
  #ids = 0;

  constructor(parts: RpcParts, out: Outbox) {
    this.parts = parts;
    this.#out = out;
    this.#updates = new MessageUpdates(out);
    const newId = (kind: string) => () => `${kind}_${(this.#ids += 1)}`;
    this.ui = new UiRequests((event) => this.send(event), newId('ui'));
    this.hostTools = new HostTools({
      send: (event) => this.send(event),
      newId: newId('host'),
      handle: (command) => this.#inform(command),
    });
    this.todos = new TodoBoard({
      send: (event) => this.send(event),
      store: async (items) => void (await this.handle({ type: 'set-todos', items })),
      clearAfterMs: parts.clearTodosAfterMs,
    });
    this.#approvals = new ApprovalPrompts({
      ui: this.ui,
      decide: async (decision) => this.#inform({ type: 'decide', ...decision }),
    });
    this.#continuations = new Continuations({
      rules: parts.rules,
      openTodos: () => openTasks(this.todos.phases),
      cancel: () => this.#inform({ type: 'cancel' }),
      onRulesBroken: (rules) => this.send({ type: 'ttsr_triggered', rules }),
      onReminder: ({ todos, attempt, maxAttempts }) =>
        this.send({ type: 'todo_reminder', todos, attempt, maxAttempts }),
      prompt: ({ text, customType }) => {
        this.#handle({ type: 'prompt', content: [{ type: 'text', text }], customType }, customType)
          // If another client starts a run first, the agent continues anyway.
          .catch((thrown: unknown) => {
            if (!isPodBusy(thrown)) throw thrown;
          })
          .catch(() => this.send({ type: 'agent_settled', aborted: false }));
      },
    });
    this.#encoder = this.#newEncoder();
  }

  get pod(): Pod {
    return this.followed.pod;
  }

  /** The forwarder of the pod's events. */
  get followed(): EventForwarder {
    if (this.#pump === undefined) throw new PolypodError('internal', 'the link has no pod yet');
    return this.#pump;
  }

  /** Whether a run is in progress, according to the events so far. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether the pod's events have ended: it was removed or closed, or can no longer be written. */
  get isCutOff(): boolean {
    return this.followed.isOver;
  }

  get model(): OfferedModel {
    return this.modelOf(this.#model);
  }

  /** Sends an event after all pending updates. */
  send(event: RpcEvent): void {
    this.#updates.flush();
    this.#out.send(event);
  }

  /** Sends an event that the current pod event produced. */
  #sendNumbered(event: RpcEvent): void {
    this.#updates.flush();
    this.#out.send({ ...event, seq: this.#seq });
    this.parts.extensions.observe(event);
  }

  async handle(command: PodCommand): Promise<Receipt> {
    return this.#handle(command, this.parts.by);
  }

  /** Starts a run, or queues the message. */
  async prompt(command: PodCommandOf<'prompt'>): Promise<void> {
    const receipt = await this.handle(command);
    if (receipt.runId === undefined) return;
    // The run may already have ended.
    this.#isBusy ||= receipt.seq > this.#quietSeq;
    this.#continuations.onPrompt();
  }

  /** Moves to another pod. */
  async move(pod: Pod): Promise<void> {
    const before = this.#pump;
    this.#leave();
    await before?.stop();
    this.#encoder = this.#newEncoder();
    this.#models = await this.parts.models();
    let joined = (): void => {};
    const isJoined = new Promise<void>((resolve) => {
      joined = resolve;
    });
    const pump = new EventForwarder(pod, {
      join: async (snapshot) => {
        await this.#lookUp(snapshot.model);
        this.#join(snapshot);
        joined();
      },
      forward: (events) => this.#forwardAll(events),
      hold: () => this.#out.hold(),
      drained: () => this.#out.drained(),
      failed: ({ message }) => {
        for (const event of this.#openRun.breakOff(message, this.#seq)) this.#deliver(event, true);
      },
    });
    this.#pump = pump;
    await Promise.race([isJoined, pump.reached(Number.POSITIVE_INFINITY)]);
    // Limits apply from the start. Removing earlier limits can wait until this client starts a run.
    const { toolLimit, contextFiles } = this.parts.limits;
    if ((toolLimit !== undefined || contextFiles === false) && !this.#isBusy)
      await this.#limit(pod, { by: this.parts.by, door: DOOR });
    this.parts.extensions.sessionStarted();
  }

  async #forwardAll(events: readonly PodEvent[]): Promise<void> {
    for (const event of events) {
      const forwarding = this.#forward(event);
      if (forwarding !== undefined) await forwarding;
    }
  }

  /** Ends the current run and moves to another pod. A session that was removed or can no longer be written does not prevent it. */
  async switchTo(pod: Pod): Promise<void> {
    const left = this.pod;
    await endRun(this).catch(() => {});
    await this.move(pod);
    if (left.id !== pod.id) await this.parts.host.discard(left.id);
  }

  /** The settings of the pod; for a removed pod, its last known settings. */
  async settings(): Promise<PodSettings> {
    return this.pod.snapshot().then(
      ({ settings }) => settings,
      () => this.#settings,
    );
  }

  /** The state of the pod. If its session can no longer be written, the last state that the link received. */
  async state(): Promise<StateParts> {
    return this.pod.snapshot().catch((thrown: unknown): StateParts => {
      const { pod, failure } = this.followed;
      if (failure === undefined || isUnknownPod(thrown)) throw thrown;
      return { id: pod.id, model: this.#model, settings: this.#settings, queue: [], compacting: false };
    });
  }

  /** Waits for the next matching event. Rejects when the pod's events end. */
  listen(fits: (event: PodEvent) => boolean): Listening {
    let resolve = (_: PodEvent): void => {};
    const received = this.whileFollowed(
      new Promise<PodEvent>((settle) => {
        resolve = settle;
      }),
    );
    // Not every caller awaits it.
    received.catch(() => {});
    const listener = (event: PodEvent): void => {
      if (!fits(event)) return;
      this.#listeners.delete(listener);
      resolve(event);
    };
    this.#listeners.add(listener);
    return { received, forget: () => this.#listeners.delete(listener) };
  }

  /** Awaits what a pod event will settle. Rejects when the pod's events end. */
  async whileFollowed<T>(awaited: Promise<T>): Promise<T> {
    const pump = this.followed;
    const ended = pump.ended.then((): never => {
      throw pump.failure ?? new PolypodError('not-found', TEXTS.removed);
    });
    return Promise.race([awaited, ended]);
  }

  async models(): Promise<readonly OfferedModel[]> {
    this.#models = await this.parts.models();
    return this.#models;
  }

  modelOf({ provider, modelId }: { readonly provider: string; readonly modelId: string }): OfferedModel {
    const known = [...this.#models, this.#unlisted].find(
      (model) => model?.provider === provider && model.id === modelId,
    );
    if (known !== undefined) return known;
    return {
      provider,
      id: modelId,
      name: modelId,
      wire: 'anthropic',
      baseUrl: '',
      // There may be no account for it: then only the session's settings show whether it reasons.
      reasoning: (this.#settings.thinking ?? 'off') !== 'off',
      input: ['text'],
    };
  }

  /** A compaction from the session file. */
  async compaction(entryId: string | undefined): Promise<RpcCompaction | undefined> {
    if (entryId === undefined) return undefined;
    const compaction = await this.parts.host.history.compaction(this.pod.id, entryId);
    return compaction && { ...compaction, preserveData: {} };
  }

  /** Closes all open dialogs: those of extensions are dismissed, and approvals stay pending in the pod. */
  dismissDialogs(): void {
    this.#approvals.close();
    this.ui.close();
  }

  async close(): Promise<void> {
    this.hostTools.disconnect();
    this.#leave();
    this.ui.close();
    const pump = this.#pump;
    await pump?.stop();
    if (pump !== undefined) await this.parts.host.discard(pump.pod.id).catch(() => {});
  }

  #leave(): void {
    this.#updates.end();
    this.#approvals.close();
    this.todos.close();
    this.#continuations.reset();
    this.#isBusy = false;
    this.#quietSeq = 0;
  }

  async #handle(command: PodCommand, by: string): Promise<Receipt> {
    const caller: Caller = { by, door: DOOR };
    const pump = this.followed;
    const { pod } = pump;
    // The client must receive the events of its command.
    await pump.resume();
    if (BEGINNING.has(command.type)) await this.#permit(pod, caller);
    return pod.handle(command, caller);
  }

  /** Configured only before a run, so that a pod without prompts has nothing to store. */
  async #permit(pod: Pod, caller: Caller): Promise<void> {
    const { fallbackRules } = this.parts;
    if (fallbackRules !== undefined && !isSame(fallbackRules, this.#settings.fallbackRules ?? []))
      await pod.handle({ type: 'configure', set: { fallbackRules } }, caller);
    // A run in progress keeps the limits of the client that started it.
    if (!this.#isBusy) await this.#limit(pod, caller);
  }

  /** Applies the limits of this link to the pod, also where they are wider: a session outlives the host that limited it. */
  async #limit(pod: Pod, caller: Caller): Promise<void> {
    const { limits } = this.parts;
    const changed = (['toolLimit', 'contextFiles'] as const).filter(
      (name) => !isSame(limits[name], this.#settings[name]),
    );
    if (changed.length === 0) return;
    const { toolLimit, contextFiles } = limits;
    const set = { ...withoutUndefined({ toolLimit }), ...(contextFiles === false && { contextFiles }) };
    await pod.handle({ type: 'configure', set, clear: changed }, caller);
  }

  /** Sends a command about something that may have ended already; errors are ignored. */
  #inform(command: PodCommand): void {
    this.handle(command).catch(() => {});
  }

  async #lookUp({ provider, modelId }: Snapshot['model']): Promise<void> {
    if (this.#models.some((model) => model.provider === provider && model.id === modelId)) return;
    this.#unlisted = await this.parts.modelNamed?.(`${provider}/${modelId}`).catch(() => undefined);
  }

  #join(snapshot: Snapshot): void {
    this.#model = snapshot.model;
    this.#settings = snapshot.settings;
    this.#isBusy = snapshot.run !== undefined;
    this.#openRun.join(snapshot);
    this.todos.follow(snapshot.todos);
    for (const approval of snapshot.approvals) this.#approvals.ask(approval);
  }

  #forward(event: PodEvent): void | Promise<void> {
    if (event.type === 'block-delta') {
      this.#encoder.encode(event);
      this.#continuations.check(event);
      return;
    }
    if (event.type === 'compaction-end' && event.reason !== 'manual')
      return this.compaction(event.entryId).then((compaction) => this.#forwardWith(event, compaction));
    this.#forwardWith(event, undefined);
  }

  #forwardWith(event: PodEvent, compaction: RpcCompaction | undefined): void {
    this.#deliver(event, this.#openRun.take(event), compaction);
  }

  #deliver(event: PodEvent, isSent: boolean, compaction?: RpcCompaction): void {
    this.#seq = event.seq;
    this.#note(event);
    if (isSent) this.#encoder.encode(event, compaction);
    for (const listen of this.#listeners) listen(event);
  }

  /** Updates the other parts of the link. */
  #note(event: PodEvent): void {
    switch (event.type) {
      case 'approval-request':
        this.#approvals.ask(event.approval);
        return;
      case 'approval-response':
        this.#approvals.settled(event.approvalId);
        return;
      case 'client-call':
        this.hostTools.call(event.callId, event.name, event.arguments);
        return;
      case 'client-cancel':
        this.hostTools.cancel(event.callId);
        return;
      case 'todos':
        this.todos.follow(event.items);
        return;
      case 'shell-end':
        this.shells.end(event);
        return;
      case 'settings': {
        const { name } = event.settings;
        if (name !== undefined && name !== this.#settings.name)
          this.#sendNumbered({ type: 'session_info_changed', name });
        this.#settings = event.settings;
        if (event.settings.model !== undefined) this.#model = event.settings.model;
        return;
      }
      case 'state':
        this.#isBusy = event.state === 'running' || event.state === 'waiting';
        if (!this.#isBusy) this.#quietSeq = event.seq;
        return;
      case 'block-start':
        this.#continuations.check(event);
        return;
      default:
    }
  }

  #newEncoder(): EventEncoder {
    return new EventEncoder({
      send: (event) => this.#sendNumbered(event),
      updates: this.#updates,
      now: this.parts.now,
      model: () => this.model,
      hostTools: this.hostTools,
      startsNextRun: (outcome) => this.#continuations.onRunEnd(outcome),
    });
  }
}

const DOOR = 'rpc';

/** Commands that can start tools. */
const BEGINNING: ReadonlySet<PodCommand['type']> = new Set(['prompt', 'steer', 'follow-up']);

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Rethrows a busy pod with the message that clients know; other errors are unchanged. */
export function busy(thrown: unknown): never {
  throw isPodBusy(thrown) ? new PolypodError('conflict', TEXTS.busy, { cause: thrown }) : thrown;
}
