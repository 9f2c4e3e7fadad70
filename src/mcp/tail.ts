/** The end of a text that may be endless. */
export class Tail {
  #text = '';
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(text: string): void {
    this.#text = (this.#text + text.slice(-this.#limit)).slice(-this.#limit);
  }

  /** The last lines, blank ones left out. */
  lines(count: number): string {
    const lines = this.#text.split('\n').map((line) => line.trimEnd());
    return lines
      .filter((line) => line !== '')
      .slice(-count)
      .join('\n');
  }
}
