import { type Filter, isWanted } from './list.ts';
import type { Row } from './row.ts';

/**
 * The rows in which every word of the text occurs somewhere. Those come first whose name has all the words, then those
 * whose id begins with the text, then the rest; the order of the rows is kept within.
 */
export function found(rows: readonly Row[], text: string, { limit, ...filter }: Filter = {}): readonly Row[] {
  const whole = folded(text).trim();
  const words = whole.split(/\s+/).filter((word) => word !== '');
  const ranked: [Row[], Row[], Row[]] = [[], [], []];
  for (const row of rows)
    if (isWanted(row, filter) && hasAll(wordsIn(row), words)) ranked[rankOf(row, whole, words)].push(row);
  return ranked.flat().slice(0, limit);
}

function wordsIn({ name = '', firstPrompt = '', lastText = '', cwd, id, model = '' }: Row): string {
  // A word has no newline in it, so none is found across two fields.
  return folded([name, firstPrompt, lastText, cwd, id, model].join('\n'));
}

function rankOf({ name = '', id }: Row, whole: string, words: readonly string[]): 0 | 1 | 2 {
  if (hasAll(folded(name), words)) return 0;
  return folded(id).startsWith(whole) ? 1 : 2;
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** Without case and width. To upper case last: ß is SS there, and a sigma looks the same at a word's end. */
function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase().toUpperCase();
}
