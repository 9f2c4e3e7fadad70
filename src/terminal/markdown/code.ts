import { DIM, GREEN, PLAIN, RED, type Line, type Style, span } from '../style.ts';
import { grammarOf, highlightLast } from './highlight.ts';

/** What the colours of the next line of a code block depend on. */
export interface CodeState {
  readonly language: string;
  /** The lines since a comment or string began that is still open; empty at most lines. */
  readonly context: readonly string[];
  /** Whether the line is still being written. Highlighting it again with each delta would take most of the time. */
  readonly isPartial?: boolean;
}

/** Colours a line of code; line by line, so that code can stream. */
export function colourCode(state: CodeState, text: string): readonly [CodeState, Line] {
  const { language, context, isPartial } = state;
  const grammar = grammarOf(language);
  if (grammar === undefined || isPartial || text.length > MAX_LINE)
    return [state, text === '' ? [] : [span(text, isDiff(language) ? diffStyle(text) : PLAIN)]];
  const lines = [...context, text];
  const { line, isOpen } = highlightLast(grammar, lines);
  return [{ language, context: isOpen ? bounded(lines) : [] }, line];
}

function isDiff(language: string): boolean {
  return language === 'diff' || language === 'patch';
}

/** A longer line is data, not code to read. */
const MAX_LINE = 500;
/** Each line of a construct that spans lines is highlighted again with each following line. */
const MAX_CONTEXT = 1000;

/** Limits the context to the line that opened it and the newest lines. */
function bounded(lines: readonly string[]): readonly string[] {
  const [first = '', ...others] = lines;
  const kept: string[] = [];
  let length = first.length;
  for (const line of others.toReversed()) {
    length += line.length + 1;
    if (length > MAX_CONTEXT) break;
    kept.unshift(line);
  }
  return [first, ...kept];
}

export function diffStyle(text: string): Style {
  if (text.startsWith('+++') || text.startsWith('---')) return DIM;
  if (text.startsWith('+')) return GREEN;
  if (text.startsWith('-')) return RED;
  return DIM;
}
