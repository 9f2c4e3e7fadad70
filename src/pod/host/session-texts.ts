import { uuidv7, withoutUndefined } from '../../base/index.ts';
import { contentText } from '../../llm/index.ts';
import type { Row } from '../catalogue/index.ts';
import { readWhole } from '../journal/index.ts';
import type { PodCache } from './pod-cache.ts';
import { type Entry, FORK, itemsOf, type SessionTree } from '../session/index.ts';
import { headerOf, type RowSource } from './session-rows.ts';

/** The full texts of a session that its row truncates. */
export interface SessionTexts {
  /** The first prompt on the current branch. */
  readonly firstPrompt?: string;
  /** The first prompt of the session itself: a fork starts with the prompts of its parent. */
  readonly ownPrompt?: string;
  /** The text of its own last answer. */
  readonly lastText?: string;
}

/**
 * Reads full texts of sessions without opening their pods: a list of a thousand sessions must not load a thousand pods, and
 * another process may have them open. Texts are cached until the session changes.
 */
export class TextReader {
  readonly #source: RowSource;
  readonly #podCache: Pick<PodCache, 'get' | 'use'>;
  /** Least recently used first. */
  readonly #known = new Map<string, { readonly version: string; readonly texts: SessionTexts }>();
  #size = 0;

  constructor(source: RowSource, podCache: Pick<PodCache, 'get' | 'use'>) {
    this.#source = source;
    this.#podCache = podCache;
  }

  /** The texts of these sessions by id, without those that cannot be read. */
  async of(rows: readonly Row[]): Promise<ReadonlyMap<string, SessionTexts>> {
    const texts = new Map<string, SessionTexts>();
    const next = rows.values();
    const read = async (): Promise<void> => {
      for (const row of next) {
        const found = await this.#textsOf(row);
        if (found !== undefined) texts.set(row.id, found);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, read));
    return texts;
  }

  async #textsOf(row: Row): Promise<SessionTexts | undefined> {
    const version = versionOf(row);
    const known = this.#known.get(row.id);
    if (known?.version === version) {
      this.#known.delete(row.id);
      this.#known.set(row.id, known);
      return known.texts;
    }
    const tree = await this.#treeOf(row).catch(() => undefined);
    if (tree === undefined) return undefined;
    const texts = textsIn(tree.path());
    // The texts of a running session change with every answer.
    if (row.lastRun?.endedAt !== undefined) this.#keep(row.id, version, texts);
    return texts;
  }

  async #treeOf({ id, file: name }: Row): Promise<SessionTree | undefined> {
    if (this.#podCache.get(id) !== undefined) return this.#podCache.use(id, (pod) => pod.whole());
    const { files, layout, now } = this.#source;
    const file = layout.path(name);
    const header = await headerOf(files, file);
    return header && readWhole(files, file, header, { newId: uuidv7, now });
  }

  #keep(id: string, version: string, texts: SessionTexts): void {
    this.#forget(id);
    this.#known.set(id, { version, texts });
    this.#size += sizeOf(texts);
    for (const oldest of this.#known.keys()) {
      if (this.#size <= MOST_KEPT) return;
      this.#forget(oldest);
    }
  }

  #forget(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) return;
    this.#size -= sizeOf(known.texts);
    this.#known.delete(id);
  }
}

/** The number of files that are read concurrently. */
const AT_ONCE = 16;

/** In characters. */
const MOST_KEPT = 8 * 1024 * 1024;

/** The row fields that invalidate the texts. Naming and archiving do not. */
function versionOf({ updatedAt, lastRun, totals }: Row): string {
  return JSON.stringify([updatedAt, lastRun, totals.turns]);
}

function sizeOf({ firstPrompt = '', ownPrompt = '', lastText = '' }: SessionTexts): number {
  return firstPrompt.length + (ownPrompt === firstPrompt ? 0 : ownPrompt.length) + lastText.length;
}

function textsIn(path: readonly Entry[]): SessionTexts {
  const own = path.slice(path.findLastIndex((entry) => FORK.in(entry) !== undefined) + 1);
  const firstPrompt = firstText(path, 'user');
  const ownPrompt = firstText(own, 'user');
  const lastText = firstText(own.toReversed(), 'assistant');
  return {
    ...withoutUndefined({ firstPrompt, ownPrompt, lastText }),
  };
}

function firstText(entries: readonly Entry[], role: 'user' | 'assistant'): string | undefined {
  for (const entry of entries) {
    if (entry.type !== 'message' || entry.message.role !== role) continue;
    const text = itemsOf(entry.message)
      .map((item) => (item.type === 'message' ? contentText(item.content) : ''))
      .join('');
    if (text.trim() !== '') return text;
  }
  return undefined;
}
