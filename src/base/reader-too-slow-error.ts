import { PolypodError } from './errors.ts';

/** A reader fell behind and its queue overflowed. It may watch again from the last event number that it received. */
export class ReaderTooSlowError extends PolypodError {
  constructor(message: string) {
    super('overloaded', message);
  }
}

/**
 * Whether watching again delivers the missed events. This is not true of every `overloaded` error: a full disk, or a pod
 * that cannot be loaded for lack of memory or file handles, fails again immediately, and unlimited retries block the process.
 */
export function isReaderTooSlow(thrown: unknown): boolean {
  return thrown instanceof ReaderTooSlowError;
}
