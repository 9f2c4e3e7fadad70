import { asPolypodError, onAbort, PolypodError } from '../../../base/index.ts';
import type { Pod, PodCommand, PodEvent, PodEventOf, Receipt, Snapshot } from '../../../pod/index.ts';
import { EventForwarder } from '../../event-forwarder.ts';
import { EditorServices } from '../client-side/editor-services.ts';
import { callIdOf, callTitle, Permissions } from '../client-side/permissions.ts';
import { configOptions, modesOf, type ShownSettings } from '../encode/options.ts';
import { replayOf } from '../encode/replay.ts';
import { type NumberedUpdate, planOf, SessionProjection } from '../encode/session-updates.ts';
import type { Content } from '../encode/tool-call.ts';
import type { Peer } from '../peer.ts';
import type { AcpParts } from '../parts.ts';
import type { ClientCapabilities, ConfigOption, SessionModes, SessionUpdate } from '../wire.ts';
import { type OwnPrompt, OwnPrompts, type PromptEnd } from './own-prompts.ts';

/** How a compaction ended; undefined if the session was closed before. */
export type CompactionEnd = PodEventOf<'compaction-end'>['result'] | undefined;
type Usage = NonNullable<PodEventOf<'llm-end'>['usage']>;
type Totals = PodEventOf<'run-end'>['totals'];
const NO_MODEL: Snapshot['model'] = { provider: '', modelId: '' };

export interface AcpSessionParts {
  readonly peer: Peer;
  readonly pod: Pod;
  readonly cwd: string;
  readonly capabilities: ClientCapabilities;
  readonly parts: AcpParts;
}

/** How much of the session the client receives first: everything (`load`), or what is in progress. */
export type Beginning = 'history' | 'progress';

/** One session of a client: forwards the events of its pod, and sends its prompts and decisions to the pod. */
export class AcpSession {
  readonly id: string;
  readonly cwd: string;
  readonly #parts: AcpSessionParts;
  readonly #permissions: Permissions;
  readonly #services: EditorServices;
  readonly #projection: SessionProjection;
  readonly #prompts = new OwnPrompts();
  /** The prompts are sent in the order of their requests. */
  #sending: Promise<unknown>;
  #compactions: ((end: CompactionEnd) => void)[] = [];
  #forwarder: EventForwarder | undefined;
  #isClosed = false;
  #shown: ShownSettings | undefined;
  #settingsSent: Promise<void> = Promise.resolve();
  #usesDefaultModel = true;
  #name: string | undefined;
  #title: string | undefined;
  #window = 0;
  #used = 0;
  #cost: number | undefined;
  #onReady = (): void => {};

  constructor(parts: AcpSessionParts) {
    this.id = parts.pod.id;
    this.cwd = parts.cwd;
    this.#parts = parts;
    this.#services = new EditorServices({ ...parts, sessionId: this.id, warn: (text) => this.#warn(text) });
    this.#projection = this.#newProjection();
    // A prompt that was sent before the events are forwarded could end unnoticed.
    this.#sending = new Promise<void>((resolve) => {
      this.#onReady = resolve;
    });
    this.#permissions = new Permissions({
      peer: parts.peer,
      sessionId: this.id,
      cwd: parts.cwd,
      eventNumbers: parts.capabilities.eventNumbers,
      announce: (approval) => {
        const { tool, arguments: json } = approval;
        this.#send(this.#projection.announce(callIdOf(approval), tool, callTitle(approval), json));
      },
      decide: async (decision) => {
        // A late decision is not an error: the approval was settled by somebody else.
        await this.handle({ type: 'decide', ...decision }).catch(() => {});
      },
    });
  }

  /** Whether the session has no model of its own. */
  get usesDefaultModel(): boolean {
    return this.#usesDefaultModel;
  }

  /** Starts to forward events. Resolves when the client has received the beginning. */
  async open(beginning: Beginning): Promise<void> {
    if (this.#isClosed) throw new PolypodError('conflict', 'the session was closed before it was open');
    let next: Beginning | 'gap' = beginning;
    let onJoined = (): void => {};
    const joined = new Promise<void>((resolve) => {
      onJoined = resolve;
    });
    const { peer, pod } = this.#parts;
    this.#forwarder = new EventForwarder(pod, {
      join: async (snapshot) => {
        await this.#join(snapshot, next);
        // If the client was too slow, it receives what is in progress, not everything again.
        next = 'gap';
        onJoined();
      },
      forward: (events) => this.#forward(events),
      hold: () => peer.hold(),
      drained: () => peer.drained(),
      failed: (error) => this.#fail(error),
    });
    await Promise.race([joined, this.#forwarder.ended]);
    this.#onReady();
    if (this.#forwarder.failure !== undefined) throw this.#forwarder.failure;
  }

  /** Sends a command in the name of the person. */
  handle(command: PodCommand): Promise<Receipt> {
    return this.#parts.pod.handle(command, { by: this.#parts.parts.by, door: 'acp' });
  }

  /** Sends a prompt; while a run is active, it is queued. Resolves when its run has ended. */
  async prompt(prepare: () => Promise<Content>, signal: AbortSignal): Promise<PromptEnd> {
    const prompt = this.#prompts.add();
    const forget = onAbort(signal, () => void this.#cancel([prompt]).catch(() => {}));
    const sent = this.#sending.then(() => this.#sendPrompt(prompt, prepare));
    this.#sending = sent.catch(() => {});
    try {
      return (await sent) ? await prompt.ended : { type: 'cancelled' };
    } finally {
      forget();
      this.#prompts.remove(prompt);
    }
  }

  /** Compacts the conversation. Resolves when that has ended. */
  async compact(instructions: string, signal: AbortSignal): Promise<CompactionEnd> {
    await this.#sending;
    let onEnd = (_: CompactionEnd): void => {};
    const ended = new Promise<CompactionEnd>((resolve) => {
      onEnd = resolve;
      this.#compactions.push(resolve);
    });
    const forget = onAbort(signal, () => void this.cancel().catch(() => {}));
    try {
      await this.handle({ type: 'compact', ...(instructions !== '' && { instructions }) });
      return await ended;
    } finally {
      forget();
      this.#compactions = this.#compactions.filter((one) => one !== onEnd);
    }
  }

  /** Removes the queued prompts of this client and cancels the run. */
  async cancel(): Promise<void> {
    await this.#cancel(this.#prompts.all);
    await this.#cancelRun();
  }

  /** The current settings, as editors show them. */
  async options(): Promise<{
    readonly modes: SessionModes;
    readonly configOptions: readonly ConfigOption[];
  }> {
    await this.#settingsSent;
    const shown = (this.#shown ??= this.#shownIn(await this.#parts.pod.snapshot()));
    return { modes: modesOf(shown), configOptions: configOptions(shown, await this.#parts.parts.models()) };
  }

  /** Resolves when all events up to a number were sent. */
  async reached(seq: number): Promise<void> {
    await this.#forwarder?.reached(seq);
  }

  /** Sends the slash commands of the directory. */
  async sendCommands(): Promise<void> {
    const availableCommands = await this.#parts.parts.commands(this.cwd);
    this.#send([{ sessionUpdate: 'available_commands_update', availableCommands }]);
  }

  /** Shows a text of the agent that is not part of the conversation. */
  say(text: string): void {
    this.#send([{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }]);
  }

  /** Stops forwarding. The pod goes on, unless only this client has its work in progress. */
  async close(how: 'cancel' | 'leave'): Promise<void> {
    this.#isClosed = true;
    if (how === 'cancel' && this.#prompts.all.length > 0) await this.cancel().catch(() => {});
    this.#services.close();
    this.#permissions.close();
    this.#onReady();
    await this.#forwarder?.stop();
    this.#abandon({ type: 'cancelled' });
    // A prompt that was sent before still reaches the session.
    await this.#sending;
  }

  /** Returns false if the prompt was cancelled before it was sent. */
  async #sendPrompt(prompt: OwnPrompt, prepare: () => Promise<Content>): Promise<boolean> {
    const content = await prepare();
    if (prompt.isCancelled) return false;
    this.#prompts.sending(prompt, content);
    const receipt = await this.handle({ type: 'prompt', content: [...content], whenBusy: 'queue' });
    this.#prompts.accepted(prompt, receipt);
    // It was cancelled while it was sent.
    if (prompt.isCancelled) await this.#cancel([prompt]);
    return true;
  }

  /** Removes prompts from the queue, and cancels the run that answers one of them. */
  async #cancel(prompts: readonly OwnPrompt[]): Promise<void> {
    for (const prompt of prompts) this.#prompts.cancel(prompt);
    // If it was delivered meanwhile, the run is cancelled when it starts.
    for (const { queueId, runId } of prompts)
      if (queueId !== undefined && runId === undefined)
        await this.handle({ type: 'clear-queue', queueIds: [queueId] }).catch(() => {});
    await this.#cancelRunOf(prompts);
  }

  async #cancelRunOf(prompts: readonly OwnPrompt[]): Promise<void> {
    const open = this.#prompts.all;
    if (prompts.some((prompt) => prompt.runId !== undefined && open.includes(prompt)))
      await this.#cancelRun();
  }

  async #cancelRun(): Promise<void> {
    await this.handle({ type: 'cancel' }).catch((thrown: unknown) => {
      // The run has ended meanwhile.
      if (asPolypodError(thrown).code !== 'conflict') throw thrown;
    });
  }

  async #join(snapshot: Snapshot, beginning: Beginning | 'gap'): Promise<void> {
    if (beginning === 'gap') {
      this.#warn(
        'Updates were missed, because the editor read too slowly. Load the session again to see them.',
      );
      this.#send(this.#projection.catchUp(snapshot));
    }
    this.#shown = this.#shownIn(snapshot);
    this.#usesDefaultModel = usesDefaultModel(snapshot.settings);
    this.#name = snapshot.settings.name;
    this.#title = snapshot.title?.text;
    this.#window = snapshot.stats.contextWindow ?? 0;
    this.#used = snapshot.stats.contextTokens;
    this.#cost = snapshot.stats.totals.cost;
    if (beginning === 'history') await this.#replay(snapshot);
    this.#sendProgress(snapshot, beginning);
    await Promise.all(snapshot.approvals.map((approval) => this.#permissions.ask(approval)));
    this.#permissions.keep(snapshot.approvals);
    this.#prompts.rejoin(snapshot);
  }

  /** Sends the recorded conversation, and what belongs to it. */
  async #replay(snapshot: Snapshot): Promise<void> {
    const { pod, cwd, parts, capabilities } = this.#parts;
    const conversation = await parts.host.history.conversation(pod.id);
    // What was recorded after the snapshot arrives as events.
    const items = conversation.flatMap(({ sessionId, items: all }, part) =>
      all.flatMap(({ item, seq = 0 }, index) =>
        sessionId === pod.id && seq > snapshot.seq ? [] : [{ item, messageId: `h${part}-${index}` }],
      ),
    );
    const { updates, open } = replayOf(items, { cwd, capabilities, diffs: snapshot.diffs ?? [] });
    this.#send(updates);
    for (const { callId, arguments: json } of open) this.#projection.adopt(callId, json);
    if (snapshot.state === 'idle') this.#send(this.#projection.closeAll());
    if (snapshot.todos.length > 0) this.#send([planOf(snapshot.todos)]);
    const title = this.#name ?? this.#title;
    if (title !== undefined) this.#send([{ sessionUpdate: 'session_info_update', title }]);
    this.#sendUsage({});
  }

  /** Sends what is running: calls, the commands of people and, after the history, the current answer. */
  #sendProgress({ seq, tools, blocks, shells }: Snapshot, beginning: Beginning | 'gap'): void {
    for (const { call, text } of tools) {
      const { callId, name, title, arguments: json } = call;
      this.#send(this.#projection.announce(callId, name, title, json));
      this.#send(this.#projection.running(callId, title, json, text));
    }
    for (const shell of shells) this.#send(this.#projection.announceShell(shell));
    for (const { index, open, text, ...head } of blocks) {
      const sent = this.#projection.join(index, head, `s${seq}-${index}`, text);
      if (beginning === 'history' || head.blockType === 'tool-use') this.#send(sent);
    }
  }

  async #forward(events: readonly PodEvent[]): Promise<void> {
    let start = 0;
    for (const [index, event] of events.entries()) {
      if (event.type !== 'approval-request' && event.type !== 'approval-response') continue;
      // The request follows what was published before it, and is withdrawn before its call ends.
      this.#sendNumbered(this.#projection.project(events.slice(start, index)));
      start = index;
      if (event.type === 'approval-request') await this.#permissions.ask(event.approval, event.seq);
      else this.#permissions.settled(event.approvalId);
    }
    this.#sendNumbered(this.#projection.project(events.slice(start)));
    for (const event of events) this.#observe(event);
    const isDelivered = events.some((event) => event.type === 'input' && event.queueId !== undefined);
    // A prompt was delivered from the queue before it could be removed from it.
    if (isDelivered) void this.#cancelRunOf(this.#prompts.cancelled).catch(() => {});
  }

  #observe(event: PodEvent): void {
    // The usage belongs to the turn: it is sent before the answer to the prompt.
    if (event.type === 'llm-end') this.#sendUsage(event);
    if (event.type === 'run-end') this.#sendUsage({ totals: event.conversation ?? event.totals });
    if (event.type === 'run-end') this.#services.runEnded();
    this.#prompts.observe(event);
    if (event.type === 'settings') {
      const { settings } = event;
      this.#settingsSent = this.#settingsSent.then(() => this.#sendSettings(settings)).catch(() => {});
    }
    if (event.type === 'title') {
      this.#title = event.title;
      if (this.#name === undefined)
        this.#send([{ sessionUpdate: 'session_info_update', title: event.title }]);
    }
    if (event.type === 'compaction-end') {
      if (event.result.status === 'compacted') {
        this.#used = event.result.tokensAfter;
        this.#sendUsage({});
      }
      if (event.reason === 'manual') for (const onEnd of this.#compactions.splice(0)) onEnd(event.result);
    }
  }

  /** Sends the settings that were changed: by this client, by another one, or by the agent itself. */
  async #sendSettings(settings: Snapshot['settings']): Promise<void> {
    const before = this.#shown;
    this.#usesDefaultModel = usesDefaultModel(settings);
    const model = settings.model ?? before?.model ?? NO_MODEL;
    const shown = (this.#shown = this.#shownIn({ settings, model }));
    if (settings.name !== this.#name) {
      this.#name = settings.name;
      this.#send([{ sessionUpdate: 'session_info_update', title: settings.name ?? this.#title ?? null }]);
    }
    if (before !== undefined && isSame(before, shown)) return;
    if (before?.mode !== shown.mode)
      this.#send([{ sessionUpdate: 'current_mode_update', currentModeId: shown.mode }]);
    const models = await this.#parts.parts.models();
    const used = models.find(({ provider, id }) => provider === model.provider && id === model.modelId);
    this.#window = used?.contextWindow ?? this.#window;
    this.#send([{ sessionUpdate: 'config_option_update', configOptions: configOptions(shown, models) }]);
  }

  /** The tokens in the context; editors show them as a share of the context window. */
  #sendUsage({ usage, totals }: { readonly usage?: Usage | undefined; readonly totals?: Totals }): void {
    if (usage?.inputTokens !== undefined) this.#used = usage.inputTokens + (usage.outputTokens ?? 0);
    if (totals?.cost !== undefined) this.#cost = totals.cost;
    if (this.#window === 0 || this.#used === 0) return;
    this.#send([
      {
        sessionUpdate: 'usage_update',
        used: this.#used,
        size: this.#window,
        ...(this.#cost !== undefined && { cost: { amount: this.#cost, currency: 'USD' } }),
      },
    ]);
  }

  /** Editors that do not know notices show it in the answer. */
  #warn(title: string): void {
    if (this.#parts.capabilities.notices)
      this.#send([{ sessionUpdate: 'notice', severity: 'warning', title }]);
    else if (this.#prompts.all.length > 0) this.say(`${title}\n\n`);
  }

  #fail({ message }: PolypodError): void {
    this.#permissions.close();
    this.#abandon({ type: 'lost', message });
  }

  #abandon(end: PromptEnd): void {
    this.#prompts.abandon(end);
    for (const onEnd of this.#compactions.splice(0)) onEnd(undefined);
  }

  #shownIn({ settings, model }: Pick<Snapshot, 'settings' | 'model'>): ShownSettings {
    return { mode: settings.mode ?? this.#parts.parts.mode(), model, thinking: settings.thinking };
  }

  #newProjection(): SessionProjection {
    const { capabilities, parts } = this.#parts;
    // Commands that run in terminals of the editor are shown in these.
    const hasTerminals = capabilities.terminal && parts.terminals;
    return new SessionProjection({
      cwd: this.#parts.cwd,
      capabilities: { ...capabilities, terminalOutput: capabilities.terminalOutput && !hasTerminals },
      isOwnPrompt: (event) => this.#prompts.isOwn(event),
    });
  }

  #send(updates: readonly SessionUpdate[]): void {
    for (const update of updates) this.#parts.peer.notify('session/update', { sessionId: this.id, update });
  }

  #sendNumbered(updates: readonly NumberedUpdate[]): void {
    const { peer, capabilities } = this.#parts;
    for (const { seq, update } of updates)
      peer.notify('session/update', {
        sessionId: this.id,
        update: this.#services.show(update),
        ...(capabilities.eventNumbers && { _meta: { polypod: { seq } } }),
      });
  }
}

function isSame(one: ShownSettings, other: ShownSettings): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Another agent has its own models. */
function usesDefaultModel({ model, backend }: Snapshot['settings']): boolean {
  return model === undefined && backend === undefined;
}
