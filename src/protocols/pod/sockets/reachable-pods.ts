import { asPolypodError, type Log, messageOf } from '../../../base/index.ts';
import type { Host, PodMove } from '../../../pod/index.ts';
import type { PodSockets } from './pod-sockets.ts';

export interface ReachablePodsOptions {
  readonly host: Host;
  readonly sockets: PodSockets;
  readonly log: Log;
  /** How many named pods have a socket while they are not in memory: the most recently used ones. */
  readonly namedLimit: number;
  /** Asks the process that listens for a pod to release the socket to this process. */
  readonly claim: (podId: string) => Promise<void>;
}

/**
 * Decides which pods have a socket, and opens and closes sockets: for every pod in memory, and for the most recently used named pods. A
 * connection to a pod that is not in memory loads it.
 */
export class ReachablePods {
  readonly #options: ReachablePodsOptions;
  readonly #loaded = new Set<string>();
  /** Names by pod, least recently used first. */
  readonly #named = new Map<string, string>();
  /** Pods whose socket currently belongs to another process. */
  readonly #elsewhere = new Set<string>();
  /** The pending steps per pod: each pod's steps run one after the other. */
  readonly #turns = new Map<string, Promise<void>>();
  #stops: readonly (() => void)[] = [];
  /** Named pods without a socket yet. */
  #later: readonly string[] = [];
  #rest: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ReachablePodsOptions) {
    this.#options = options;
  }

  /** Listens for the most recently used pods. `openRest` opens the others, so that many names do not delay the start. */
  async open(): Promise<void> {
    const { host, namedLimit } = this.#options;
    const rows = namedLimit === 0 ? [] : await host.sessions.list();
    const named = rows.filter(({ name }) => name !== undefined).slice(0, namedLimit);
    for (const { id, name = '' } of named.toReversed()) this.#named.set(id, name);
    this.#stops = [
      host.onPods((id, move) => this.#moved(id, move)),
      host.sessions.onChange(({ id, before }) => this.#changed(id, before?.name)),
    ];
    const ids = named.map(({ id }) => id);
    await this.#updateAll(ids.slice(0, AT_ONCE));
    this.#later = ids.slice(AT_ONCE);
  }

  /** Listens for the other named pods, a few at a time. */
  openRest(): void {
    this.#rest = this.#updateLater(this.#later);
  }

  /** Releases the socket of a pod to another process that has the pod in memory. Listens again when that process has released it. */
  async release(podId: string): Promise<void> {
    // The other process may have created the pod.
    await this.#options.host.sessions.list();
    this.#elsewhere.add(podId);
    await this.#update(podId);
    this.#scheduleRetry();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    for (const stop of this.#stops) stop();
    await this.#rest;
    await Promise.all(this.#turns.values());
    await this.#options.sockets.closeAll();
  }

  #moved(id: string, move: PodMove): void {
    const name = this.#nameOf(id);
    if (move === 'in') this.#loaded.add(id);
    else this.#loaded.delete(id);
    if (move === 'in') this.#use(id);
    const before = this.#named.get(id);
    if (move === 'removed') this.#named.delete(id);
    void this.#update(id);
    if (move === 'in') this.#updateSameName(name);
    if (move === 'removed') this.#updateSameName(before);
  }

  #changed(id: string, before: string | undefined): void {
    this.#use(id);
    const name = this.#nameOf(id);
    if (before === name) return;
    void this.#update(id);
    this.#updateSameName(before);
    this.#updateSameName(name);
  }

  /** Records that a pod was used. The least recently used one may lose its socket. */
  #use(id: string): void {
    const name = this.#nameOf(id);
    this.#named.delete(id);
    if (name === undefined || this.#options.namedLimit === 0) return;
    this.#named.set(id, name);
    const [oldest] = this.#named.keys();
    if (oldest === undefined || this.#named.size <= this.#options.namedLimit) return;
    this.#named.delete(oldest);
    void this.#update(oldest);
  }

  /** A name that two pods share has no link, so a change of one pod's name affects the others. */
  #updateSameName(name: string | undefined): void {
    if (name !== undefined)
      for (const { id } of this.#options.host.sessions.byName(name)) void this.#update(id);
  }

  #update(id: string): Promise<void> {
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(() => this.#updateSocket(id));
    this.#turns.set(id, turn);
    return turn.then(() => {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    });
  }

  async #updateAll(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#update(id)));
  }

  async #updateLater(ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length && !this.#isClosed; from += AT_ONCE) {
      await new Promise<void>((resolve) => void setImmediate(resolve));
      await this.#updateAll(ids.slice(from, from + AT_ONCE));
    }
  }

  async #updateSocket(id: string): Promise<void> {
    const { host, sockets, log, claim } = this.#options;
    const isLoaded = this.#loaded.has(id);
    const isWanted = isLoaded || (this.#named.has(id) && !this.#elsewhere.has(id));
    // `close` closes all sockets: one that is opened now would only create its directory again.
    if (isWanted && this.#isClosed) return;
    try {
      if (!isWanted) return await sockets.close(id);
      if (isLoaded && !sockets.has(id)) await claim(id);
      await sockets.open(host.pod(id));
      const name = this.#nameOf(id);
      await sockets.name(
        id,
        name !== undefined && host.sessions.byName(name).length === 1 ? name : undefined,
      );
    } catch (thrown) {
      const isTaken = !isLoaded && asPolypodError(thrown).code === 'conflict';
      if (isTaken) this.#retryLater(id);
      else log.warn('cannot open the socket of a pod', { pod: id, reason: messageOf(thrown) });
    }
  }

  #retryLater(id: string): void {
    this.#elsewhere.add(id);
    this.#scheduleRetry();
  }

  #scheduleRetry(): void {
    if (this.#retry !== undefined || this.#isClosed) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.#retryAll();
    }, RETRY_MS).unref();
  }

  async #retryAll(): Promise<void> {
    const ids = [...this.#elsewhere];
    // The other process may have changed its name.
    await this.#options.host.sessions.list();
    if (this.#isClosed) return;
    this.#elsewhere.clear();
    for (const id of ids) this.#use(id);
    await this.#updateAll(ids);
  }

  #nameOf(id: string): string | undefined {
    return this.#options.host.sessions.get(id)?.name;
  }
}

/** Small enough not to delay other work of the process. */
const AT_ONCE = 20;
/** Long enough for the process that requested the socket to listen. */
const RETRY_MS = 2_000;
