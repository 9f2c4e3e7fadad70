import { PolypodError } from './errors.ts';

/** A reader was too slow for its queue: it may watch again after the last number that it got. */
export class ReaderTooSlow extends PolypodError {
  constructor(message: string) {
    super('overloaded', message);
  }
}

/**
 * Whether watching again brings the rest. Not every `overloaded` means that: a full disk, or a pod for which there is no room
 * or no file handle, is refused again at once, and a caller that retries without a limit blocks the process.
 */
export function isReaderTooSlow(thrown: unknown): boolean {
  return thrown instanceof ReaderTooSlow;
}
