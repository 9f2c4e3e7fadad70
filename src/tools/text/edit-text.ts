import { counted } from './shorten.ts';
import { whyNotFound } from './edit-hint.ts';

/** One exact replacement. */
export interface TextEdit {
  readonly old: string;
  readonly new: string;
  /** Whether every occurrence is replaced; without it there must be exactly one. */
  readonly all: boolean;
}

export type EditResult =
  | { readonly type: 'done'; readonly text: string; readonly replaced: number }
  | { readonly type: 'failed'; readonly why: string };

/** Makes the edits one after the other; one that cannot be made means that none is. */
export function applyEdits(text: string, edits: readonly TextEdit[]): EditResult {
  let [current, replaced] = [text, 0];
  for (const [index, edit] of edits.entries()) {
    const result = applyEdit(current, edit);
    if (result.type === 'failed') {
      const which = edits.length === 1 ? '' : `edit ${index + 1} of ${edits.length}: `;
      return { type: 'failed', why: `${which}${result.why}` };
    }
    current = result.text;
    replaced += result.replaced;
  }
  return { type: 'done', text: current, replaced };
}

function applyEdit(text: string, edit: TextEdit): EditResult {
  if (edit.old === edit.new)
    return { type: 'failed', why: 'old and new are the same, so there is nothing to change.' };
  return text.includes('\r\n') ? applyToCrlf(text, edit) : applyExactly(text, edit);
}

function applyExactly(text: string, edit: TextEdit): EditResult {
  const starts = occurrences(text, edit.old);
  const failure = failureOf(text, edit, starts);
  if (failure !== undefined) return { type: 'failed', why: failure };
  const dataPaths = starts.map((start) => ({ start, end: start + edit.old.length, text: edit.new }));
  return { type: 'done', text: replaceAt(text, dataPaths), replaced: dataPaths.length };
}

/**
 * Models write `\n` for every line break. They are matched with those of the file, what stays keeps its own, and what is
 * new gets those of the place it comes to.
 */
function applyToCrlf(text: string, edit: TextEdit): EditResult {
  const plain = text.replaceAll('\r\n', '\n');
  const [old, now] = [edit.old.replaceAll('\r\n', '\n'), edit.new.replaceAll('\r\n', '\n')];
  if (old === now) return { type: 'failed', why: 'old and new differ in nothing but their line endings.' };
  const starts = occurrences(plain, old);
  const failure = failureOf(plain, { ...edit, old }, starts);
  if (failure !== undefined) return { type: 'failed', why: failure };
  const originalOf = originalOffsets(text);
  const dataPaths = starts.map((start) => {
    const [from, to] = [originalOf(start), originalOf(start + old.length)];
    return { start: from, end: to, text: now.replaceAll('\n', lineEndingNear(text, from, to)) };
  });
  return { type: 'done', text: replaceAt(text, dataPaths), replaced: dataPaths.length };
}

function failureOf(text: string, { old, all }: TextEdit, starts: readonly number[]): string | undefined {
  if (starts.length === 0) return whyNotFound(text, old);
  if (starts.length === 1 || all) return undefined;
  const lines = starts.slice(0, MOST_LISTED).map((start) => lineNumberAt(text, start));
  const more = starts.length > MOST_LISTED ? ' …' : '';
  return `old is in the file ${counted(starts.length, 'time')}, at lines ${lines.join(', ')}${more}. Add lines around it until it is unique, or set all to true.`;
}

/** Where a text starts in another, without overlaps. */
function occurrences(text: string, part: string): readonly number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) starts.push(at);
  return starts;
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function replaceAt(text: string, dataPaths: readonly Place[]): string {
  let at = 0;
  const parts = dataPaths.flatMap((place) => {
    const kept = text.slice(at, place.start);
    at = place.end;
    return [kept, place.text];
  });
  return [...parts, text.slice(at)].join('');
}

/** From an offset in the text with plain line feeds to the same place in the original; offsets are asked in order. */
function originalOffsets(text: string): (plain: number) => number {
  let [at, returns] = [0, 0];
  return (plain) => {
    for (;;) {
      const next = text.indexOf('\r\n', at);
      // The pair counts as one: an offset at it is in front of the carriage return.
      if (next === -1 || next - returns >= plain) return plain + returns;
      at = next + 2;
      returns += 1;
    }
  };
}

/** The ending of the first line that is replaced, or else of the line before the place. */
function lineEndingNear(text: string, start: number, end: number): string {
  const inside = text.indexOf('\n', start);
  const lineFeed = inside !== -1 && inside < end ? inside : text.lastIndexOf('\n', start - 1);
  const near = lineFeed === -1 ? inside : lineFeed;
  return text[near - 1] === '\r' ? '\r\n' : '\n';
}

function lineNumberAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

const MOST_LISTED = 10;
