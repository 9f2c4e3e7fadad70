import { asPolypodError, type JsonObject, PolypodError, uuidv7 } from '../../base/index.ts';
import { realFiles } from '../../store/index.ts';
import { Catalogue, type Filter, type ListOptions, type Row } from '../catalogue/index.ts';
import type { Caller } from '../command.ts';
import type { PodFact } from '../event.ts';
import { makeDirectories } from '../journal/index.ts';
import {
  type Change,
  DEFAULT_LIMITS,
  type Fork,
  type HostLimits,
  type HostOptions,
  type NewPod,
  type PodMove,
} from './host-options.ts';
import { HostApprovals } from './host-approvals.ts';
import { Layout } from './layout.ts';
import { rowOf } from './listing.ts';
import { LivePod } from '../live/live-pod.ts';
import type { HostCallbacks } from '../live/pod-options.ts';
import { Pod } from '../pod.ts';
import { noSession, refuseDamaged } from '../repair/index.ts';
import { PodCache } from './pod-cache.ts';
import { FORMAT_VERSION, type Header } from '../session/index.ts';
import { SessionHistory } from './session-history.ts';
import { SessionReader } from './session-reader.ts';
import { type RowSource, headerOf, idsIn, rowFromFile, rowsFromFiles } from './session-rows.ts';
import { TextReader } from './session-texts.ts';
import { RunSlots } from './run-slots.ts';
import { emptyTrash, moveToTrash, removeDrafts } from './trash.ts';
import { recordFailedRun } from './failed-run.ts';
import { ChildPods } from './child-pods.ts';
import { writeFork } from './fork-file.ts';
import { UnsavedPods } from './unsaved-pods.ts';
import { isSameFile, refuseTakenPlace, refuseUnsafeId } from './session-location.ts';
import { unknownPod } from '../unknown-pod.ts';

/** The pods of a process and their sessions. Doors use pods through it. */
export class Host {
  /** Full texts that rows truncate. */
  readonly texts: TextReader;
  /** Finds and decides approvals. */
  readonly approvals: HostApprovals;
  /** Reads recorded history. */
  readonly history: SessionHistory;
  readonly #options: Required<Omit<HostOptions, 'limits'>> & { readonly limits: HostLimits };
  readonly #layout: Layout;
  readonly #catalogue: Catalogue;
  readonly #podCache: PodCache;
  readonly #fresh = new UnsavedPods();
  /** Sessions that are being moved to the trash and must not be opened. */
  readonly #removing = new Set<string>();
  /** Pods that are being created under a key. */
  readonly #making = new Map<string, Promise<Pod>>();
  readonly #slots: RunSlots;
  readonly #family: ChildPods;
  readonly #rowSource: RowSource;
  readonly #podListeners = new Set<(id: string, move: PodMove) => void>();
  readonly #onChange = new Set<(change: Change) => void>();
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
    await host.#adopt();
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
    this.#family = new ChildPods({
      podCache: this.#podCache,
      exists: (id) => this.#catalogue.get(id) !== undefined,
      now: options.now,
      onFailure: options.onFailure,
    });
    this.#rowSource = { files: options.files, layout, now: options.now, onFailure: options.onFailure };
    const [source, podCache] = [this.#rowSource, this.#podCache];
    const reader = new SessionReader({ source, podCache, fileOf: (id) => this.fileOf(id) });
    this.texts = new TextReader(source, podCache);
    this.approvals = new HostApprovals({ catalogue, podCache, reader, source });
    this.history = new SessionHistory(reader);
  }

  /** Returns the usage of each limit. */
  get usage(): { readonly pods: number; readonly runs: number; readonly sessions: number } {
    return { pods: this.#podCache.size, runs: this.#slots.taken, sessions: this.#catalogue.size };
  }

  async create(options: NewPod): Promise<Pod> {
    const { key } = options;
    const making = key === undefined ? undefined : this.#making.get(key);
    if (making !== undefined) return making;
    const made = this.#create(options, {});
    if (key !== undefined) this.#making.set(key, made);
    return made.finally(() => this.#making.delete(key ?? ''));
  }

  async #create(options: NewPod, more: JsonObject): Promise<Pod> {
    const { cwd, parentId, key, lazy = false } = options;
    const known =
      key === undefined ? undefined : (this.#catalogue.byKey(key)?.id ?? this.#fresh.underKey(key));
    if (known !== undefined) return this.pod(known);
    const id = uuidv7(this.#options.now().getTime());
    const file = options.file?.(id);
    const there = file === undefined ? undefined : this.#fresh.at(file);
    if (there !== undefined) return this.pod(there);
    if (file !== undefined) refuseTakenPlace(file, this.#layout, this.#catalogue.list());
    const settings = typeof options.settings === 'function' ? options.settings(id) : options.settings;
    const extras = { ...(parentId && { parentSessionId: parentId }), ...(key && { key }), ...more };
    const parent = parentId === undefined ? undefined : this.#catalogue.get(parentId);
    const parentSession = parent === undefined ? options.parentSession : this.#layout.path(parent.file);
    const header: Header = {
      id,
      version: FORMAT_VERSION,
      timestamp: this.#options.now().toISOString(),
      cwd,
      ...(parentSession === undefined ? {} : { parentSession }),
      ...(Object.keys(extras).length > 0 && { extras }),
    };
    this.#fresh.add({ header, ...(file !== undefined && { file }), ...(lazy && settings && { settings }) });
    const pod = new Pod(id, this.#podCache);
    try {
      // Writes the first entry: from here on the pod survives a crash.
      if (!lazy) await pod.handle({ type: 'configure', set: settings ?? {} }, HOST);
    } catch (error) {
      await this.#podCache.close(id);
      this.#fresh.delete(id);
      throw error;
    }
    return pod;
  }

  /** Discards a new pod in which nothing has happened, unless a client uses it. */
  async discard(id: string): Promise<void> {
    if (!this.#fresh.has(id) || this.#podCache.get(id)?.isIdle === false) return;
    await this.#podCache.close(id);
    this.#fresh.delete(id);
  }

  /** Returns a pod by its id. Throws if it does not exist. */
  pod(id: string): Pod {
    if (!this.#fresh.has(id) && this.#catalogue.get(id) === undefined) throw unknownPod(id);
    return new Pod(id, this.#podCache);
  }

  /** Opens a session file of Polypod, pi or xcsh in any directory, without moving it. */
  async openFile(file: string): Promise<Pod> {
    const { files, now } = this.#options;
    const header = await headerOf(files, file);
    if (header === undefined) {
      if (files.stat(file) !== undefined) await refuseDamaged(files, file);
      throw noSession(file);
    }
    const { id } = header;
    refuseUnsafeId(id, file);
    const known = this.#catalogue.get(id);
    const place = known && this.#layout.path(known.file);
    const isMoved = place !== undefined && !isSameFile(files, place, file);
    if (isMoved && files.stat(place) !== undefined)
      throw new PolypodError(
        'conflict',
        `${file} is a copy of the session ${id}, which is kept in ${place}: fork that one instead`,
      );
    if (known === undefined || isMoved)
      this.#catalogue.put(await rowFromFile(this.#rowSource, file, now().toISOString()));
    try {
      // A session that cannot be opened is not listed.
      await this.#podCache.use(id, async () => {});
    } catch (error) {
      if (known === undefined) this.#catalogue.remove(id);
      else if (isMoved) this.#catalogue.put(known);
      throw error;
    }
    return new Pod(id, this.#podCache);
  }

  /** Creates a session that starts with the conversation of another one, up to an entry. */
  async fork(id: string, { entryId, name, file: place }: Fork = {}): Promise<Pod> {
    this.pod(id);
    const { files, durability, now } = this.#options;
    const [tree, live] = await this.#podCache.use(
      id,
      async (source) => [await source.whole(), source] as const,
    );
    const newId = uuidv7(now().getTime());
    const file = place?.(newId) ?? this.#layout.session(newId);
    const header: Header = {
      id: newId,
      version: FORMAT_VERSION,
      timestamp: now().toISOString(),
      cwd: live.header.cwd,
      parentSession: this.#fileOf(id),
      extras: { parentSessionId: id },
    };
    const at = entryId === 'root' ? null : (entryId ?? tree.leafId);
    const source = { id, tree, settings: live.view.settings };
    await writeFork({ file, header, source, at, files, durability });
    this.#catalogue.put(await rowFromFile(this.#rowSource, file, now().toISOString()));
    const pod = this.pod(newId);
    if (name !== undefined) await pod.handle({ type: 'configure', set: { name } }, HOST);
    return pod;
  }

  /** Creates a pod that works for another one. Its approvals also appear in the parent. */
  async spawn(parentId: string, child: Omit<NewPod, 'parentId'>): Promise<Pod> {
    this.pod(parentId);
    return this.#create({ ...child, parentId }, { spawned: true });
  }

  /** Newest first, including what other processes wrote. */
  async list(options: ListOptions = {}): Promise<readonly Row[]> {
    await this.#catalogue.refresh();
    return this.#catalogue.list(options);
  }

  async search(text: string, filter: Filter = {}): Promise<readonly Row[]> {
    await this.#catalogue.refresh();
    return this.#catalogue.search(text, filter);
  }

  /**
   * Calls back when a pod of this process changes its row. A door that watches the pod after `told`, or a new pod after 0, misses
   * no event, so it need not watch idle pods. Returns a function that unsubscribes.
   */
  onChange(listener: (change: Change) => void): () => void {
    this.#onChange.add(listener);
    return () => this.#onChange.delete(listener);
  }

  row(id: string): Row | undefined {
    return this.#catalogue.get(id);
  }

  byName(name: string): readonly Row[] {
    return this.#catalogue.byName(name);
  }

  byTask(taskId: string): Row | undefined {
    return this.#catalogue.byTask(taskId);
  }

  /** The path of a session's file, which may not exist yet. */
  fileOf(id: string): string {
    return this.#fileOf(id);
  }

  /** Calls back for every pod in memory, now and when pods are loaded or unloaded, and for every removed pod. */
  onPods(listener: (id: string, move: PodMove) => void): () => void {
    this.#podListeners.add(listener);
    for (const { id } of this.#podCache.pods()) listener(id, 'in');
    return () => this.#podListeners.delete(listener);
  }

  /** Working directories, most recently used first. */
  async recentPaths(limit = 20): Promise<readonly string[]> {
    const rows = await this.list();
    return [...new Set(rows.map(({ cwd }) => cwd))].slice(0, limit);
  }

  /** Unloads a pod and cancels its run. */
  async close(id: string): Promise<void> {
    await this.#podCache.close(id);
  }

  /** Moves a session to the trash, where it stays for 30 days. */
  async delete(id: string): Promise<void> {
    this.pod(id);
    this.#removing.add(id);
    try {
      await this.#podCache.close(id);
      const file = this.#fileOf(id);
      if (file.startsWith(this.#layout.sessions))
        await moveToTrash(this.#options.files, this.#layout, id, this.#options.now());
      this.#fresh.delete(id);
      this.#catalogue.remove(id);
      this.#moved(id, 'removed');
    } finally {
      this.#removing.delete(id);
    }
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

  /** Rebuilds the catalogue from the session files. */
  async rebuild(): Promise<{ readonly rows: number }> {
    return this.#catalogue.rebuild(rowsFromFiles(this.#rowSource, idsIn(this.#rowSource)));
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
    const { files, durability, agents, limits, approvals, now } = this.#options;
    const fresh = this.#fresh.get(id);
    if (this.#removing.has(id) || (fresh === undefined && this.#catalogue.get(id) === undefined))
      throw unknownPod(id);
    const pod = await LivePod.open({
      file: this.#fileOf(id),
      ...(fresh && { header: fresh.header, settings: fresh.settings }),
      feedDirectory: this.#layout.feed(id),
      files,
      durability,
      openAgent: agents,
      queueLimit: limits.queue,
      watcherLimit: limits.watcher,
      approvals,
      now,
      callbacks: this.#callbacks,
    });
    this.#family.compare(pod);
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
    refuseStart: (overrides) => this.#options.refuseStart(overrides),
    changed: (pod, by) => this.#changed(pod, by),
    asked: (pod, approval) => this.#family.asked(pod, approval),
    settled: (pod, approvalId, how) => this.#family.settled(pod, approvalId, how),
    decideForChild: (podId, command, caller) => this.#family.decide(podId, command, caller),
    gone: async (pod, error) => {
      if (error !== undefined) await this.#failed(pod, error);
      this.#podCache.forget(pod.id, pod);
    },
  };

  #changed(pod: LivePod, by: PodFact['type']): void {
    const { id, header, view, totals } = pod;
    // List a new pod only once its file exists: a row without a file would make opening the pod fail.
    if (this.#fresh.has(id)) {
      const list = (): void => {
        this.#fresh.delete(id);
        this.#changed(pod, by);
      };
      pod.written().then(list, () => {});
      return;
    }
    const before = this.#catalogue.get(id);
    const file = this.#layout.named(pod.file);
    const now = this.#options.now().toISOString();
    // Naming, archiving and configuring a session does not count as activity.
    const at = by === 'settings' ? before?.updatedAt : undefined;
    const row = rowOf({ header, view, totals, model: pod.model }, { file, before, now, updatedAt: at });
    this.#catalogue.put(by === 'closed' ? { ...row, closed: true } : row);
    this.#podCache.settle(id);
    for (const listener of this.#onChange) listener({ id, before, ...pod.numbers });
    // The run may now be waiting for a person.
    for (const look of this.#onQuieter) look();
  }

  async #failed(pod: LivePod, failure: PolypodError): Promise<void> {
    const { id, numbers } = pod;
    this.#options.onFailure(failure, id);
    const before = await recordFailedRun(this.#catalogue, this.#rowSource, pod, failure);
    if (before !== undefined)
      for (const listener of this.#onChange) listener({ id, before, ...numbers, failure });
  }

  #moved(id: string, move: PodMove): void {
    for (const listener of this.#podListeners) listener(id, move);
  }

  #fileOf(id: string): string {
    const row = this.#catalogue.get(id);
    return row === undefined
      ? (this.#fresh.get(id)?.file ?? this.#layout.session(id))
      : this.#layout.path(row.file);
  }

  /**
   * Adds sessions that are missing in the catalogue: it is not synced, so a power cut may have removed rows of acknowledged
   * sessions.
   */
  async #adopt(): Promise<void> {
    const ids = new Set(idsIn(this.#rowSource));
    // Removes rows that an interrupted deletion left.
    for (const { id, file } of this.#catalogue.list())
      if (this.#layout.path(file) === this.#layout.session(id) && !ids.has(id)) this.#catalogue.remove(id);
    const lost = [...ids].filter((id) => this.#catalogue.get(id) === undefined);
    for await (const row of rowsFromFiles(this.#rowSource, lost)) this.#catalogue.put(row);
  }
}

const HOST: Caller = { by: 'host', door: 'process' };

/** Whether a run was active, or something is due. */
function isUnfinished({ state, lastRun, queued, approvals }: Row): boolean {
  // The run is recorded before the state changes, and the process may have ended in between.
  const isRunning = state === 'running' || (state === 'idle' && lastRun?.status === 'running');
  return isRunning || queued > 0 || approvals.some(({ deadline }) => deadline !== undefined);
}
