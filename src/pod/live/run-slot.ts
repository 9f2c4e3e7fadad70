import type { HostCallbacks } from './pod-options.ts';

/** One of the host's limited run slots. A pod has at most one. */
export class RunSlot {
  readonly #callbacks: Pick<HostCallbacks<never>, 'takeSlot' | 'releaseSlot'>;
  #isTaken = false;

  constructor(callbacks: Pick<HostCallbacks<never>, 'takeSlot' | 'releaseSlot'>) {
    this.#callbacks = callbacks;
  }

  take(): boolean {
    this.#isTaken ||= this.#callbacks.takeSlot();
    return this.#isTaken;
  }

  release(): void {
    if (this.#isTaken) this.#callbacks.releaseSlot();
    this.#isTaken = false;
  }
}
