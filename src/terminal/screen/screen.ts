import type { Line, Paint } from '../style.ts';
import { eraseResized, EMPTY_SCREEN, paintFrame, type ScreenState, type Size } from './frame.ts';
import type { LiveArea } from './live.ts';
import { chopLine } from '../wrap.ts';
import type { Timer } from './timer.ts';

/** The target of output lines, interactive or not. */
export interface OutputTarget {
  /** Prints lines that do not change any more. */
  print(lines: readonly Line[]): void;
  /** Notifies the surface that the result of `draw` has changed. */
  refresh(): void;
  readonly size: Size;
  close(): void;
}

/** The output of a screen, such as Node's stdout. */
export interface ScreenOutput {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): boolean;
  once(event: 'drain', listener: () => void): unknown;
}

export interface ScreenOptions {
  readonly output: ScreenOutput;
  readonly paint: Paint;
  readonly timer: Timer;
  /** Returns the current live area; with `redrawAfterMs` it is redrawn after that time, as for a spinner. */
  readonly draw: (size: Size) => LiveArea & { readonly redrawAfterMs?: number | undefined };
}

/** The minimum time between two paints: changes in between are shown together. */
const PAINT_INTERVAL_MS = 16;

/** How many finished lines are kept: more than a screen has rows. */
const MOST_RECENT = 300;

const HOME = '\u001b[m\u001b[H';
const ERASE_ROW = '\u001b[2K';

/**
 * How long the size must stay the same before anything is written. A multiplexer rewraps its rows at once and
 * may report the size a quarter of a second later: writes in between would be misplaced.
 */
const SETTLE_MS = 300;

/**
 * Prints finished lines that scroll into the terminal's scrollback, and repaints the changed parts of a live
 * area below them.
 */
export class Screen implements OutputTarget {
  readonly #options: ScreenOptions;
  #shown: ScreenState = EMPTY_SCREEN;
  #finished: Line[] = [];
  /** The last finished lines that were written, for `redraw`. */
  #recent: readonly Line[] = [];
  #paintedAt = Number.NEGATIVE_INFINITY;
  #planned: { readonly at: number; readonly cancel: () => void } | undefined;
  #blocked = false;
  /** Cancels the work that waits for the size to settle. */
  #unsettle: (() => void) | undefined;
  #paused = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  get size(): Size {
    const { columns = 80, rows = 24 } = this.#options.output;
    // A terminal that does not know its size reports 0.
    return { columns: columns > 1 ? columns : 80, rows: rows > 0 ? rows : 24 };
  }

  print(lines: readonly Line[]): void {
    if (lines.length === 0) return;
    for (const line of lines) this.#finished.push(line);
    this.refresh();
  }

  refresh(): void {
    this.#schedule(Math.max(0, this.#paintedAt + PAINT_INTERVAL_MS - this.#options.timer.now()));
  }

  /** Writes everything on the screen again, for example after another program has written to the terminal. */
  redraw(): void {
    if (this.#paused || this.#unsettle !== undefined) return;
    this.#planned?.cancel();
    this.#paint();
    const { columns, rows } = this.size;
    const { redrawAfterMs: _, ...live } = this.#options.draw(this.size);
    const free = Math.max(0, rows - Math.max(1, live.lines.length));
    const above = this.#recent.flatMap((line) => chopLine(line, columns));
    this.#finished = free === 0 ? [] : above.slice(-free);
    this.#recent = [];
    this.#shown = { ...EMPTY_SCREEN, cursorVisible: this.#shown.cursorVisible };
    // Row by row: if the whole screen is erased at once, some terminals copy it to their scrollback.
    this.#write(`${HOME}${Array<string>(rows).fill(ERASE_ROW).join('\n')}${HOME}`);
    this.#paint();
  }

  /** Handles a size change: after it has settled, the live area is located and repainted. */
  resized(): void {
    if (this.#paused) return;
    this.#planned?.cancel();
    this.#planned = undefined;
    this.#unsettle?.();
    this.#unsettle = this.#options.timer.after(SETTLE_MS, () => {
      this.#settle();
      this.refresh();
    });
  }

  /** Erases the live area, for another program or at the end; finished lines stay. */
  pause(): void {
    if (this.#paused) return;
    this.#planned?.cancel();
    this.#planned = undefined;
    if (this.#unsettle !== undefined) this.#settle();
    this.#show({ lines: [], cursor: { row: 0, column: 0 } }, false);
    this.#paused = true;
  }

  /** Starts a live area at the current cursor. */
  resume(): void {
    this.#paused = false;
    this.#shown = EMPTY_SCREEN;
    this.refresh();
  }

  close(): void {
    this.pause();
  }

  #settle(): void {
    this.#unsettle?.();
    this.#unsettle = undefined;
    const { bytes, shown } = eraseResized(this.#shown, this.size);
    this.#shown = shown;
    this.#write(bytes);
  }

  #schedule(delayMs: number): void {
    if (this.#blocked || this.#paused || this.#unsettle !== undefined) return;
    const at = this.#options.timer.now() + delayMs;
    if (this.#planned !== undefined) {
      if (this.#planned.at <= at) return;
      this.#planned.cancel();
    }
    this.#planned = { at, cancel: this.#options.timer.after(delayMs, () => this.#paint()) };
  }

  #paint(): void {
    this.#planned = undefined;
    this.#paintedAt = this.#options.timer.now();
    const { redrawAfterMs, ...live } = this.#options.draw(this.size);
    this.#show(live, redrawAfterMs !== undefined);
    if (redrawAfterMs !== undefined) this.#schedule(redrawAfterMs);
  }

  #show(live: LiveArea, isMoving: boolean): void {
    const finished = this.#finished;
    this.#finished = [];
    if (finished.length > 0) this.#recent = [...this.#recent, ...finished].slice(-MOST_RECENT);
    const frame = { finished, live, isMoving };
    const { bytes, shown } = paintFrame(this.#shown, frame, this.size, this.#options.paint);
    this.#shown = shown;
    this.#write(bytes);
  }

  /** On a slow connection frames must not accumulate: nothing is painted until the output has drained. */
  #write(bytes: string): void {
    if (bytes === '' || this.#options.output.write(bytes) || this.#blocked) return;
    this.#blocked = true;
    this.#options.output.once('drain', () => {
      this.#blocked = false;
      this.refresh();
    });
  }
}
