import { tryParse } from '../../base/index.ts';

/** What a README is called and how it begins; '' for what it does not say. */
export function gist(readme: string): { readonly title: string; readonly sentence: string } {
  const lines = prose(readme.split('\n').map(withoutLineNumber));
  const heading = lines.findIndex((line) => /^#\s/.test(line));
  const title = heading < 0 ? '' : plain(lines[heading]?.replace(/^#+/, '') ?? '');
  const from = lines.findIndex((line, at) => at > heading && isSentence(line));
  if (from < 0) return { title, sentence: '' };
  const length = lines.slice(from).findIndex((line) => !isSentence(line));
  const paragraph = plain(lines.slice(from, length < 0 ? undefined : from + length).join(' '));
  return { title, sentence: /^.*?[.!?](?=\s|$)|^.*?[。！？]/.exec(paragraph)?.[0] ?? paragraph };
}

/** How many things a listing names, one per line or in a JSON array. */
export function entriesIn(listing: string): number {
  const parsed = tryParse(listing);
  if (Array.isArray(parsed)) return parsed.length;
  return listing.split('\n').filter((line) => line.trim() !== '' && !/^total \d+$/.test(line)).length;
}

/** The README in a listing, the one nearest to the root if there are several. */
export function readmeIn(listing: string): string | undefined {
  const found = listing.match(/[\w./-]*\breadme(\.\w+)?(?![\w./-])/gi) ?? [];
  return found.toSorted((a, b) => a.length - b.length)[0];
}

/** Reading tools often number their lines. */
function withoutLineNumber(line: string): string {
  return line.replace(/^\s*\d+(?:→|\t|\s?[|:]\s?)/, '');
}

/** The lines outside of code fences. */
function prose(lines: readonly string[]): readonly string[] {
  let fenced = false;
  return lines.map((line) => {
    const fence = /^\s*(```|~~~)/.test(line);
    if (fence) fenced = !fenced;
    return fence || fenced ? '' : line.trim();
  });
}

/** Neither a heading nor a badge, an image, HTML, a table, a list or a rule. */
function isSentence(line: string): boolean {
  return line !== '' && !/^([#!<|>=]|[*+-]\s|---|\*\*\*$|\[!?\[)/.test(line);
}

function plain(markdown: string): string {
  return markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(\*\*|\*|`)(\S(?:.*?\S)?)\1/g, '$2')
    .replace(/\s+/g, ' ')
    .trim();
}
