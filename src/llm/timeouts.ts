import { onAbort } from '../base/index.ts';
import type { Answer } from './answer.ts';

/** Timeouts in milliseconds. Keep-alives do not count as progress. */
export interface Timeouts {
  /** Until the connection is open. */
  readonly openMs: number;
  /** From the open connection to the first event. */
  readonly firstEventMs: number;
  /** Between events. */
  readonly idleMs: number;
  /** For usage that may follow the finish marker. When it expires, the answer completes without usage. */
  readonly settleMs: number;
}

/** The default timeouts. Ollama gets more time for the first event because it may have to load the model. */
export function timeoutsFor(provider: string): Timeouts {
  return {
    openMs: 20_000,
    firstEventMs: provider === 'ollama' ? 600_000 : 120_000,
    idleMs: 120_000,
    settleMs: 2000,
  };
}

/** Supervises one exchange. Its signal aborts when the caller cancels or when a timeout expires. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The timeout that expired, as a message; undefined if the caller cancelled. */
  readonly expired: string | undefined;
  readonly opened: () => void;
  /** Call for every piece of data; only progress restarts the idle timeout. */
  received(answer: Answer, progress: boolean): void;
  /** Stops the timers, and aborts the exchange if it is not finished. */
  close(finished: boolean): void;
}

export function createDeadline(timeouts: Timeouts, caller: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let waitingFor: keyof Timeouts | undefined;

  const startTimer = (phase: keyof Timeouts): void => {
    if (phase === waitingFor) {
      timer?.refresh();
      return;
    }
    clearTimeout(timer);
    waitingFor = phase;
    timer = setTimeout(() => {
      expired = TIMEOUT_MESSAGES[phase](timeouts[phase] / 1000);
      controller.abort();
    }, timeouts[phase]);
  };

  const removeListener = onAbort(caller, () => controller.abort());
  if (!caller.aborted) startTimer('openMs');
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    opened: () => startTimer('firstEventMs'),
    received(answer, progress) {
      if (answer.stop !== undefined) startTimer('settleMs');
      else if (progress) startTimer('idleMs');
    },
    close(finished) {
      clearTimeout(timer);
      removeListener();
      if (!finished) controller.abort();
    },
  };
}

const TIMEOUT_MESSAGES: Readonly<Record<keyof Timeouts, (seconds: number) => string>> = {
  openMs: (seconds) => `no connection within ${seconds} s`,
  firstEventMs: (seconds) => `no answer within ${seconds} s`,
  idleMs: (seconds) => `no data for ${seconds} s`,
  settleMs: (seconds) => `no end within ${seconds} s of the finish`,
};
