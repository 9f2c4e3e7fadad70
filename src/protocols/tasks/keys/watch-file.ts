import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * Calls back when a file may have been replaced, by whichever program, until the answer is called. An idle process is not woken
 * for it, unless the system cannot watch: then it looks every second.
 */
export function watchFile(file: string, onChange: () => void): () => void {
  const name = basename(file);
  const stop = new AbortController();
  const poll = (): void => {
    if (stop.signal.aborted) return;
    const timer = setInterval(onChange, LOOK_MS).unref();
    stop.signal.addEventListener('abort', () => clearInterval(timer));
  };
  try {
    // The directory, not the file: what is replaced is another file afterwards.
    const watcher = watch(dirname(file), { persistent: false, signal: stop.signal });
    watcher.on('change', (_, changed) => {
      if (changed === null || String(changed) === name) onChange();
    });
    watcher.on('error', poll);
  } catch {
    poll();
  }
  return () => stop.abort();
}

const LOOK_MS = 1_000;
