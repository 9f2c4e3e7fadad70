/** Limits the number of concurrent runs. Grants no slot while the host shuts down. */
export class RunSlots {
  readonly #limit: number;
  #taken = 0;
  #isDraining = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  take(): boolean {
    if (this.#isDraining || this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  release(): void {
    this.#taken -= 1;
  }

  /** Grants no more slots. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Why no slot is available. */
  get reason(): string {
    return this.#isDraining
      ? 'the host is shutting down and starts no run: try again when it is back, or queue it'
      : 'the maximum number of runs is active: wait until one ends, or queue it';
  }
}
