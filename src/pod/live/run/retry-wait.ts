import { onAbort } from '../../../base/index.ts';

/** The wait before the next attempt to call a provider, which a person can abort. */
export class RetryWait {
  #giveUp: (() => void) | undefined;

  async wait(ms: number, signal: AbortSignal): Promise<'waited' | 'given-up'> {
    return new Promise((resolve) => {
      const end = (how: 'waited' | 'given-up'): void => {
        clearTimeout(timer);
        forget();
        this.#giveUp = undefined;
        resolve(how);
      };
      const timer = setTimeout(end, ms, 'waited');
      let forget = (): void => {};
      this.#giveUp = () => end('given-up');
      forget = onAbort(signal, () => end('waited'));
    });
  }

  /** Ends the wait: the run fails with the error that it would have retried. Returns false if no wait is active. */
  giveUp(): boolean {
    const giveUp = this.#giveUp;
    giveUp?.();
    return giveUp !== undefined;
  }
}
