import { cutLine } from './shorten.ts';

/** Why a text is not in a file, as far as that can be seen, and the place that was most likely meant. */
export function whyNotFound(text: string, old: string): string {
  if (text === '') return 'the file is empty, so old is not in it. Use write to fill it.';
  const withoutNumbers = old.replaceAll(/^ *\d+\t/gm, '');
  if (withoutNumbers !== old && text.includes(withoutNumbers))
    return 'old is not in the file because it has the line numbers that read shows. Leave out the number and the tab in front of each line.';
  const lines = text.split('\n');
  const wanted = withoutBlankEnds(old.split('\n')).slice(0, MOST_WANTED);
  const place = nearestPlace(lines, wanted);
  if (place === undefined)
    return 'old is not in the file, nor anything like it. Read the file again and copy the text exactly.';
  return `old is not in the file. ${reasonAt(lines, wanted, place)}\n${shownLines(lines, place, wanted.length)}\nCopy the text exactly as it is there.`;
}

function withoutBlankEnds(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== '');
  const last = lines.findLastIndex((line) => line.trim() !== '');
  return first === -1 ? lines : lines.slice(first, last + 1);
}

/** The line where most of the wanted lines stand in their order, spaces aside; else the one most like the first. */
function nearestPlace(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const positions = new Map<string, number[]>();
  for (const [index, line] of wanted.entries()) {
    const key = squeezed(line);
    if (key !== '') positions.set(key, [...(positions.get(key) ?? []), index]);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    for (const position of positions.get(squeezed(line)) ?? []) {
      const start = index - position;
      if (start >= 0) votes.set(start, (votes.get(start) ?? 0) + 1);
    }
  }
  const [best] = [...votes].toSorted(([, a], [, b]) => b - a);
  return best?.[0] ?? mostAlike(lines, wanted[0] ?? '');
}

function reasonAt(lines: readonly string[], wanted: readonly string[], place: number): string {
  const found = lines.slice(place, place + wanted.length);
  const where = placeText(place, found.length);
  const differing = wanted.findIndex((line, index) => squeezed(line) !== squeezed(found[index] ?? ''));
  if (differing !== -1)
    return `The nearest place is ${where}; the first difference is in line ${place + differing + 1}:`;
  return `${where[0]?.toUpperCase()}${where.slice(1)} it differs in ${spaceDifference(found, wanted)} only:`;
}

function placeText(place: number, length: number): string {
  return length === 1 ? `at line ${place + 1}` : `at lines ${place + 1}-${place + length}`;
}

function spaceDifference(found: readonly string[], wanted: readonly string[]): string {
  const same = (change: (line: string) => string): boolean =>
    wanted.every((line, index) => change(line) === change(found[index] ?? ''));
  if (same((line) => line.trimEnd())) return 'spaces at the end of lines, or in the blank lines around it,';
  if (same((line) => line.trimStart())) {
    const tabs = found.some((line) => /^ *\t/.test(line)) !== wanted.some((line) => /^ *\t/.test(line));
    return tabs ? 'indentation (tabs and spaces)' : 'indentation';
  }
  return 'white space';
}

/** The lines as read shows them. */
function shownLines(lines: readonly string[], place: number, length: number): string {
  const shown = lines.slice(place, place + Math.min(length, MOST_SHOWN));
  const text = shown.map((line, index) => `${place + index + 1}\t${cutLine(line, MOST_SHOWN_LENGTH)}`);
  return [...text, ...(length > MOST_SHOWN ? ['…'] : [])].join('\n');
}

function mostAlike(lines: readonly string[], wanted: string): number | undefined {
  const pairs = pairsOf(squeezed(wanted));
  let [best, bestLikeness] = [-1, LEAST_LIKENESS];
  for (const [index, line] of lines.slice(0, MOST_COMPARED).entries()) {
    const likeness = likenessOf(pairs, pairsOf(squeezed(line)));
    if (likeness > bestLikeness) [best, bestLikeness] = [index, likeness];
  }
  return best === -1 ? undefined : best;
}

/** Lines that differ in white space only are the same. */
function squeezed(line: string): string {
  return line.trim().replaceAll(/\s+/g, ' ');
}

/** The pairs of neighbouring characters of a line. */
function pairsOf(line: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < Math.min(line.length, MOST_SHOWN_LENGTH); index += 1)
    pairs.add(line.slice(index, index + 2));
  return pairs;
}

/** How many pairs two lines share, from 0 to 1 (Dice). */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let both = 0;
  for (const pair of one) if (other.has(pair)) both += 1;
  return one.size + other.size === 0 ? 0 : (2 * both) / (one.size + other.size);
}

const MOST_SHOWN = 12;
const MOST_SHOWN_LENGTH = 200;
const MOST_COMPARED = 5_000;
/** Of a long text the first lines tell enough. */
const MOST_WANTED = 200;
const LEAST_LIKENESS = 0.5;
