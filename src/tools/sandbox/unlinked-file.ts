import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a readable and writable file without a name on disk. The caller closes it. */
export function createUnlinkedFile(): number {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-sandbox-'));
  try {
    return openSync(join(directory, 'content'), 'wx+', 0o600);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Content that programs get as an open file, without a name on disk that anyone could use. */
export class UnlinkedFile {
  readonly #fd: number;

  constructor(content: string | Uint8Array) {
    this.#fd = createUnlinkedFile();
    writeFileSync(this.#fd, content);
  }

  /** Returns a descriptor at the beginning of the content. The caller closes it. */
  open(): number {
    return openSync(`/proc/self/fd/${this.#fd}`, 'r');
  }
}
