import { appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tryParse } from '../../base/index.ts';

/** The number of lines to keep. The file is rewritten when it has twice as many. */
const KEPT = 1000;
const SLACK = 1000;

/** The prompts of all chats, for the arrow keys: one JSON string per line, readable only by the owner. */
export class HistoryFile {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(dataDirectory: string) {
    this.#path = join(dataDirectory, 'prompt-history.jsonl');
  }

  /** Returns the prompts, newest last. An unreadable history counts as empty. */
  async read(): Promise<readonly string[]> {
    const lines = (await readFile(this.#path, 'utf8').catch(() => '')).split('\n');
    const texts = lines.flatMap((line) => {
      const text = tryParse(line);
      return typeof text === 'string' ? [text] : [];
    });
    const kept = texts.slice(-KEPT);
    if (texts.length > KEPT + SLACK) this.#write(() => writeFile(this.#path, lined(kept), { mode: 0o600 }));
    return kept;
  }

  add(text: string): void {
    this.#write(async () => {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      await appendFile(this.#path, lined([text]), { mode: 0o600 });
      await chmod(this.#path, 0o600);
    });
  }

  /** Resolves when all pending writes are complete. */
  written(): Promise<void> {
    return this.#writing;
  }

  /** A failed write is ignored: the chat works without a history. */
  #write(action: () => Promise<void>): void {
    this.#writing = this.#writing.then(action).catch(() => {});
  }
}

function lined(texts: readonly string[]): string {
  return texts.map((text) => `${JSON.stringify(text)}\n`).join('');
}
