import type { HostCallbacks } from './pod-options.ts';

/** The host's permission to run, of which it gives out a limited number. A pod has at most one. */
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
