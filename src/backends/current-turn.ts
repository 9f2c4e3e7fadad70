import type { RunOutcome } from '../worker/index.ts';
import type { AgentOutcome } from './agent-event.ts';
import type { AgentConnection } from './agent-program.ts';

export interface TurnParts {
  readonly connection: AgentConnection;
  /** How long to wait for the end of a cancelled turn. */
  readonly graceMs: number;
  /** How long the agent may report nothing while it is not busy. */
  readonly idleMs: number;
  /** Whether the agent runs a call or waits for an answer, which may take any time. */
  readonly isBusy: () => boolean;
}

/** One turn of an agent: ends by itself, by a cancellation, or because the agent has ended or does not react. */
export class CurrentTurn {
  readonly ended: Promise<AgentOutcome>;
  /** The run is to be continued later. */
  isPaused = false;
  /** The agent did not end its turn: its program must be ended. */
  isLost = false;
  /** The program ended before it reported anything of this turn: it may have ended before the prompt arrived. */
  isUnheard = false;
  /** The limit of the run that ended the turn. */
  limit: RunOutcome | undefined;
  #resolve: (outcome: AgentOutcome) => void = () => {};
  #parts: TurnParts | undefined;
  #isCancelled = false;
  #isIgnored = false;
  #hasEvents = false;
  #lastEvent = performance.now();
  #grace: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get connection(): AgentConnection | undefined {
    return this.#parts?.connection;
  }

  /** The prompt has been sent. */
  begin(parts: TurnParts): void {
    this.#parts = parts;
    this.#lastEvent = performance.now();
    this.#watch();
    if (this.#isCancelled) this.#cancelAgent();
  }

  end(outcome: AgentOutcome): void {
    if (this.#isIgnored) return;
    // A program that ends because of the cancellation has not failed.
    this.#resolve(this.#isCancelled && outcome.status === 'failed' ? { status: 'cancelled' } : outcome);
  }

  /** The program has ended. */
  endWithProgram(outcome: AgentOutcome): void {
    this.isUnheard = !this.#hasEvents && !this.#isCancelled;
    this.end(outcome);
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    if (this.#parts === undefined) this.end({ status: 'cancelled' });
    else this.#cancelAgent();
  }

  pause(): void {
    this.isPaused = true;
    this.cancel();
  }

  stopAt(limit: RunOutcome): void {
    if (this.limit !== undefined) return;
    this.limit = limit;
    this.cancel();
  }

  /** The agent cannot continue: its program must be ended. */
  lose(message: string): void {
    this.isLost = true;
    this.end({ status: 'failed', failure: { kind: 'provider', message } });
  }

  /** The process ends: the turn stays unfinished, so that another process continues it. */
  ignoreEnd(): void {
    this.#isIgnored = true;
    this.close();
  }

  /** The agent has reported something. */
  touch(): void {
    this.#hasEvents = true;
    this.#lastEvent = performance.now();
  }

  close(): void {
    clearTimeout(this.#grace);
    clearTimeout(this.#idle);
  }

  #cancelAgent(): void {
    const { connection, graceMs = 0 } = this.#parts ?? {};
    connection?.cancel();
    this.#grace = setTimeout(() => {
      this.isLost = true;
      this.end({ status: 'cancelled' });
    }, graceMs);
  }

  #watch(): void {
    const { idleMs = 0, isBusy = () => false } = this.#parts ?? {};
    const left = this.#lastEvent + idleMs - performance.now();
    this.#idle = setTimeout(
      () => {
        if (isBusy()) this.#lastEvent = performance.now();
        if (performance.now() - this.#lastEvent < idleMs) {
          this.#watch();
          return;
        }
        this.isLost = true;
        const message = `the agent has reported nothing for ${Math.round(idleMs / 1000)} s`;
        this.end({ status: 'failed', failure: { kind: 'timeout', message } });
      },
      Math.max(left, 0),
    );
    this.#idle.unref();
  }
}
