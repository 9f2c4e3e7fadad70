/** The time functions that a terminal needs; tests replace them. */
export interface Timer {
  now(): number;
  /** Calls back once after a delay; returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const REAL_TIMER: Timer = {
  now: () => performance.now(),
  after: (ms, callback) => {
    const timeout = setTimeout(callback, ms);
    return () => clearTimeout(timeout);
  },
};
