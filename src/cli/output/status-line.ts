import type { CommandContext } from '../command.ts';
import { sanitizeLine, fitWidth } from '../../terminal/index.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const EVERY_MS = 120;
const CLEAR = '\r\u001b[K';

/**
 * One line at the bottom of a terminal with the current activity and its duration. Other output replaces it. Without a terminal
 * there is no line and no timer.
 */
export class StatusLine {
  readonly #stderr: CommandContext['stderr'] & { readonly columns?: number };
  readonly #startedAt = Date.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #text = '';
  #tokens = 0;
  #shown = false;
  #held = false;
  #frame = 0;

  constructor({ stderr }: CommandContext, enabled: boolean) {
    this.#stderr = stderr;
    if (enabled) this.#timer = setInterval(() => this.#draw(), EVERY_MS).unref();
  }

  /** Sets the text; an empty text hides the line. */
  set(text: string): void {
    this.#text = sanitizeLine(text);
  }

  /** Hides the line while other output has an unfinished line, which would be erased with it. */
  hold(held: boolean): void {
    this.#held = held;
  }

  count(tokens: number): void {
    this.#tokens = tokens;
  }

  /** Clears the line for other output; the next tick draws it again. */
  clear(): void {
    if (this.#shown) this.#stderr.write(CLEAR);
    this.#shown = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #draw(): void {
    if (this.#text === '' || this.#held) return;
    const seconds = Math.floor((Date.now() - this.#startedAt) / 1000);
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const tokens = this.#tokens === 0 ? '' : `~${this.#tokens} tokens · `;
    const line = `${FRAMES[this.#frame] ?? ''} ${seconds} s · ${tokens}${this.#text}`;
    this.#stderr.write(`${CLEAR}${fitWidth(line, (this.#stderr.columns ?? 80) - 1)}`);
    this.#shown = true;
  }
}
