import { onAbort } from '../base/index.ts';
import type { Answer } from './answer.ts';

/** How long we wait, each in milliseconds. Silence is measured in data: keep-alives do not count as progress. */
export interface Timeouts {
  /** For a connection. */
  readonly openMs: number;
  /** From there to the first event. */
  readonly firstEventMs: number;
  /** Between events. */
  readonly idleMs: number;
  /** For what may follow the finish marker (usage); then the answer is complete without it. */
  readonly settleMs: number;
}

/** Local servers load the model before they answer. */
export function timeoutsFor(provider: string): Timeouts {
  return {
    openMs: 20_000,
    firstEventMs: provider === 'ollama' ? 600_000 : 120_000,
    idleMs: 120_000,
    settleMs: 2000,
  };
}

/** Watches one exchange: one signal that fires when the caller gives up or when the provider has been silent too long. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Why it fired, if it was us and not the caller. */
  readonly expired: string | undefined;
  readonly opened: () => void;
  /** Something arrived; only progress holds off the next deadline. */
  heard(answer: Answer, progress: boolean): void;
  /** Over. An exchange that did not come to its end is broken off. */
  close(finished: boolean): void;
}

export function deadline(timeouts: Timeouts, caller: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let waitingFor: keyof Timeouts | undefined;

  const wait = (phase: keyof Timeouts): void => {
    if (phase === waitingFor) {
      timer?.refresh();
      return;
    }
    clearTimeout(timer);
    waitingFor = phase;
    timer = setTimeout(() => {
      expired = MEANING[phase](timeouts[phase] / 1000);
      controller.abort();
    }, timeouts[phase]);
  };

  const forget = onAbort(caller, () => controller.abort());
  if (!caller.aborted) wait('openMs');
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    opened: () => wait('firstEventMs'),
    heard(answer, progress) {
      if (answer.stop !== undefined) wait('settleMs');
      else if (progress) wait('idleMs');
    },
    close(finished) {
      clearTimeout(timer);
      forget();
      if (!finished) controller.abort();
    },
  };
}

const MEANING: Readonly<Record<keyof Timeouts, (seconds: number) => string>> = {
  openMs: (seconds) => `no connection within ${seconds} s`,
  firstEventMs: (seconds) => `no answer within ${seconds} s`,
  idleMs: (seconds) => `no data for ${seconds} s`,
  settleMs: (seconds) => `no end within ${seconds} s of the finish`,
};
