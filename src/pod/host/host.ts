import { asPolypodError } from '../../base/index.ts';
import { realFiles } from '../../store/index.ts';
import { Catalogue, type Row } from '../catalogue/index.ts';
import type { PodFact } from '../event.ts';
import { makeDirectories } from '../journal/index.ts';
import {
  DEFAULT_LIMITS,
  type Fork,
  type HostLimits,
  type HostOptions,
  type NewPod,
  type PodMove,
  type SpawnedPod,
} from './host-options.ts';
import { EditorServerValues, OfferedServices } from './client-services.ts';
import { HostApprovals } from './host-approvals.ts';
import { Layout } from './layout.ts';
import type { LivePod } from '../live/live-pod.ts';
import type { HostCallbacks } from '../live/pod-options.ts';
import { Pod } from '../pod.ts';
import { NewSessions } from './new-sessions.ts';
import { PodCache } from './pod-cache.ts';
import { SessionList } from './session-list.ts';
import { SessionHistory } from './session-history.ts';
import { SessionReader } from './session-reader.ts';
import { TextReader } from './session-texts.ts';
import { RunSlots } from './run-slots.ts';
import { emptyTrash, moveToTrash, removeDrafts } from './trash.ts';
import { ChildPods } from './child-pods.ts';
import { UnsavedPods } from './unsaved-pods.ts';
import { unknownPod } from '../unknown-pod.ts';

/** The pods of a process and their sessions. Doors use pods through it. */
export class Host {
  /** Lists and finds sessions. */
  readonly sessions: SessionList;
  /** Full texts that rows truncate. */
  readonly texts: TextReader;
  /** Finds and decides approvals. */
  readonly approvals: HostApprovals;
  /** Reads recorded history. */
  readonly history: SessionHistory;
  /** What connected clients do for the tools of pods. */
  readonly clientServices = new OfferedServices();
  /** The values of variables and headers of editors' MCP servers. */
  readonly editorServerValues = new EditorServerValues();
  readonly #options: Required<Omit<HostOptions, 'limits'>> & { readonly limits: HostLimits };
  readonly #layout: Layout;
  readonly #catalogue: Catalogue;
  readonly #podCache: PodCache;
  readonly #unsaved = new UnsavedPods();
  /** Sessions that are being moved to the trash and must not be opened. */
  readonly #removing = new Set<string>();
  readonly #slots: RunSlots;
  readonly #childPods: ChildPods;
  readonly #newSessions: NewSessions;
  readonly #podListeners = new Set<(id: string, move: PodMove) => void>();
  /** Called when a pod may have become idle. */
  readonly #onQuieter = new Set<() => void>();

  static async open(options: HostOptions): Promise<Host> {
    const settings = {
      files: realFiles,
      durability: 'full',
      hibernateAfterMs: 5 * 60 * 1000,
      approvals: { fallback: 'deny' },
      now: () => new Date(),
      onFailure: () => {},
      audit: () => {},
      refuseStart: () => undefined,
      defaultBackend: () => undefined,
      ...options,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
    } as const;
    const layout = new Layout(options.directory);
    for (const directory of [layout.sessions, layout.feeds])
      for (const parent of makeDirectories(settings.files, directory))
        await settings.files.syncDirectory(parent);
    const catalogue = await Catalogue.open(layout.catalogue, {
      files: settings.files,
      onFailure: (error) => settings.onFailure(error, undefined),
    });
    emptyTrash(settings.files, layout, settings.now());
    removeDrafts(settings.files, layout, settings.now());
    const host = new Host(settings, layout, catalogue);
    await host.sessions.adopt();
    return host;
  }

  private constructor(
    options: Required<Omit<HostOptions, 'limits'>> & { readonly limits: HostLimits },
    layout: Layout,
    catalogue: Catalogue,
  ) {
    this.#options = options;
    this.#layout = layout;
    this.#catalogue = catalogue;
    this.#podCache = new PodCache({
      limit: options.limits.pods,
      hibernateAfterMs: options.hibernateAfterMs,
      open: (id) => this.#open(id),
      onMove: (id, move) => this.#moved(id, move),
    });
    this.#slots = new RunSlots(options.limits.runs);
    this.#childPods = new ChildPods({
      podCache: this.#podCache,
      exists: (id) => this.#catalogue.get(id) !== undefined,
      now: options.now,
      onFailure: options.onFailure,
    });
    const source = { files: options.files, layout, now: options.now, onFailure: options.onFailure };
    const podCache = this.#podCache;
    this.sessions = new SessionList(catalogue, source);
    this.#newSessions = new NewSessions({
      source,
      durability: options.durability,
      catalogue,
      podCache,
      unsaved: this.#unsaved,
      pod: (id) => this.pod(id),
      fileOf: (id) => this.fileOf(id),
      defaultBackend: options.defaultBackend,
    });
    const reader = new SessionReader({ source, podCache, fileOf: (id) => this.fileOf(id) });
    this.texts = new TextReader(source, podCache);
    this.approvals = new HostApprovals({ catalogue, podCache, reader, source });
    this.history = new SessionHistory(reader);
  }

  /** Returns the usage of each limit. */
  get usage(): { readonly pods: number; readonly runs: number; readonly sessions: number } {
    return { pods: this.#podCache.size, runs: this.#slots.taken, sessions: this.#catalogue.size };
  }

  async create(newPod: NewPod): Promise<Pod> {
    return this.#newSessions.create(newPod);
  }

  /** The back end of a new session; undefined for our own worker. */
  backendFor(wanted?: string): string | undefined {
    return this.#newSessions.backendFor(wanted);
  }

  /** Creates a pod that works for another one. Its approvals are also requested from the parent. */
  async spawn(parentId: string, child: SpawnedPod): Promise<Pod> {
    return this.#newSessions.spawn(parentId, child);
  }

  /** Creates a session that begins with the conversation of another one, up to an entry. */
  async fork(id: string, fork: Fork = {}): Promise<Pod> {
    return this.#newSessions.fork(id, fork);
  }

  /** Opens a session file of this program, of pi or of xcsh, in any directory. It stays where it is. */
  async openFile(file: string): Promise<Pod> {
    return this.#newSessions.openFile(file);
  }

  /** Removes a new pod in which nothing has happened, unless a client watches it. */
  async discard(id: string): Promise<void> {
    await this.#newSessions.discard(id);
  }

  /** Returns a pod by its id. Throws if it does not exist. */
  pod(id: string): Pod {
    if (!this.#unsaved.has(id) && this.#catalogue.get(id) === undefined) throw unknownPod(id);
    return new Pod(id, this.#podCache);
  }

  /** Where a session is kept, or will be with its first entry. */
  fileOf(id: string): string {
    const row = this.#catalogue.get(id);
    return row === undefined
      ? (this.#unsaved.get(id)?.file ?? this.#layout.session(id))
      : this.#layout.path(row.file);
  }

  /** Calls back for every pod in memory, now and when pods are loaded or unloaded, and for every removed pod. */
  onPods(listener: (id: string, move: PodMove) => void): () => void {
    this.#podListeners.add(listener);
    for (const { id } of this.#podCache.pods()) listener(id, 'in');
    return () => this.#podListeners.delete(listener);
  }

  /** Unloads a pod and cancels its run. */
  async close(id: string): Promise<void> {
    await this.#podCache.close(id);
  }

  /** Moves a session to the trash, where it stays for 30 days, with the sessions that work for it: lists do not show them alone. */
  async delete(id: string): Promise<void> {
    this.pod(id);
    this.#removing.add(id);
    try {
      await this.#podCache.close(id);
      const file = this.fileOf(id);
      if (file.startsWith(this.#layout.sessions))
        await moveToTrash(this.#options.files, this.#layout, id, this.#options.now());
      this.#unsaved.delete(id);
      this.#catalogue.remove(id);
      this.editorServerValues.delete(id);
      this.#moved(id, 'removed');
    } finally {
      this.#removing.delete(id);
    }
    const children = this.#catalogue.list().filter(({ parentId, spawned }) => parentId === id && spawned);
    for (const child of children) await this.delete(child.id);
  }

  /** Opens pods that a crash interrupted, which records the interruption, and pods with queued prompts. */
  async recover(): Promise<readonly string[]> {
    const rows = this.#catalogue.list().filter(isUnfinished);
    const opened = await Promise.all(
      rows.map(({ id }) =>
        this.#podCache
          .use(id, async () => id)
          .catch((thrown: unknown) => {
            this.#options.onFailure(asPolypodError(thrown), id);
          }),
      ),
    );
    return opened.filter((id) => id !== undefined);
  }

  /**
   * Starts no more runs; queued prompts stay for the next process. Resolves when no run makes progress, or after a timeout. Runs
   * that wait for a person do not count.
   */
  async drain(withinMs: number): Promise<void> {
    this.#slots.drain();
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.#podCache.pods().some((pod) => pod.isProgressing)) return;
        clearTimeout(timer);
        this.#onQuieter.delete(look);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#onQuieter.delete(look);
        resolve();
      }, withinMs);
      this.#onQuieter.add(look);
      look();
    });
  }

  /** Closes all pods: cancels runs, except those that wait for a person, and writes everything. */
  async shutdown(): Promise<void> {
    this.#slots.drain();
    this.#catalogue.beginClose();
    await this.#podCache.leaveAll();
    await this.#catalogue.close();
  }

  async #open(id: string): Promise<LivePod> {
    // A process loads the code of pods with its first pod. It is most of the code: worker, tools, policy.
    const { LivePod: Pods } = await import('../live/live-pod.ts');
    const { files, durability, agents, limits, approvals, now } = this.#options;
    const fresh = this.#unsaved.get(id);
    if (this.#removing.has(id) || (fresh === undefined && this.#catalogue.get(id) === undefined))
      throw unknownPod(id);
    const pod = await Pods.open({
      file: this.fileOf(id),
      ...(fresh && { header: fresh.header, settings: fresh.settings }),
      feedDirectory: this.#layout.feed(id),
      savedFilesDirectory: this.#layout.savedFilesOf(id),
      files,
      durability,
      openAgent: agents,
      queueLimit: limits.queue,
      watcherLimit: limits.watcher,
      approvals,
      now,
      callbacks: this.#callbacks,
    });
    this.#childPods.compare(pod);
    await this.#childPods.endOrphanedRun(pod);
    return pod;
  }

  readonly #callbacks: HostCallbacks<LivePod> = {
    takeSlot: () => this.#slots.take(),
    whyNoSlot: () => this.#slots.reason,
    releaseSlot: () => {
      this.#slots.release();
      // Queued prompts of other pods may have been waiting for this slot.
      setImmediate(() => {
        for (const pod of this.#podCache.pods()) pod.startNext();
        for (const look of this.#onQuieter) look();
      });
    },
    audit: (event) => this.#options.audit(event),
    spawn: (parentId, child) => this.spawn(parentId, child),
    refuseStart: (overrides) => this.#options.refuseStart(overrides),
    clientServices: (podId) => {
      const { spawned = false, parentId } = this.#catalogue.get(podId) ?? {};
      return this.clientServices.find(podId, spawned ? parentId : undefined);
    },
    editorServerValues: (podId) =>
      this.editorServerValues.find(podId, (id) => this.#catalogue.get(id)?.parentId),
    changed: (pod, by) => this.#changed(pod, by),
    asked: (pod, approval) => this.#childPods.asked(pod, approval),
    settled: (pod, approvalId, how) => this.#childPods.settled(pod, approvalId, how),
    decideForChild: (podId, command, caller) => this.#childPods.decide(podId, command, caller),
    fileWrite: (pod, write, callId) => this.#childPods.fileWrite(pod, write, callId),
    gone: async (pod, error) => {
      if (error !== undefined) {
        this.#options.onFailure(error, pod.id);
        await this.sessions.fail(pod, error);
      }
      this.#podCache.forget(pod.id, pod);
    },
  };

  #changed(pod: LivePod, by: PodFact['type']): void {
    const { id } = pod;
    // List a new pod only once its file exists: a row without a file would make opening the pod fail.
    if (this.#unsaved.has(id)) {
      const list = (): void => {
        this.#unsaved.delete(id);
        this.#changed(pod, by);
      };
      pod.written().then(list, () => {});
      return;
    }
    const change = this.sessions.update(pod, by);
    this.#podCache.settle(id);
    if (by === 'settings') this.#childPods.inheritPermissions(pod);
    this.sessions.notify(change);
    // It may wait for a person now.
    for (const look of this.#onQuieter) look();
  }

  #moved(id: string, move: PodMove): void {
    for (const listener of this.#podListeners) listener(id, move);
  }
}

/** Whether a run was active, or something is due. A child may wait for an approval although nothing waits for the child. */
function isUnfinished({ state, lastRun, queued, approvals, spawned = false }: Row): boolean {
  // The run is recorded before the state changes, and the process may have ended in between.
  const isRunning = state === 'running' || (state === 'idle' && lastRun?.status === 'running');
  const isOrphan = spawned && (state === 'waiting' || state === 'paused');
  return isRunning || isOrphan || queued > 0 || approvals.some(({ deadline }) => deadline !== undefined);
}
