/** The places for runs: only so many run at a time, and none begins while the host comes to its end. */
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

  /** From now on there are no places. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Why there is none. */
  get reason(): string {
    return this.#isDraining
      ? 'the host is shutting down and begins no run: try again when it is back, or queue it'
      : 'as many runs as allowed are under way: wait until one ends, or queue it';
  }
}
