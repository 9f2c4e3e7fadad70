import type { PolypodError } from '../../base/index.ts';
import type { Catalogue, Filter, ListOptions, Row } from '../catalogue/index.ts';
import type { PodFact } from '../event.ts';
import type { LivePod } from '../live/live-pod.ts';
import { recordFailedRun } from './failed-run.ts';
import type { Change } from './host-options.ts';
import { rowOf } from './listing.ts';
import { idsIn, type RowSource, rowsFromFiles } from './session-rows.ts';

/** The list of all sessions: finds rows, and updates them with what pods of this process do. */
export class SessionList {
  readonly #catalogue: Catalogue;
  readonly #source: RowSource;
  readonly #listeners = new Set<(change: Change) => void>();

  constructor(catalogue: Catalogue, source: RowSource) {
    this.#catalogue = catalogue;
    this.#source = source;
  }

  /** Newest first. Includes what other processes wrote. */
  async list(options: ListOptions = {}): Promise<readonly Row[]> {
    await this.#catalogue.refresh();
    return this.#catalogue.list(options);
  }

  async search(text: string, filter: Filter = {}): Promise<readonly Row[]> {
    await this.#catalogue.refresh();
    return this.#catalogue.search(text, filter);
  }

  get(id: string): Row | undefined {
    return this.#catalogue.get(id);
  }

  byName(name: string): readonly Row[] {
    return this.#catalogue.byName(name);
  }

  byTask(taskId: string): Row | undefined {
    return this.#catalogue.byTask(taskId);
  }

  /** Working directories, the last used first. */
  async recentPaths(limit = 20): Promise<readonly string[]> {
    const rows = await this.list();
    return [...new Set(rows.map(({ cwd }) => cwd))].slice(0, limit);
  }

  /**
   * Calls back whenever a pod of this process changes its row. A client that then watches the pod after `publishedSeq`, or a new pod
   * after 0, misses nothing, so a door need not watch pods in which nothing happens. Returns a function that stops the calls.
   */
  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Rebuilds the catalogue from the session files. */
  async rebuild(): Promise<{ readonly rows: number }> {
    return this.#catalogue.rebuild(rowsFromFiles(this.#source, idsIn(this.#source)));
  }

  /** Adds sessions that the catalogue has lost: it is not synced, and a power cut must not hide what was acknowledged. */
  async adopt(): Promise<void> {
    const { layout } = this.#source;
    const ids = new Set(idsIn(this.#source));
    // A deletion that was cut short left these rows.
    for (const { id, file } of this.#catalogue.list())
      if (layout.path(file) === layout.session(id) && !ids.has(id)) this.#catalogue.remove(id);
    const lost = [...ids].filter((id) => this.#catalogue.get(id) === undefined);
    for await (const row of rowsFromFiles(this.#source, lost)) this.#catalogue.put(row);
  }

  /** Updates the row of a pod after an event. `notify` reports the change. */
  update(pod: LivePod, by: PodFact['type']): Change {
    const { id, header, view, totals, model } = pod;
    const before = this.#catalogue.get(id);
    const file = before?.file ?? this.#source.layout.named(pod.file);
    const now = this.#source.now().toISOString();
    // Naming, archiving and configuring a session is no activity in it.
    const updatedAt = by === 'settings' || by === 'title' ? before?.updatedAt : undefined;
    const row = rowOf({ header, view, totals, model }, { file, before, now, updatedAt });
    // After a kill, the next process opens every session whose row says that it runs, and corrects the row.
    const urgent = !(PROGRESS.has(by) && before?.state === 'running' && row.state === 'running');
    this.#catalogue.put(by === 'closed' ? { ...row, closed: true } : row, urgent);
    return { id, before, ...pod.numbers };
  }

  notify(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Corrects the row of a pod whose log could not be written. */
  async fail(pod: LivePod, failure: PolypodError): Promise<void> {
    const { id, numbers } = pod;
    const before = await recordFailedRun(this.#catalogue, this.#source, pod, failure);
    if (before !== undefined) this.notify({ id, before, ...numbers, failure });
  }
}

/** Events of a run whose rows other processes need not see at once: a row may have a hundred tasks. */
const PROGRESS: ReadonlySet<PodFact['type']> = new Set(['queued', 'unqueued', 'input', 'llm-end']);
