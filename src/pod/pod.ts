import { setMaxListeners } from 'node:events';
import { type Caller, type PodCommand, readCommand, type Receipt, type ValidCommand } from './command.ts';
import { type WatchFrom, type Watched, watchPod } from './watch.ts';
import type { LivePod } from './live/live-pod.ts';
import type { Briefing } from './live/run/run-setup.ts';
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

/** An agent bound to one session: commands in, numbered events out. It need not be in memory until somebody uses it. */
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
   * Everything after a number, each event once, in one order for everybody. Without a number, or where that is no longer
   * possible, a snapshot comes first. Ends when the pod is closed or the signal fires; rejects with `overloaded` when the
   * reader falls too far behind, and may then be called again with the last number.
   */
  watch({ signal = NEVER, ...from }: WatchOptions = {}): AsyncGenerator<Watched> {
    const enter = async () => {
      const { pod, done } = await this.#pods.enter(this.id);
      return { ...pod.watchable, done };
    };
    return watchPod(enter, from, signal);
  }

  snapshot(): Promise<Snapshot> {
    return this.#pods.use(this.id, (pod) => pod.snapshot());
  }

  /** Refuses with the next step when the model that it is set to cannot be used. */
  requireModel(): Promise<void> {
    return this.#pods.use(this.id, (pod) => pod.requireModel());
  }

  /** What a model would be told if it were asked now. Waits for tools of servers that are starting. */
  briefing(): Promise<Briefing> {
    return this.#pods.use(this.id, (pod) => pod.briefing());
  }
}

const IN_PROCESS: Caller = { by: 'program', door: 'process' };
const NEVER = new AbortController().signal;
// Every watcher listens to it that has no signal of its own.
setMaxListeners(0, NEVER);
