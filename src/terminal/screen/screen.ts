import type { Line, Paint } from '../style.ts';
import { eraseResized, NOTHING_SHOWN, paintFrame, type Shown, type Size } from './frame.ts';
import type { Live } from './live.ts';
import type { Timer } from './timer.ts';

/** Where lines go, whether a person watches or not. */
export interface Surface {
  /** Lines that will not change any more. */
  print(lines: readonly Line[]): void;
  /** What `draw` shows has changed. */
  refresh(): void;
  readonly size: Size;
  close(): void;
}

/** What a screen writes to; Node's stdout is one. */
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
  /** The live area as it is now; with `againMs` it is drawn again by itself, as for a spinner. */
  readonly draw: (size: Size) => Live & { readonly againMs?: number | undefined };
}

/** The shortest time between two paints: what happens in between is shown together. */
const PAINT_EVERY_MS = 16;

/**
 * How long the size must have stayed the same before anything is written again. A multiplexer breaks its rows anew at once and
 * may tell the size a quarter of a second later: what is written in between lands where it does not belong.
 */
const SETTLED_MS = 300;

/** Finished lines that scroll up into the terminal's memory, and a live area below that is painted anew where it changed. */
export class Screen implements Surface {
  readonly #options: ScreenOptions;
  #shown: Shown = NOTHING_SHOWN;
  #finished: Line[] = [];
  #paintedAt = Number.NEGATIVE_INFINITY;
  #planned: { readonly at: number; readonly cancel: () => void } | undefined;
  #blocked = false;
  /** Takes back what will happen once the size has settled. */
  #unsettle: (() => void) | undefined;
  #paused = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  get size(): Size {
    const { columns = 80, rows = 24 } = this.#options.output;
    // A terminal that does not know its size says 0.
    return { columns: columns > 1 ? columns : 80, rows: rows > 0 ? rows : 24 };
  }

  print(lines: readonly Line[]): void {
    if (lines.length === 0) return;
    for (const line of lines) this.#finished.push(line);
    this.refresh();
  }

  refresh(): void {
    this.#plan(Math.max(0, this.#paintedAt + PAINT_EVERY_MS - this.#options.timer.now()));
  }

  /** The terminal has another size: once that has settled, the live area is found again and painted anew. */
  resized(): void {
    if (this.#paused) return;
    this.#planned?.cancel();
    this.#planned = undefined;
    this.#unsettle?.();
    this.#unsettle = this.#options.timer.after(SETTLED_MS, () => {
      this.#settle();
      this.refresh();
    });
  }

  /** Takes the live area away, for another program or at the end; finished lines stay. */
  pause(): void {
    if (this.#paused) return;
    this.#planned?.cancel();
    this.#planned = undefined;
    if (this.#unsettle !== undefined) this.#settle();
    this.#show({ lines: [], cursor: { row: 0, column: 0 } }, false);
    this.#paused = true;
  }

  /** Starts a live area where the cursor now is. */
  resume(): void {
    this.#paused = false;
    this.#shown = NOTHING_SHOWN;
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

  #plan(inMs: number): void {
    if (this.#blocked || this.#paused || this.#unsettle !== undefined) return;
    const at = this.#options.timer.now() + inMs;
    if (this.#planned !== undefined) {
      if (this.#planned.at <= at) return;
      this.#planned.cancel();
    }
    this.#planned = { at, cancel: this.#options.timer.after(inMs, () => this.#paint()) };
  }

  #paint(): void {
    this.#planned = undefined;
    this.#paintedAt = this.#options.timer.now();
    const { againMs, ...live } = this.#options.draw(this.size);
    this.#show(live, againMs !== undefined);
    if (againMs !== undefined) this.#plan(againMs);
  }

  #show(live: Live, isMoving: boolean): void {
    const finished = this.#finished;
    this.#finished = [];
    const frame = { finished, live, isMoving };
    const { bytes, shown } = paintFrame(this.#shown, frame, this.size, this.#options.paint);
    this.#shown = shown;
    this.#write(bytes);
  }

  /** A slow line must not collect frames: nothing is painted until it has taken what it got. */
  #write(bytes: string): void {
    if (bytes === '' || this.#options.output.write(bytes) || this.#blocked) return;
    this.#blocked = true;
    this.#options.output.once('drain', () => {
      this.#blocked = false;
      this.refresh();
    });
  }
}
