import { stripVTControlCharacters } from 'node:util';
import { oneLine } from '../shorten.ts';

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

  /** The last lines, without colours and blank ones. */
  lines(count: number): string {
    const lines = stripVTControlCharacters(this.#text).split('\n');
    return lines
      .map((line) => oneLine(line, this.#limit))
      .filter((line) => line !== '')
      .slice(-count)
      .join('\n');
  }
}
