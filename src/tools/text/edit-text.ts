import { formatCount } from './shorten.ts';
import { explainNotFound } from './edit-hint.ts';

/** One exact replacement. */
export interface TextEdit {
  readonly old: string;
  readonly new: string;
  /** Whether every occurrence is replaced; otherwise there must be exactly one. */
  readonly all: boolean;
}

export type EditResult =
  | { readonly type: 'done'; readonly text: string; readonly replaced: number }
  | { readonly type: 'failed'; readonly why: string };

/** Applies the edits in order; if one fails, none is applied. */
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
  const failure = editFailure(text, edit, starts);
  if (failure !== undefined) return { type: 'failed', why: failure };
  const replacements = starts.map((start) => ({ start, end: start + edit.old.length, text: edit.new }));
  return { type: 'done', text: replaceAt(text, replacements), replaced: replacements.length };
}

/**
 * Models write `\n` for every line break. It matches the line breaks of the file, unchanged lines keep theirs,
 * and new lines get those of their location.
 */
function applyToCrlf(text: string, edit: TextEdit): EditResult {
  const plain = text.replaceAll('\r\n', '\n');
  const [old, now] = [edit.old.replaceAll('\r\n', '\n'), edit.new.replaceAll('\r\n', '\n')];
  if (old === now) return { type: 'failed', why: 'old and new differ only in their line endings.' };
  const starts = occurrences(plain, old);
  const failure = editFailure(plain, { ...edit, old }, starts);
  if (failure !== undefined) return { type: 'failed', why: failure };
  const toOriginal = originalOffsets(text);
  const replacements = starts.map((start) => {
    const [from, to] = [toOriginal(start), toOriginal(start + old.length)];
    return { start: from, end: to, text: now.replaceAll('\n', lineEndingNear(text, from, to)) };
  });
  return { type: 'done', text: replaceAt(text, replacements), replaced: replacements.length };
}

function editFailure(text: string, { old, all }: TextEdit, starts: readonly number[]): string | undefined {
  if (starts.length === 0) return explainNotFound(text, old);
  if (starts.length === 1 || all) return undefined;
  const lines = starts.slice(0, MAX_LISTED).map((start) => lineNumberAt(text, start));
  const more = starts.length > MAX_LISTED ? ' …' : '';
  return `old is in the file ${formatCount(starts.length, 'time')}, at lines ${lines.join(', ')}${more}. Add lines around it until it is unique, or set all to true.`;
}

/** Returns where a text occurs in another, without overlaps. */
function occurrences(text: string, part: string): readonly number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) starts.push(at);
  return starts;
}

interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function replaceAt(text: string, replacements: readonly Replacement[]): string {
  let at = 0;
  const parts = replacements.flatMap((replacement) => {
    const unchanged = text.slice(at, replacement.start);
    at = replacement.end;
    return [unchanged, replacement.text];
  });
  return [...parts, text.slice(at)].join('');
}

/** Maps offsets in the text with plain line feeds to the original; offsets must be ascending. */
function originalOffsets(text: string): (plain: number) => number {
  let [at, returns] = [0, 0];
  return (plain) => {
    for (;;) {
      const next = text.indexOf('\r\n', at);
      // The pair counts as one: an offset at it is before the carriage return.
      if (next === -1 || next - returns >= plain) return plain + returns;
      at = next + 2;
      returns += 1;
    }
  };
}

/** Returns the line ending of the first replaced line, or else of the line before it. */
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

const MAX_LISTED = 10;
