import type { Align } from './block.ts';

export interface Fence {
  readonly mark: string;
  readonly indent: number;
  readonly language: string;
}

export interface ItemStart {
  readonly marker: string;
  readonly indent: number;
  /** The column at which the item's text starts; lines indented at least that far belong to it. */
  readonly contentIndent: number;
  readonly text: string;
}

export function isBlank(line: string): boolean {
  return line.trim() === '';
}

export function indentation(line: string): number {
  return line.length - line.trimStart().length;
}

export function parseHeading(line: string): { level: number; text: string } | undefined {
  const [lead, marks] = /^ {0,3}(#{1,6})(?=\s|$)/.exec(line) ?? [];
  if (lead === undefined || marks === undefined) return undefined;
  const text = line.slice(lead.length).trim();
  return { level: marks.length, text: text.endsWith('#') ? text.replace(/(?:^|\s)#+$/, '').trimEnd() : text };
}

/** Returns the level of the heading that an underline makes of the paragraph above it. */
export function parseUnderline(line: string): 1 | 2 | undefined {
  if (/^ {0,3}={3,}\s*$/.test(line)) return 1;
  return /^ {0,3}-{3,}\s*$/.test(line) ? 2 : undefined;
}

export function isRule(line: string): boolean {
  return /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/.test(line);
}

export function parseFence(line: string): Fence | undefined {
  const [, indent, mark, after = ''] = /^( *)(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  if (indent === undefined || mark === undefined || (mark.startsWith('`') && after.includes('`')))
    return undefined;
  return { mark, indent: indent.length, language: after.trim().split(/\s+/)[0] ?? '' };
}

export function closesFence(line: string, { mark }: Fence): boolean {
  const trimmed = line.trim();
  return trimmed.length >= mark.length && trimmed === (mark[0] ?? '').repeat(trimmed.length);
}

export function parseItem(line: string): ItemStart | undefined {
  const [, indent, marker, space, text = ''] = /^(\s*)([-*+]|\d{1,9}[.)])(?:(\s+)(.*))?$/.exec(line) ?? [];
  if (indent === undefined || marker === undefined) return undefined;
  // Text that starts far to the right is code in the item: only the first space belongs to the marker.
  const gap = space === undefined || space.length > 4 ? 1 : space.length;
  const content = space === undefined ? '' : space.slice(gap) + text;
  return { marker, indent: indent.length, contentIndent: indent.length + marker.length + gap, text: content };
}

/** Returns whether an item may start directly below a line of text: `2020. was good` is not an item there. */
export function interruptsText({ marker, text }: ItemStart): boolean {
  return text !== '' && (/^[-*+]$/.test(marker) || /^1[.)]$/.test(marker));
}

export function parseQuote(line: string): string | undefined {
  return /^ {0,3}> ?(.*)$/.exec(line)?.[1];
}

export function splitCells(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Returns the alignments in the delimiter row of a table. */
export function parseAlignments(line: string): Align[] | undefined {
  if (!line.includes('|') && !/^\s*:?-+:\s*$/.test(line)) return undefined;
  const cells = splitCells(line);
  if (!cells.every((cell) => /^:?-+:?$/.test(cell))) return undefined;
  return cells.map((cell) => {
    if (!cell.endsWith(':')) return 'left';
    return cell.startsWith(':') ? 'center' : 'right';
  });
}
