import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file to write and read that has no name on disk. Whoever opens it closes it. */
export function namelessFile(): number {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-sandbox-'));
  try {
    return openSync(join(directory, 'content'), 'wx+', 0o600);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Content that programs get as an open file: on disk it has no name that anybody could use. */
export class KeptFile {
  readonly #fd: number;

  constructor(content: string | Uint8Array) {
    this.#fd = namelessFile();
    writeFileSync(this.#fd, content);
  }

  /** A descriptor that starts at the beginning. Whoever opens it closes it. */
  open(): number {
    return openSync(`/proc/self/fd/${this.#fd}`, 'r');
  }
}
