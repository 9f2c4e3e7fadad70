import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseObject, objectOf, stringOf, uuidv7, tryOrUndefined } from '../../../base/index.ts';

/** The file that records when each key was last used. It is separate from the key file, which is written only when a key changes. */
export function keyUsesFile(keyFile: string): string {
  return join(dirname(keyFile), 'key-uses.json');
}

/** When each key was last used, by id. An error here never refuses a request. */
export function readKeyUses(keyFile: string): ReadonlyMap<string, string> {
  const text = tryOrUndefined(() => readFileSync(keyUsesFile(keyFile), 'utf8')) ?? '';
  return new Map(Object.entries(objectOf(parseObject(text)?.uses)).map(([id, at]) => [id, stringOf(at)]));
}

/** Records uses of keys periodically, not with every request. Records of other processes are preserved. */
export class KeyUses {
  readonly #keyFile: string;
  readonly #unwritten = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(keyFile: string) {
    this.#keyFile = keyFile;
  }

  note(id: string, now = Date.now()): void {
    this.#unwritten.set(id, now);
    this.#timer ??= setTimeout(() => this.write(), WRITE_MS).unref();
  }

  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#unwritten.size === 0) return;
    const all = new Map(readKeyUses(this.#keyFile));
    for (const [id, at] of this.#unwritten) {
      const time = new Date(at).toISOString();
      if ((all.get(id) ?? '') < time) all.set(id, time);
    }
    this.#unwritten.clear();
    const file = keyUsesFile(this.#keyFile);
    const draft = `${file}.${uuidv7()}`;
    try {
      writeFileSync(draft, `${JSON.stringify({ version: 1, uses: Object.fromEntries(all) })}\n`, {
        mode: 0o600,
        flag: 'wx',
      });
      chmodSync(draft, 0o600);
      renameSync(draft, file);
    } catch {
      // The record is informational, and the next use is recorded again.
    }
  }
}

const WRITE_MS = 30_000;
