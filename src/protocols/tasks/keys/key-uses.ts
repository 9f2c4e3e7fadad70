import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { objectIn, objectOf, stringOf, uuidv7 } from '../../../base/index.ts';

/** Where it is noted when each key was used last: apart from the keys, which are written only when one changes. */
export function keyUsesFile(keyFile: string): string {
  return join(dirname(keyFile), 'key-uses.json');
}

/** When each key was used last, by its id. Not knowing it is no reason to refuse anything. */
export function readKeyUses(keyFile: string): ReadonlyMap<string, string> {
  try {
    const { uses } = objectIn(readFileSync(keyUsesFile(keyFile), 'utf8')) ?? {};
    return new Map(Object.entries(objectOf(uses)).map(([id, at]) => [id, stringOf(at)]));
  } catch {
    return new Map();
  }
}

/** Notes uses of keys now and then, not with every request. What other processes noted stays. */
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
      // It is a note for people; the next use is noted again.
    }
  }
}

const WRITE_MS = 30_000;
