import { randomBytes } from 'node:crypto';
import { messageOf, onAbort, PolypodError, settlesWithin } from '../../base/index.ts';
import { formatCount, oneLine } from '../text/shorten.ts';
import type { OutputCapture, OutputPart } from './output-capture.ts';

/** What the background commands of an agent may use. */
export interface BackgroundLimits {
  /** How many may run at the same time. */
  readonly running: number;
  /** How long one may run, in seconds. */
  readonly seconds: number;
}

export const DEFAULT_BACKGROUND_LIMITS: BackgroundLimits = { running: 8, seconds: 8 * 60 * 60 };

/** How a background command ended. */
export interface BackgroundEnd {
  /** `ended`: Polypod ended it, for example because its time was over. */
  readonly status: 'done' | 'failed' | 'ended';
  /** In a few words: `exit code 1 after 2.0 s`. */
  readonly message: string;
  /** Lines for the model about what happened at the end. */
  readonly notes: readonly string[];
}

/** Why Polypod ended a command: the words after "ended". */
export type EndReason = string;

/** What a background command needs from the session that runs it. */
export interface BackgroundRun {
  readonly signal: AbortSignal;
  /** Called when the command has started. */
  readonly observe: (output: OutputCapture) => void;
  /** Called after new output. */
  readonly update: () => void;
  /** Why the signal aborted. */
  readonly reason: () => EndReason;
}

/** Runs the command until it ends. Rejects if it cannot be started. */
export type RunInBackground = (run: BackgroundRun) => Promise<BackgroundEnd>;

/** A command that runs while the agent goes on. Its output stays readable after its end. */
export class BackgroundCommand {
  readonly id: string;
  /** In one line, for display. */
  readonly command: string;
  /** The call that started it. */
  readonly callId: string;
  readonly startedAt = Date.now();
  /** The output up to this position was read. */
  position = 0;
  end: BackgroundEnd | undefined;
  output: OutputCapture | undefined;
  /** Resolves when it has ended and everyone was notified. */
  over: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();
  /** Why it was stopped; empty if it was not. */
  reason: EndReason = '';

  constructor(id: string, command: string, callId: string) {
    this.id = id;
    this.command = oneLine(command);
    this.callId = callId;
  }

  /** `onStart` is called when the command has started. */
  async run(work: RunInBackground, onStart: () => void): Promise<BackgroundEnd> {
    return await work({
      signal: this.#stop.signal,
      observe: (output) => {
        this.output = output;
        onStart();
      },
      update: () => this.notify(),
      reason: () => this.reason,
    });
  }

  /** Ends all its processes. The first reason counts. */
  stop(reason: EndReason): void {
    if (this.#stop.signal.aborted) return;
    this.reason = reason;
    this.#stop.abort();
  }

  /** The number of bytes that it has written. */
  get written(): number {
    return this.output?.window.total ?? 0;
  }

  async read(position: number, maxBytes: number): Promise<OutputPart> {
    return (await this.output?.read(position, maxBytes)) ?? { start: position, bytes: Buffer.alloc(0) };
  }

  /** Resolves when it has written more than this or has ended, after the time, or when the signal aborts. */
  async changed(seenBytes: number, maxMs: number, signal: AbortSignal): Promise<void> {
    if (this.end !== undefined || this.written > seenBytes) return;
    let timer: NodeJS.Timeout | undefined;
    let done = (): void => {};
    const change = new Promise<void>((resolve) => {
      done = resolve;
      timer = setTimeout(resolve, maxMs);
    });
    const removeListener = onAbort(signal, done);
    this.#waiting.add(done);
    await change;
    this.#waiting.delete(done);
    removeListener();
    clearTimeout(timer);
  }

  /** Wakes those who wait for a change. */
  notify(): void {
    for (const done of this.#waiting) done();
  }
}

export interface BackgroundListener {
  readonly onStart: (command: BackgroundCommand) => void;
  readonly onEnd: (command: BackgroundCommand, end: BackgroundEnd) => void;
}

/** How long a start waits, so that the first result is useful. */
export interface StartGrace {
  /** For the first output. */
  readonly outputMs: number;
  /** After that for the end: programs write more than one line, and short ones end soon. */
  readonly endMs: number;
}

/** The background commands of one session: those that run, and the last ones that ended. */
export class BackgroundCommands {
  readonly #listener: BackgroundListener;
  readonly #grace: StartGrace;
  readonly #commands = new Map<string, BackgroundCommand>();
  #isClosed = false;

  constructor(listener: BackgroundListener, grace: StartGrace = DEFAULT_GRACE) {
    this.#listener = listener;
    this.#grace = grace;
  }

  all(): readonly BackgroundCommand[] {
    return [...this.#commands.values()];
  }

  running(): readonly BackgroundCommand[] {
    return this.all().filter(({ end }) => end === undefined);
  }

  /** Throws `not-found` with the known commands. */
  get(id: string): BackgroundCommand {
    const found = this.#commands.get(id);
    if (found !== undefined) return found;
    const known = this.all().map((command) => `${command.id} (${command.command})`);
    const hint =
      known.length === 0
        ? 'None was started since this session was opened; earlier ones have ended'
        : `Known are: ${known.join(', ')}`;
    throw new PolypodError('not-found', `There is no background command ${id}. ${hint}.`);
  }

  /**
   * Starts a command, and waits a moment for its first output. Rejects if it cannot be started, or if too many are
   * running. A signal that aborts before this returns ends the command: nobody would know its id.
   */
  async start(
    { command, callId }: Pick<BackgroundCommand, 'command' | 'callId'>,
    limits: BackgroundLimits,
    work: RunInBackground,
    signal: AbortSignal,
  ): Promise<BackgroundCommand> {
    this.#requireRoom(limits);
    const started = new BackgroundCommand(this.#newId(), command, callId);
    this.#commands.set(started.id, started);
    const removeListener = onAbort(signal, () => started.stop('because its call was cancelled'));
    try {
      await this.#run(started, work);
      await started.changed(0, this.#grace.outputMs, signal);
      await settlesWithin(started.over, this.#grace.endMs);
    } finally {
      removeListener();
    }
    if (signal.aborted) await started.over;
    signal.throwIfAborted();
    return started;
  }

  /** Ends all of them; none can be started afterwards. */
  async close(reason: EndReason): Promise<void> {
    this.#isClosed = true;
    const running = this.running();
    for (const command of running) command.stop(reason);
    await Promise.all(running.map(({ over }) => over));
  }

  #requireRoom({ running: limit }: BackgroundLimits): void {
    if (this.#isClosed)
      throw new PolypodError('conflict', 'The session is being closed, so no command can be started.');
    const running = this.running();
    if (running.length < limit) return;
    const names = running.map(({ id, command }) => `${id} (${command})`).join(', ');
    throw new PolypodError(
      'overloaded',
      `The limit of ${formatCount(limit, 'background command')} at the same time is reached (limits.background.running). End one with bash_kill: ${names}.`,
    );
  }

  /** Resolves when the command has started. Rejects if it cannot be. */
  #run(command: BackgroundCommand, work: RunInBackground): Promise<void> {
    return new Promise((resolve, reject) => {
      let isStarted = false;
      const onStart = (): void => {
        isStarted = true;
        this.#listener.onStart(command);
        resolve();
      };
      command.over = command.run(work, onStart).then(
        (end) => this.#finish(command, end),
        (thrown: unknown) => {
          if (isStarted)
            return this.#finish(command, {
              status: 'failed',
              message: oneLine(messageOf(thrown)),
              notes: [],
            });
          this.#commands.delete(command.id);
          reject(command.reason === '' ? thrown : endedBeforeStart(command.reason));
        },
      );
    });
  }

  #finish(command: BackgroundCommand, end: BackgroundEnd): void {
    command.end = end;
    this.#listener.onEnd(command, end);
    command.notify();
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    const ended = this.all().filter(({ end }) => end !== undefined);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) this.#commands.delete(id);
  }

  #newId(): string {
    for (;;) {
      const id = `b${randomBytes(3).toString('hex')}`;
      if (!this.#commands.has(id)) return id;
    }
  }
}

function endedBeforeStart(reason: EndReason): PolypodError {
  return new PolypodError('tool-failed', `The command was ended ${reason}, before it had started.`);
}

const MAX_ENDED = 16;
const DEFAULT_GRACE: StartGrace = { outputMs: 500, endMs: 200 };
