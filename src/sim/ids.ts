/** Generates ids that depend only on the call order, so two runs of one script produce the same bytes. */
export class Ids {
  readonly #counts = new Map<string, number>();

  /** `toolu_sim1`, `toolu_sim2`, … */
  next(prefix: string): string {
    const count = (this.#counts.get(prefix) ?? 0) + 1;
    this.#counts.set(prefix, count);
    return `${prefix}sim${count}`;
  }
}
