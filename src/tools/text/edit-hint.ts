import { cutLine } from './shorten.ts';

/** Explains why a text is not in a file, with the most similar location. */
export function explainNotFound(text: string, old: string): string {
  if (text === '') return 'the file is empty, so old is not in it. Use write to fill it.';
  const withoutNumbers = old.replaceAll(/^ *\d+\t/gm, '');
  if (withoutNumbers !== old && text.includes(withoutNumbers))
    return 'old is not in the file because it contains the line numbers that read shows. Remove the number and the tab at the start of each line.';
  const lines = text.split('\n');
  const searched = withoutBlankEnds(old.split('\n')).slice(0, MAX_SEARCHED);
  const location = closestLocation(lines, searched);
  if (location === undefined)
    return 'old is not in the file, nor anything like it. Read the file again and copy the text exactly.';
  return `old is not in the file. ${reasonAt(lines, searched, location)}\n${shownLines(lines, location, searched.length)}\nCopy the text exactly as it is there.`;
}

function withoutBlankEnds(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== '');
  const last = lines.findLastIndex((line) => line.trim() !== '');
  return first === -1 ? lines : lines.slice(first, last + 1);
}

/**
 * Returns the line where most of the searched lines occur in order, ignoring spaces; otherwise the line most
 * similar to the first.
 */
function closestLocation(lines: readonly string[], searched: readonly string[]): number | undefined {
  const positions = new Map<string, number[]>();
  for (const [index, line] of searched.entries()) {
    const key = withoutSpace(line);
    if (key !== '') positions.set(key, [...(positions.get(key) ?? []), index]);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    for (const position of positions.get(withoutSpace(line)) ?? []) {
      const start = index - position;
      if (start >= 0) votes.set(start, (votes.get(start) ?? 0) + 1);
    }
  }
  const [best] = [...votes].toSorted(([, a], [, b]) => b - a);
  return best?.[0] ?? mostSimilarLine(lines, searched[0] ?? '');
}

function reasonAt(lines: readonly string[], searched: readonly string[], location: number): string {
  const found = lines.slice(location, location + searched.length);
  const where = locationText(location, found.length);
  const differing = searched.findIndex(
    (line, index) => withoutSpace(line) !== withoutSpace(found[index] ?? ''),
  );
  if (differing !== -1)
    return `The most similar location is ${where}; the first difference is in line ${location + differing + 1}:`;
  return `${where[0]?.toUpperCase()}${where.slice(1)} it differs in ${spaceDifference(found, searched)} only:`;
}

function locationText(location: number, length: number): string {
  return length === 1 ? `at line ${location + 1}` : `at lines ${location + 1}-${location + length}`;
}

function spaceDifference(found: readonly string[], searched: readonly string[]): string {
  const same = (change: (line: string) => string): boolean =>
    searched.every((line, index) => change(line) === change(found[index] ?? ''));
  if (same((line) => line.trimEnd())) return 'spaces at the end of lines, or in the blank lines around it,';
  if (same((line) => line.trimStart())) {
    const tabs = found.some((line) => /^ *\t/.test(line)) !== searched.some((line) => /^ *\t/.test(line));
    return tabs ? 'indentation (tabs and spaces)' : 'indentation';
  }
  return 'white space';
}

/** Formats lines like the read tool. */
function shownLines(lines: readonly string[], location: number, length: number): string {
  const excerpt = lines.slice(location, location + Math.min(length, MAX_SHOWN));
  const text = excerpt.map((line, index) => `${location + index + 1}\t${cutLine(line, MAX_SHOWN_LENGTH)}`);
  return [...text, ...(length > MAX_SHOWN ? ['…'] : [])].join('\n');
}

function mostSimilarLine(lines: readonly string[], searched: string): number | undefined {
  const pairs = characterPairs(withoutSpace(searched));
  let [best, bestLikeness] = [-1, LEAST_LIKENESS];
  for (const [index, line] of lines.slice(0, MAX_COMPARED).entries()) {
    const likeness = similarity(pairs, characterPairs(withoutSpace(line)));
    if (likeness > bestLikeness) [best, bestLikeness] = [index, likeness];
  }
  return best === -1 ? undefined : best;
}

/** Removes white space, so that lines that differ only in it are equal. */
function withoutSpace(line: string): string {
  return line.trim().replaceAll(/\s+/g, ' ');
}

/** Returns the pairs of adjacent characters of a line. */
function characterPairs(line: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < Math.min(line.length, MAX_SHOWN_LENGTH); index += 1)
    pairs.add(line.slice(index, index + 2));
  return pairs;
}

/** Returns the share of common pairs of two lines, from 0 to 1 (Dice). */
function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let both = 0;
  for (const pair of one) if (other.has(pair)) both += 1;
  return one.size + other.size === 0 ? 0 : (2 * both) / (one.size + other.size);
}

const MAX_SHOWN = 12;
const MAX_SHOWN_LENGTH = 200;
const MAX_COMPARED = 5_000;
/** The first lines of a long text are enough. */
const MAX_SEARCHED = 200;
const LEAST_LIKENESS = 0.5;
