/** The time, as far as a terminal needs it; tests have their own. */
export interface Timer {
  now(): number;
  /** Calls back once, later, unless cancelled by what it returns. */
  after(ms: number, callback: () => void): () => void;
}

export const REAL_TIMER: Timer = {
  now: () => performance.now(),
  after: (ms, callback) => {
    const timeout = setTimeout(callback, ms);
    return () => clearTimeout(timeout);
  },
};
