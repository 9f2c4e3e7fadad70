import { sanitizeLine } from '../sanitize.ts';
import { fitWidth } from '../width.ts';

/** Pushes the title to the terminal's stack, and pops it. Terminals without a stack show their default after an empty title. */
const SAVE = '\u001b[22;0t';
const RESTORE = '\u001b]0;\u001b\\\u001b[23;0t';
const LONGEST = 120;

/** Sets the title of a terminal's window or tab, and restores the previous one. */
export class WindowTitle {
  readonly #write: (bytes: string) => void;
  #shown: string | undefined;

  constructor(write: (bytes: string) => void) {
    this.#write = write;
  }

  set(text: string): void {
    const title = fitWidth(sanitizeLine(text), LONGEST);
    if (title === this.#shown) return;
    this.#write(`${this.#shown === undefined ? SAVE : ''}\u001b]0;${title}\u001b\\`);
    this.#shown = title;
  }

  restore(): void {
    if (this.#shown === undefined) return;
    this.#shown = undefined;
    this.#write(RESTORE);
  }
}
