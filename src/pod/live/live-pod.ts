import { PolypodError, uuidv7, withoutUndefined } from '../../base/index.ts';
import { BackgroundCommands } from '../../tools/index.ts';
import type { Totals } from '../../worker/index.ts';
import type { Agent } from '../agent.ts';
import { agentContext } from './agent-context.ts';
import { Approvals } from './approvals.ts';
import { auditEventsOf, refusedDecisionEvents } from './audit-events.ts';
import { backgroundEvents, backgroundNotices } from './background.ts';
import { ClientTools } from './client-tools.ts';
import type { Caller, Receipt, ValidCommand } from '../command.ts';
import { perform, type PodParts } from './commands/index.ts';
import type { Approval, Branch, PodFact, PodState, Settlement } from '../event.ts';
import { openSegments, type Segments } from '../feed/index.ts';
import {
  type UnnumberedEvent,
  finishedCalls,
  Journal,
  persistedState,
  type OpenSession,
  openSession,
  interruptedCommands,
  interruptedShells,
  reconcile,
  Recorder,
  recovery,
  type Restored,
  restore,
} from '../journal/index.ts';
import { HostNotices } from './host-notices.ts';
import { PendingWork } from './pending-work.ts';
import { PodEnd } from './pod-end.ts';
import { openCallsIn } from '../view/open-calls.ts';
import type { PodOptions } from './pod-options.ts';
import { Receipts } from '../receipts.ts';
import { type Briefing, RunSetup } from './run/run-setup.ts';
import { Runner } from './run/runner.ts';
import { conversation, type Header, type ModelChoice, type SessionTree } from '../session/index.ts';
import { changed, DEFAULT_SETTINGS } from '../settings.ts';
import { SavedFiles } from '../rewind/index.ts';
import { Rewinds } from './rewinds.ts';
import { todosAtLeaf } from './todos-at-leaf.ts';
import { RunSlot } from './run-slot.ts';
import { Shell } from './shell.ts';
import { type Snapshot, snapshotOf } from '../snapshot.ts';
import { stateOf } from '../view/state.ts';
import { TitleRequest } from './title-request.ts';
import { LoadedTree } from './loaded-tree.ts';
import type { PodView } from '../view/view.ts';
import type { Watchable } from '../watch.ts';

/** A pod in memory: creates and connects its parts. `commands/` contains what commands do. */
export class LivePod {
  readonly id: string;
  readonly view: PodView;
  readonly header: Header;
  readonly #options: PodOptions<LivePod>;
  readonly #loadedTree: LoadedTree;
  readonly #journal: Journal;
  readonly #receipts: Receipts;
  readonly #setup: RunSetup;
  /** Returns files and the conversation to earlier points. */
  readonly rewinds: Rewinds;
  readonly #runner: Runner;
  readonly #approvals: Approvals;
  readonly #shell: Shell;
  readonly #background: BackgroundCommands;
  readonly #agent: Agent;
  readonly #next: PendingWork;
  readonly #parts: PodParts;
  readonly #recorder: Recorder;
  readonly #slot: RunSlot;
  readonly #notices: HostNotices<LivePod>;
  readonly #titleRequest: TitleRequest;
  readonly #end: PodEnd;
  /** Whether no entry records the initial settings yet. */
  #isUnrecorded = false;

  static async open(options: PodOptions<LivePod>): Promise<LivePod> {
    const { files, openAgent, feedDirectory } = options;
    const session = await openSession(options);
    try {
      const { header } = session.tree;
      const segments = await openSegments(feedDirectory, {
        sessionId: header.id,
        files,
        guard: () => session.lock.assertRecentOwner(),
      });
      const restored = restore(session.tree);
      const { lastSeq, lost } = await reconcile(segments, restored);
      const { view } = restored;
      // Only until the first entry: a file that was written meanwhile contains these settings, or newer ones.
      const isBegun = session.tree.leafId === null && options.settings !== undefined;
      if (isBegun) view.settings = changed(view.settings, options.settings);
      let pod: LivePod | undefined;
      const background = new BackgroundCommands(backgroundEvents((fact) => pod?.publish({ fact })));
      const { callbacks } = options;
      const agent = await openAgent(agentContext({ header, view, background, callbacks, pod: () => pod }));
      pod = new LivePod(options, session, segments, restored, { agent, background }, lastSeq);
      pod.#isUnrecorded = isBegun;
      await pod.#runner.look();
      pod.#recover(restored, lost);
      if (lost !== undefined) await pod.#journal.written();
      return pod;
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  private constructor(
    options: PodOptions<LivePod>,
    session: OpenSession,
    segments: Segments,
    restored: Restored,
    { agent, background }: { readonly agent: Agent; readonly background: BackgroundCommands },
    lastSeq: number,
  ) {
    const { now, callbacks } = options;
    this.#options = options;
    this.#loadedTree = new LoadedTree(session);
    this.#agent = agent;
    this.#background = background;
    this.header = session.tree.header;
    this.id = this.header.id;
    this.view = restored.view;
    const publish = (draft: UnnumberedEvent): string | undefined => this.publish(draft);
    const written = () => this.#journal.written();
    this.#recorder = new Recorder(
      {
        now: () => now().getTime(),
        model: () => this.#runner.model,
        totals: () => this.#runner.totals,
        settings: () => this.view.settings,
        isAwaiting: () => this.view.approvals.hasOwnCall(),
        state: () =>
          persistedState(this.view, {
            receipts: this.#receipts.all(),
            unsentShellOutputs: this.#shell.waiting,
            lastSeq: this.#journal.lastSeq,
          }),
      },
      restored.entryIds,
    );
    this.#recorder.reopen(restored.openCalls, restored.earlyResults);
    this.#journal = new Journal({
      tree: () => this.#loadedTree.tree,
      session: session.log,
      segments,
      recorder: this.#recorder,
      lastSeq,
      lastEntrySeq: restored.lastSeq,
      watcherLimit: options.watcherLimit,
      onFailure: (error) => this.#end.fail(error),
    });
    this.#receipts = new Receipts(now);
    this.#slot = new RunSlot(callbacks);
    this.#notices = new HostNotices({ callbacks, journal: () => this.#journal });
    for (const recorded of restored.receipts) this.#receipts.add(recorded);
    this.#approvals = new Approvals({
      view: this.view,
      publish,
      now,
      newId: uuidv7,
      policy: options.approvals,
      reconsider: (tool, args) => this.#setup.reconsider(tool, args),
      limitProblem: (limit, tool, args) => this.#setup.limitProblem(limit, tool, args),
      onExpired: () => void this.#next.resumeDecided(DEADLINE),
      remember: (rule, person) => agent.remember(rule, person),
    });
    const clientTools = new ClientTools((fact) => publish({ fact }));
    this.#setup = new RunSetup({
      view: this.view,
      agent,
      cwd: this.header.cwd,
      clientTools: () => this.view.settings.clientTools.map((tool) => clientTools.toolFor(tool)),
    });
    this.rewinds = new Rewinds({
      cwd: this.header.cwd,
      realPath: agent.fileFacts.realPath,
      saved: new SavedFiles({
        directory: options.savedFilesDirectory,
        files: options.files,
        durability: options.durability,
      }),
      judge: (path, after) => this.#setup.judgeWrite(path, after),
      whole: () => this.whole(),
      publish,
      written,
    });
    this.#runner = new Runner({
      setup: this.#setup,
      view: this.view,
      agent,
      cwd: this.header.cwd,
      totals: restored.totals,
      measured: restored.measured,
      publish,
      written,
      ask: (question, runId, signal) => this.#approvals.ask(question, runId, signal),
      audit: (event) => callbacks.audit({ ...event, session: this.id }),
      notices: () => backgroundNotices(this.view, background),
      newRunId: uuidv7,
      recordFileWrite: async (write, callId) => {
        await this.rewinds.record(write, callId);
        await callbacks.fileWrite(this, write, callId);
      },
      clientServices: () => callbacks.clientServices(this.id),
      recordAgentSession: (id) => {
        const settings = { ...this.view.settings, agentSession: { id, podId: this.id } };
        publish({ fact: { type: 'settings', settings, by: 'host', door: 'process' } });
      },
      now,
      onQuiet: () => this.#onQuiet(),
    });
    this.#shell = new Shell(
      { agent, cwd: this.header.cwd, publish, written, now, onEnd: () => this.#continueWork() },
      restored.unsentShellOutputs,
    );
    this.#next = new PendingWork({
      view: this.view,
      setup: this.#setup,
      runner: this.#runner,
      shell: this.#shell,
      publish,
      takeSlot: () => this.#takeSlot(),
      refuseStart: callbacks.refuseStart,
    });
    this.#parts = {
      view: this.view,
      agent,
      setup: this.#setup,
      runner: this.#runner,
      rewinds: this.rewinds,
      approvals: this.#approvals,
      clientTools,
      shell: this.#shell,
      background,
      publish,
      queueLimit: options.queueLimit,
      now,
      newId: uuidv7,
      refuseStart: callbacks.refuseStart,
      takeSlot: () => this.#takeSlot(),
      whyNoSlot: () => {
        if (this.rewinds.isActive) return 'files are being restored: send it again';
        return this.closing === undefined ? callbacks.whyNoSlot() : 'the pod is being closed: send it again';
      },
      reach: (entryId) => this.#loadedTree.reach(entryId, this.#journal),
      branchTo: (entryId) => this.#branchTo(entryId),
      todosAtLeaf: () => todosAtLeaf(this.#loadedTree.tree),
      decideForChild: callbacks.decideForChild,
      // From now on nothing else starts: queued work runs when the pod is opened again.
      close: ({ by, door }, recorded) => this.#end.close({ fact: { type: 'closed', by, door }, recorded }),
    };
    this.#titleRequest = new TitleRequest({
      view: this.view,
      agent,
      model: () => this.#runner.model,
      count: (usage, cost) => this.#runner.count(usage, cost),
      publish,
    });
    this.#end = new PodEnd({
      view: this.view,
      agent,
      runner: this.#runner,
      shell: this.#shell,
      background,
      approvals: this.#approvals,
      titleRequest: this.#titleRequest,
      journal: this.#journal,
      session,
      publish,
      gone: (failure) => callbacks.gone(this, failure),
    });
  }

  /** Whether the pod can be unloaded: it has no run, no command, no watcher and no pending deadline. */
  get isIdle(): boolean {
    return (
      !this.#runner.active &&
      !this.#shell.active &&
      this.#background.running().length === 0 &&
      this.#journal.feed.watchers === 0 &&
      this.view.nextQueued('prompt') === undefined &&
      this.view.approvals.pending().every(({ deadline }) => deadline === undefined)
    );
  }

  /** Whether the pod makes progress without a person. */
  get isProgressing(): boolean {
    if (this.view.state !== 'waiting') return this.#runner.active;
    return this.view.approvals.hasOwnCall() && this.view.tools.size > 0;
  }

  /** Resolves when the pod is closed; undefined while it is open. */
  get closing(): Promise<void> | undefined {
    return this.#end.closing;
  }

  /** The current model, or the one that the next run would use. */
  get model(): ModelChoice {
    return this.#runner.model;
  }

  get totals(): Totals {
    return this.#runner.totals;
  }

  /** The usage of the current run so far. */
  get usedByRun(): Totals {
    return this.#runner.used;
  }

  /** The path of its session file, which may not exist yet. */
  get file(): string {
    return this.#options.file;
  }

  /** The numbers of the last event and of the last published event. */
  get numbers(): { readonly last: number; readonly publishedSeq: number } {
    return { last: this.#journal.lastSeq, publishedSeq: this.#journal.feed.publishedSeq };
  }

  /** At least the entries of the current conversation. */
  get tree(): SessionTree {
    return this.#loadedTree.tree;
  }

  /** Performs a command. Resolves with a receipt once its effect is on disk, or rejects. */
  async handle(command: ValidCommand, caller: Caller): Promise<Receipt> {
    if (this.#journal.failure !== undefined) throw this.#journal.failure;
    return this.#receipts.once(command, caller, async (recordReceipt) => {
      if (this.closing !== undefined)
        throw new PolypodError('conflict', 'the pod is being closed: try again');
      let given: Receipt | undefined;
      const receiptOf = (reply: Omit<Receipt, 'accepted' | 'seq'>): Receipt =>
        (given ??= { accepted: true, seq: this.#journal.lastSeq, ...reply });
      const reply = await perform(command, caller, (how) => recordReceipt(receiptOf(how)), this.#parts).catch(
        (thrown: unknown) => {
          for (const event of refusedDecisionEvents(command, caller, thrown, this.id))
            this.#options.callbacks.audit(event);
          throw thrown;
        },
      );
      const receipt = receiptOf(reply);
      if (command.type === 'decide') await this.#next.resumeDecided(caller);
      this.#continueWork();
      if (command.type !== 'close') await this.#journal.written();
      return receipt;
    });
  }

  /** The part of the pod that a watcher uses. */
  get watchable(): Omit<Watchable, 'done'> {
    return { journal: this.#journal, takeSnapshot: () => this.#takeSnapshot() };
  }

  /** Resolves when all events so far are on disk. */
  written(): Promise<void> {
    return this.#journal.written();
  }

  async snapshot(): Promise<Snapshot> {
    const snapshot = this.#takeSnapshot();
    await this.#journal.written();
    return snapshot;
  }

  /** Rejects with the next step if the selected model is unavailable. */
  async requireModel(): Promise<void> {
    const { model } = this.view.settings;
    if (model !== undefined) await this.#agent.model(model);
  }

  briefing(): Promise<Briefing> {
    return this.#setup.briefing(this.#runner.overrides);
  }

  /** The complete tree, including entries that were not loaded yet. */
  whole(): Promise<SessionTree> {
    return this.#loadedTree.whole(this.#journal);
  }

  /** Publishes an event and applies it to the view. After a failure it does nothing. */
  publish(draft: UnnumberedEvent): string | undefined {
    if (this.#journal.failure !== undefined) return undefined;
    if (this.#isUnrecorded) this.#recordSettings();
    if (!STEADY.has(draft.fact.type))
      for (const event of auditEventsOf(draft.fact, this.view, this.id)) this.#options.callbacks.audit(event);
    const entryId = this.#journal.publish(draft);
    this.view.apply(draft.fact);
    if (!STEADY.has(draft.fact.type)) this.#follow(draft.fact);
    return entryId;
  }

  /** Records the initial settings as the first entry. */
  #recordSettings(): void {
    const { settings } = this.view;
    this.#isUnrecorded = false;
    this.view.settings = DEFAULT_SETTINGS;
    this.publish({ fact: { type: 'settings', settings, by: 'host', door: 'process' } });
  }

  /** Performs the side effects of an event. */
  #follow(fact: PodFact): void {
    this.#notices.notify(this, fact);
    // A run that is cancelled right after it resumes does not ask again about its calls, so nothing else would settle the approval.
    if (fact.type === 'run-end') this.#titleRequest.onRunEnd(fact.outcome);
    if (fact.type === 'tool-end') this.#approvals.cancelOwn(fact.callId);
    const state = this.#state();
    if (state !== this.view.state) this.publish({ fact: { type: 'state', state } });
  }

  /** Adds an approval of a child pod. */
  mirror(approval: Approval): void {
    if (this.view.approvals.get(approval.approvalId) === undefined) this.#approvals.open(approval);
  }

  mirrorSettled(approvalId: string, how: Settlement): void {
    const { at: _, ...settlement } = how;
    this.#approvals.settle(approvalId, settlement);
  }

  /** Ends the run, writes pending events, and releases the files. */
  async close(): Promise<void> {
    await this.#end.close();
  }

  /** As `close`, but a run that waits for a person stays unfinished: another process resumes it after the decision. */
  async leave(): Promise<void> {
    await this.#end.leave();
  }

  #recover(restored: Restored, lost: { readonly from: number; readonly to: number } | undefined): void {
    const noteFor = (callId: string): string | undefined => this.#agent.interruptionNote?.(callId);
    const interrupted = interruptedShells(restored, this.#options.now(), noteFor);
    const drafts = [
      ...recovery(restored, lost, interrupted, noteFor),
      ...interruptedCommands(restored, noteFor),
    ];
    for (const draft of drafts) this.publish(draft);
    this.#shell.keep(interrupted);
    // The worker was created before the last calls got their results.
    const { totals, measured } = restored;
    this.#runner.restart(
      this.view.items,
      totals,
      measured,
      finishedCalls(restored, drafts, openCallsIn(this.view.items)),
    );
    this.view.state = this.#state();
    if (drafts.length > 0) this.publish({ fact: { type: 'state', state: this.view.state } });
    this.#approvals.cancelWithoutCall(openCallsIn(this.view.items).map(({ callId }) => callId));
    this.#approvals.resume();
    this.#continueWork();
  }

  #state(): PodState {
    return stateOf(this.view, this.#runner.active);
  }

  #takeSnapshot(): Snapshot {
    const { provider, modelId, contextWindow } = this.#runner.model;
    return snapshotOf(this.view, {
      seq: this.#journal.lastSeq,
      id: this.id,
      cwd: this.header.cwd,
      createdAt: this.header.timestamp,
      model: { provider, modelId },
      leafId: this.#loadedTree.tree.leafId,
      stats: {
        totals: this.#runner.totals,
        contextTokens: this.#runner.contextTokens,
        ...withoutUndefined({ contextWindow }),
      },
    });
  }

  #takeSlot(): boolean {
    // The pod may have been closed while the run was prepared.
    return this.closing === undefined && !this.rewinds.isActive && this.#slot.take();
  }

  #onQuiet(): void {
    this.#slot.release();
    if (this.#journal.failure !== undefined) return;
    const state = this.#state();
    if (state !== this.view.state) this.publish({ fact: { type: 'state', state } });
    this.#continueWork();
  }

  /** Starts a queued prompt, because a run slot is free. */
  startNext(): void {
    if (this.closing === undefined) this.#next.startPrompt();
  }

  #continueWork(): void {
    if (this.#journal.failure === undefined && this.closing === undefined) this.#next.take();
  }

  #branchTo(entryId: string | null): Branch {
    const from = this.#loadedTree.tree.leafId;
    this.#loadedTree.tree.branchTo(entryId);
    const { items, entryIds, totals } = conversation(this.#loadedTree.tree);
    this.#recorder.rebase(entryIds);
    this.#runner.restart(items, totals ?? this.totals);
    return { from, items, turn: this.totals.turns };
  }
}

/** The caller that continues a run after a deadline. */
const DEADLINE: Caller = { by: 'deadline', door: 'process' };

/** Frequent events that change neither the state nor a list. */
const STEADY: ReadonlySet<PodFact['type']> = new Set([
  'block-start',
  'block-delta',
  'block-stop',
  'block-abort',
  'ping',
  'usage',
  'status',
  'tool-update',
  'shell-update',
]);
