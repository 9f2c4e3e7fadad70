import { tryParse } from '../../base/index.ts';

/** Returns the title and the first sentence of a README; '' for what is missing. */
export function readmeSummary(readme: string): { readonly title: string; readonly sentence: string } {
  const lines = withoutCode(readme.split('\n').map(withoutLineNumber));
  const heading = lines.findIndex((line) => /^#\s/.test(line));
  const title = heading < 0 ? '' : plainText(lines[heading]?.replace(/^#+/, '') ?? '');
  const start = lines.findIndex((line, at) => at > heading && isSentence(line));
  if (start < 0) return { title, sentence: '' };
  const length = lines.slice(start).findIndex((line) => !isSentence(line));
  const paragraph = plainText(lines.slice(start, length < 0 ? undefined : start + length).join(' '));
  return { title, sentence: /^.*?[.!?](?=\s|$)|^.*?[。！？]/.exec(paragraph)?.[0] ?? paragraph };
}

/** Counts the entries of a listing, one per line or in a JSON array. */
export function countEntries(listing: string): number {
  const parsed = tryParse(listing);
  if (Array.isArray(parsed)) return parsed.length;
  return listing.split('\n').filter((line) => line.trim() !== '' && !/^total \d+$/.test(line)).length;
}

/** Returns the README in a listing, the one closest to the root if there are several. */
export function findReadme(listing: string): string | undefined {
  const found = listing.match(/[\w./-]*\breadme(\.\w+)?(?![\w./-])/gi) ?? [];
  return found.toSorted((a, b) => a.length - b.length)[0];
}

/** Tools that read files often number the lines. */
function withoutLineNumber(line: string): string {
  return line.replace(/^\s*\d+(?:→|\t|\s?[|:]\s?)/, '');
}

/** Blanks out code fences. */
function withoutCode(lines: readonly string[]): readonly string[] {
  let fenced = false;
  return lines.map((line) => {
    const fence = /^\s*(```|~~~)/.test(line);
    if (fence) fenced = !fenced;
    return fence || fenced ? '' : line.trim();
  });
}

/** Returns whether a line is text: no heading, badge, image, HTML, table, list or rule. */
function isSentence(line: string): boolean {
  return line !== '' && !/^([#!<|>=]|[*+-]\s|---|\*\*\*$|\[!?\[)/.test(line);
}

function plainText(markdown: string): string {
  return markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(\*\*|\*|`)(\S(?:.*?\S)?)\1/g, '$2')
    .replace(/\s+/g, ' ')
    .trim();
}
