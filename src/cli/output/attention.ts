import {
  type NotificationChannels,
  notificationBytes,
  supportsOsc,
  WindowTitle,
} from '../../terminal/index.ts';

export type WorkState = 'working' | 'waiting for approval' | 'idle';

export interface AttentionOptions {
  readonly write: (bytes: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: NotificationChannels & { readonly title: boolean };
  readonly now: () => number;
}

/** Someone who has pressed a key within this time is looking at the terminal. */
const ATTENDED_MS = 10_000;

/**
 * Reports on a session to someone who may be looking at another window: the state in the window title, and notifications. There are
 * no notifications while the window has the focus. Many terminals do not report the focus: then the last key counts.
 */
export class Attention {
  readonly #options: AttentionOptions;
  readonly #title: WindowTitle;
  #text: string | undefined;
  #isAway = false;
  #hasFocus: boolean | undefined;
  #attendedAt: number;

  constructor(options: AttentionOptions) {
    this.#options = options;
    this.#title = new WindowTitle(options.write);
    this.#attendedAt = options.now();
  }

  /** Shows the session and its state in the window title. */
  show(session: string, state: WorkState): void {
    const { settings, env } = this.#options;
    if (!settings.title || !supportsOsc(env)) return;
    this.#text = `${state} · ${session}`;
    if (!this.#isAway) this.#title.set(this.#text);
  }

  notify(body: string): void {
    const { settings, env, now, write } = this.#options;
    const isAttended = this.#hasFocus ?? now() - this.#attendedAt < ATTENDED_MS;
    if (isAttended) return;
    const bytes = notificationBytes({ title: 'Polypod', body }, settings, env);
    if (bytes !== '') write(bytes);
  }

  /** The user has pressed a key. */
  attended(): void {
    this.#attendedAt = this.#options.now();
  }

  focused(hasFocus: boolean): void {
    this.#hasFocus = hasFocus;
  }

  /** Restores the window title, at the end or while another program uses the terminal. */
  pause(): void {
    this.#isAway = true;
    this.#title.restore();
  }

  resume(): void {
    this.#isAway = false;
    this.attended();
    if (this.#text !== undefined) this.#title.set(this.#text);
  }
}
