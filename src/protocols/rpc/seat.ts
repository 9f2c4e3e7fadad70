import { PolypodError } from '../../base/index.ts';
import type { Caller, Pod, PodCommand, PodEvent, Receipt, Snapshot } from '../../pod/index.ts';
import { ApprovalPrompts } from './approvals.ts';
import { EventEncoder } from './encode.ts';
import { TEXTS } from './errors.ts';
import { HostTools } from './host-tools.ts';
import { MessageUpdates } from './message-updates.ts';
import type { OfferedModel } from './messages.ts';
import type { Outbox } from './outbox.ts';
import type { RpcParts } from './parts.ts';
import { Pump } from './pump.ts';
import { Shells } from './shells.ts';
import { injectionOf, StreamRules } from './stream-rules.ts';
import { TodoBoard } from './todo-board.ts';
import { UiRequests } from './ui.ts';
import type { RpcCompaction, RpcEvent, RpcMessage, RpcRule } from './wire.ts';

type EventOf<T extends PodEvent['type']> = Extract<PodEvent, { readonly type: T }>;

/** Inputs that nobody typed. */
const REMINDER = 'todo-reminder';
const INJECTION = 'ttsr-injection';

/** Where a client sits: before one pod at a time, with all that the link keeps about it. */
export class Seat {
  readonly parts: RpcParts;
  readonly ui: UiRequests;
  readonly hostTools: HostTools;
  readonly todos: TodoBoard;
  readonly shells = new Shells();
  readonly #out: Outbox;
  readonly #updates: MessageUpdates;
  readonly #approvals: ApprovalPrompts;
  readonly #rules: StreamRules;
  #encoder: EventEncoder;
  #pump: Pump | undefined;
  #models: readonly OfferedModel[] = [];
  #model: { readonly provider: string; readonly modelId: string } = { provider: '', modelId: '' };
  #isBusy = false;
  /** The last prompt came from here: only then it is ours to go on by ourselves. */
  #isOurs = false;
  #broken: readonly RpcRule[] = [];
  #listeners = new Set<(event: PodEvent) => void>();
  #ids = 0;

  constructor(parts: RpcParts, out: Outbox) {
    this.parts = parts;
    this.#out = out;
    this.#updates = new MessageUpdates(out);
    const newId = (kind: string) => () => `${kind}_${(this.#ids += 1)}`;
    this.ui = new UiRequests((event) => this.say(event), newId('ui'));
    this.hostTools = new HostTools({
      say: (event) => this.say(event),
      newId: newId('host'),
      handle: (command) => this.#inform(command),
    });
    this.todos = new TodoBoard({
      say: (event) => this.say(event),
      store: async (items) => void (await this.handle({ type: 'set-todos', items })),
      clearAfterMs: parts.clearTodosAfterMs,
    });
    this.#approvals = new ApprovalPrompts({
      ui: this.ui,
      decide: async (decision) => this.#inform({ type: 'decide', ...decision }),
    });
    this.#rules = new StreamRules(parts.rules);
    this.#encoder = this.#newEncoder();
  }

  get pod(): Pod {
    if (this.#pump === undefined) throw new PolypodError('internal', 'the link has no pod yet');
    return this.#pump.pod;
  }

  /** Whether a run is under way, as far as it has been told. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  get model(): OfferedModel {
    return this.modelOf(this.#model);
  }

  /** Says something after all that was said before. */
  say(event: RpcEvent): void {
    this.#updates.flush();
    this.#out.say(event);
  }

  async handle(command: PodCommand): Promise<Receipt> {
    return this.#handle(command, this.parts.by);
  }

  /** Begins a run, or lets the message wait. */
  async prompt(command: Extract<PodCommand, { readonly type: 'prompt' }>): Promise<void> {
    const receipt = await this.handle(command);
    if (receipt.runId === undefined) return;
    this.#isBusy = true;
    this.#isOurs = true;
    this.todos.prompted();
  }

  /** Sits down before another pod. */
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
    const pump = new Pump(pod, {
      join: async (snapshot) => {
        this.#join(snapshot);
        joined();
      },
      tell: (event) => this.#tell(event),
      drained: () => this.#out.drained(),
    });
    this.#pump = pump;
    await Promise.race([isJoined, pump.reached(Number.POSITIVE_INFINITY)]);
  }

  /** Ends what runs, and resolves when its end has been told. */
  async endRun(): Promise<void> {
    await this.handle({ type: 'cancel' }).catch(unlessNothingRuns);
    for (;;) {
      const { state, seq } = await this.pod.snapshot();
      if (state !== 'running' && state !== 'waiting') {
        await this.#pump?.reached(seq);
        return;
      }
      await this.hear(({ type }) => type === 'state' || type === 'closed');
    }
  }

  /** The next event that fits. */
  hear(fits: (event: PodEvent) => boolean): Promise<PodEvent> {
    return new Promise((resolve) => {
      const listen = (event: PodEvent): void => {
        if (!fits(event)) return;
        this.#listeners.delete(listen);
        resolve(event);
      };
      this.#listeners.add(listen);
    });
  }

  async models(): Promise<readonly OfferedModel[]> {
    this.#models = await this.parts.models();
    return this.#models;
  }

  modelOf({ provider, modelId }: { readonly provider: string; readonly modelId: string }): OfferedModel {
    const known = this.#models.find((model) => model.provider === provider && model.id === modelId);
    if (known !== undefined) return known;
    return {
      provider,
      id: modelId,
      name: modelId,
      wire: 'anthropic',
      baseUrl: '',
      reasoning: false,
      input: ['text'],
    };
  }

  /** What the session file has of a compaction. */
  async compaction(entryId: string | undefined): Promise<RpcCompaction | undefined> {
    if (entryId === undefined) return undefined;
    const entry = (await this.parts.host.tree(this.pod.id)).get(entryId);
    if (entry?.type !== 'compaction') return undefined;
    const { summary, firstKeptEntryId, tokensBefore } = entry;
    return { summary, firstKeptEntryId, tokensBefore, preserveData: {} };
  }

  async close(): Promise<void> {
    this.hostTools.disconnect();
    this.#leave();
    this.ui.close();
    await this.#pump?.stop();
  }

  #leave(): void {
    this.#updates.end();
    this.#approvals.close();
    this.todos.close();
    this.#isBusy = false;
    this.#isOurs = false;
    this.#broken = [];
  }

  #handle(command: PodCommand, by: string): Promise<Receipt> {
    const caller: Caller = { by, door: DOOR };
    return this.pod.handle(command, caller);
  }

  /** What a client says about something that may be over: then it means nothing. */
  #inform(command: PodCommand): void {
    this.handle(command).catch(() => {});
  }

  #join(snapshot: Snapshot): void {
    this.#model = snapshot.model;
    this.#isBusy = snapshot.run !== undefined;
    this.todos.follow(snapshot.todos);
    for (const approval of snapshot.approvals) this.#approvals.ask(approval);
  }

  #tell(event: PodEvent): void | Promise<void> {
    if (event.type === 'block-delta') {
      this.#encoder.encode(event);
      this.#look(event);
      return;
    }
    if (event.type === 'compaction-end' && event.reason !== 'manual')
      return this.compaction(event.entryId).then((compaction) => this.#tellWith(event, compaction));
    this.#tellWith(event, undefined);
  }

  #tellWith(event: PodEvent, compaction: RpcCompaction | undefined): void {
    this.#note(event);
    this.#encoder.encode(event, compaction);
    for (const listen of this.#listeners) listen(event);
  }

  /** What the other parts of the link have to know. */
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
      case 'settings':
        if (event.settings.model !== undefined) this.#model = event.settings.model;
        return;
      case 'state':
        this.#isBusy = event.state === 'running' || event.state === 'waiting';
        return;
      case 'block-start':
        this.#rules.begin();
        return;
      default:
    }
  }

  #look({ delta }: EventOf<'block-delta'>): void {
    const broken = this.#rules.look(delta.type === 'input-json' ? delta.json : delta.text);
    if (broken.length === 0) return;
    this.#broken = [...this.#broken, ...broken];
    this.say({ type: 'ttsr_triggered', rules: broken });
    this.#inform({ type: 'cancel' });
  }

  #newEncoder(): EventEncoder {
    return new EventEncoder({
      say: (event) => this.say(event),
      updates: this.#updates,
      now: this.parts.now,
      model: () => this.model,
      hostTools: this.hostTools,
      ownInput: (event) => this.#ownInput(event),
      goesOn: (outcome) => this.#goesOn(outcome),
    });
  }

  #ownInput({ by, item }: EventOf<'input'>): 'hidden' | RpcMessage | undefined {
    if (by === REMINDER) return 'hidden';
    if (by !== INJECTION || item.type !== 'message') return undefined;
    const content = item.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return {
      role: 'custom',
      customType: INJECTION,
      content,
      display: false,
      attribution: 'agent',
      timestamp: this.parts.now(),
    };
  }

  /** Goes on by itself: by the rule that cut the answer, or for tasks that are left. */
  #goesOn({ status }: EventOf<'run-end'>['outcome']): boolean {
    const broken = this.#broken;
    this.#broken = [];
    if (broken.length > 0) return this.#say(injectionOf(broken), INJECTION);
    const reminder = this.#isOurs && status === 'finished' ? this.todos.reminder() : undefined;
    if (reminder !== undefined) return this.#say(reminder, REMINDER);
    this.#isOurs = false;
    return false;
  }

  #say(text: string, by: string): true {
    this.#handle({ type: 'prompt', content: [{ type: 'text', text }] }, by).catch(() => {
      // Somebody else was quicker: then the agent goes on anyway.
    });
    return true;
  }
}

const DOOR = 'rpc';

/** For what ends something: that there was nothing to end is no failure. */
export function unlessNothingRuns(thrown: unknown): void {
  if (!(thrown instanceof PolypodError) || thrown.code !== 'conflict') throw thrown;
}

/** A refusal in the words that clients know. */
export function busy(thrown: unknown): never {
  if (thrown instanceof PolypodError && thrown.code === 'conflict')
    throw new PolypodError('conflict', TEXTS.busy, { cause: thrown });
  throw thrown;
}
