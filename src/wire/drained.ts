import type { Writable } from 'node:stream';

/** Resolves when a stream accepts more output, or is closed. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    if (stream.destroyed || !stream.writableNeedDrain) {
      resolve();
      return;
    }
    stream.on('drain', done);
    stream.on('close', done);
  });
}
