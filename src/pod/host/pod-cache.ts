import { PolypodError } from '../../base/index.ts';
import type { LivePod } from '../live/live-pod.ts';

interface Resident {
  readonly opening: Promise<LivePod>;
  pod: LivePod | undefined;
  /** The number of active commands, watchers and snapshots. */
  uses: number;
  timer: NodeJS.Timeout | undefined;
  closing: Promise<void> | undefined;
}

export interface PodCacheOptions {
  readonly limit: number;
  /** How long an unused pod stays in memory. */
  readonly hibernateAfterMs: number;
  readonly open: (id: string) => Promise<LivePod>;
  /** A pod was loaded or unloaded. */
  readonly onMove: (id: string, move: 'in' | 'out') => void;
}

/** Caches loaded pods and unloads idle ones. */
export class PodCache {
  readonly #options: PodCacheOptions;
  /** Least recently used first. */
  readonly #podCache = new Map<string, Resident>();
  #isLeft = false;

  constructor(options: PodCacheOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#podCache.size;
  }

  /** The loaded pods. */
  pods(): readonly LivePod[] {
    return [...this.#podCache.values()].flatMap(({ pod }) => pod ?? []);
  }

  get(id: string): LivePod | undefined {
    return this.#podCache.get(id)?.pod;
  }

  /** Calls a function with a pod, which stays in memory until the function is done. */
  async use<T>(id: string, work: (pod: LivePod) => Promise<T>): Promise<T> {
    const leave = await this.enter(id);
    try {
      return await work(leave.pod);
    } finally {
      leave.done();
    }
  }

  /** Keeps a pod in memory until `done` is called. */
  async enter(id: string): Promise<{ readonly pod: LivePod; readonly done: () => void }> {
    const resident = await this.#wake(id);
    try {
      const pod = await resident.opening;
      return { pod, done: () => this.#leave(id, resident) };
    } catch (error) {
      this.#leave(id, resident);
      throw error;
    }
  }

  /** A pod may have become idle and can be unloaded. */
  settle(id: string): void {
    const resident = this.#podCache.get(id);
    if (resident !== undefined) this.#settle(id, resident);
  }

  /** Removes a pod that was closed or has failed. */
  forget(id: string, pod: LivePod): void {
    const resident = this.#podCache.get(id);
    if (resident?.pod !== pod) return;
    clearTimeout(resident.timer);
    this.#podCache.delete(id);
    this.#options.onMove(id, 'out');
  }

  async close(id: string): Promise<void> {
    const resident = this.#podCache.get(id);
    if (resident === undefined) return;
    const pod = await resident.opening.catch(() => undefined);
    await pod?.close();
  }

  /** Closes all pods when the process exits. Runs that wait for a person stay unfinished. */
  async leaveAll(): Promise<void> {
    this.#isLeft = true;
    const opening = [...this.#podCache.values()].map((resident) => resident.opening.catch(() => undefined));
    await Promise.all(opening.map(async (pod) => (await pod)?.leave()));
  }

  async #wake(id: string): Promise<Resident> {
    for (;;) {
      if (this.#isLeft) throw new PolypodError('conflict', 'the host is shut down: open it again');
      const resident = this.#podCache.get(id);
      if (resident === undefined) break;
      const closing = resident.closing ?? resident.pod?.closing;
      if (closing === undefined) {
        this.#podCache.delete(id);
        this.#podCache.set(id, resident);
        // Count the use synchronously, so that the pod is not unloaded in between.
        resident.uses += 1;
        clearTimeout(resident.timer);
        return resident;
      }
      // The caller of `close` receives the error.
      await closing.catch(() => {});
      if (this.#podCache.get(id) === resident) this.#podCache.delete(id);
    }
    this.#makeRoom();
    const opening = this.#options.open(id);
    const resident: Resident = { opening, pod: undefined, uses: 1, timer: undefined, closing: undefined };
    this.#podCache.set(id, resident);
    opening.then(
      (pod) => {
        resident.pod = pod;
        this.#options.onMove(id, 'in');
      },
      () => {
        if (this.#podCache.get(id) === resident) this.#podCache.delete(id);
      },
    );
    return resident;
  }

  #leave(id: string, resident: Resident): void {
    resident.uses -= 1;
    this.#settle(id, resident);
  }

  #settle(id: string, resident: Resident): void {
    clearTimeout(resident.timer);
    if (!isFree(resident)) return;
    resident.timer = setTimeout(() => {
      if (isFree(resident) && this.#podCache.get(id) === resident) this.#hibernate(id, resident);
    }, this.#options.hibernateAfterMs);
    resident.timer.unref();
  }

  #hibernate(id: string, resident: Resident): void {
    const { pod } = resident;
    if (pod === undefined) return;
    resident.closing = pod
      .close()
      // The disk failure has been reported, and the next use opens the pod again.
      .catch(() => {})
      .finally(() => {
        if (this.#podCache.get(id) === resident) this.#podCache.delete(id);
      });
  }

  /** At the limit, unloads the least recently used idle pod. Rejects if all pods are in use. */
  #makeRoom(): void {
    const staying = [...this.#podCache.values()].filter(({ closing }) => closing === undefined);
    if (staying.length < this.#options.limit) return;
    for (const [id, resident] of this.#podCache) {
      if (!isFree(resident)) continue;
      this.#hibernate(id, resident);
      return;
    }
    throw new PolypodError(
      'overloaded',
      `${this.#options.limit} pods are in use, which is the limit: close one, or raise the limit`,
    );
  }
}

function isFree({ pod, uses, closing }: Resident): boolean {
  return uses === 0 && closing === undefined && pod !== undefined && pod.isIdle;
}
