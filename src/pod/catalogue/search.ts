import { type Filter, isWanted } from './list.ts';
import type { Row } from './row.ts';

/**
 * Returns the rows that contain every word of the text. Rows whose name contains all words come first, then rows whose id starts
 * with the text, then the rest. Within each group the row order is kept.
 */
export function found(rows: readonly Row[], text: string, { limit, ...filter }: Filter = {}): readonly Row[] {
  const whole = folded(text).trim();
  const words = whole.split(/\s+/).filter((word) => word !== '');
  const ranked: [Row[], Row[], Row[]] = [[], [], []];
  for (const row of rows)
    if (isWanted(row, filter) && hasAll(wordsIn(row), words)) ranked[rankOf(row, whole, words)].push(row);
  return ranked.flat().slice(0, limit);
}

function wordsIn({
  name = '',
  title = '',
  firstPrompt = '',
  lastText = '',
  cwd,
  id,
  model = '',
}: Row): string {
  // A word contains no newline, so it cannot match across two fields.
  return folded([name, title, firstPrompt, lastText, cwd, id, model].join('\n'));
}

function rankOf({ name = '', id }: Row, whole: string, words: readonly string[]): 0 | 1 | 2 {
  if (hasAll(folded(name), words)) return 0;
  return folded(id).startsWith(whole) ? 1 : 2;
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** Folds case and width. Upper case comes last: it maps ß to SS and both forms of sigma to one letter. */
function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase().toUpperCase();
}
