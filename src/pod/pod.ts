import { setMaxListeners } from 'node:events';
import { type Caller, type PodCommand, readCommand, type Receipt, type ValidCommand } from './command.ts';
import { type WatchFrom, type WatchItem, watchPod } from './watch.ts';
import type { LivePod } from './live/live-pod.ts';
import type { Briefing } from './live/run/run-setup.ts';
import type { FilePreview, RewindPoints } from './rewind/index.ts';
import type { Snapshot } from './snapshot.ts';

export interface WatchOptions extends WatchFrom {
  readonly signal?: AbortSignal;
}

/** Loads pods when they are used, and keeps them in memory while they are. */
export interface LoadedPods {
  readonly use: <T>(id: string, use: (pod: LivePod) => Promise<T>) => Promise<T>;
  /** The pod stays in memory until `done` is called. */
  readonly enter: (id: string) => Promise<{ readonly pod: LivePod; readonly done: () => void }>;
}

/** An agent bound to one session: commands in, numbered events out. It is loaded when it is used. */
export class Pod {
  readonly id: string;
  readonly #pods: LoadedPods;

  constructor(id: string, pods: LoadedPods) {
    this.id = id;
    this.#pods = pods;
  }

  /** Validates and performs a command. Resolves with a receipt when its effect is on disk; rejects with the reason. */
  async handle(command: PodCommand, caller: Caller = IN_PROCESS): Promise<Receipt> {
    return this.perform(readCommand(command), caller);
  }

  /** Performs a command that the caller has validated with `readCommand`. */
  async perform(command: ValidCommand, caller: Caller = IN_PROCESS): Promise<Receipt> {
    return this.#pods.use(this.id, (pod) => pod.handle(command, caller));
  }

  /**
   * Yields every event after a number once, in the same order for every watcher. Without a number, or if that is no longer
   * possible, a snapshot comes first. Ends when the pod is closed or the signal aborts. Rejects with `overloaded` if the reader
   * is too slow; call it again with the last number.
   */
  watch({ signal = NEVER, ...from }: WatchOptions = {}): AsyncGenerator<WatchItem> {
    const enter = async () => {
      const { pod, done } = await this.#pods.enter(this.id);
      return { ...pod.watchable, done };
    };
    return watchPod(enter, from, signal);
  }

  snapshot(): Promise<Snapshot> {
    return this.#pods.use(this.id, (pod) => pod.snapshot());
  }

  /** The points that the conversation and its files can be returned to. */
  rewindPoints(): Promise<RewindPoints> {
    return this.#pods.use(this.id, (pod) => pod.rewinds.points());
  }

  /** The files that a rewind to the point before an entry would change. */
  previewRewind(entryId: string): Promise<readonly FilePreview[]> {
    return this.#pods.use(this.id, (pod) => pod.rewinds.preview(entryId));
  }

  /** Rejects with the next step if the selected model is unavailable. */
  requireModel(): Promise<void> {
    return this.#pods.use(this.id, (pod) => pod.requireModel());
  }

  /** What a model would receive now besides the conversation. Waits for tools of servers that are starting. */
  briefing(): Promise<Briefing> {
    return this.#pods.use(this.id, (pod) => pod.briefing());
  }
}

const IN_PROCESS: Caller = { by: 'program', door: 'process' };
const NEVER = new AbortController().signal;
// Shared by all watchers without a signal of their own.
setMaxListeners(0, NEVER);
