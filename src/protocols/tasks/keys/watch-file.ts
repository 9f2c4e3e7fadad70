import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * Calls back when a file may have been replaced by any program. Returns a function that stops it. It does not wake an idle process, unless
 * the system cannot watch files: then it polls every second.
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
    // Watches the directory, because a replaced file is a new file.
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
