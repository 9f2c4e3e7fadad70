import type { ApprovalQuestion, ApprovalState } from './approval-dialog.ts';
import {
  renderEditor,
  textWidth,
  sanitizeLine,
  sanitizeFullLines,
  BOLD,
  CYAN,
  DIM,
  type Line,
  PLAIN,
  RED,
  span,
  YELLOW,
  diffStyle,
  type LiveArea,
  stackLive,
  staticLive,
  chopLine,
  fitLine,
  wrapLine,
} from '../../../terminal/index.ts';

/** The complete question. It is printed above the live area, so that a long diff can be scrolled. */
export function questionLines({ title, reason, detail, more }: ApprovalQuestion, width: number): Line[] {
  const look = (text: string) => (detail.type === 'diff' ? diffStyle(text) : PLAIN);
  return [
    ...wrapLine([span('? ', YELLOW), span(sanitizeLine(title), BOLD)], width),
    ...sanitizeFullLines(reason).flatMap((text) => inset([span(text, DIM)], width, wrapLine)),
    ...(detail.text === '' ? [] : [[]]),
    ...(detail.text === '' ? [] : sanitizeFullLines(detail.text.trimEnd())).flatMap((text) =>
      inset([span(text, look(text))], width, chopLine),
    ),
    ...more.flatMap((text) => inset([span(text, DIM)], width, chopLine)),
  ];
}

/** The keys that answer, or the editor for the comment or the arguments. */
export function renderApproval(
  state: ApprovalState,
  { width, rows }: { width: number; rows: number },
): LiveArea {
  if (state.mode === 'choosing') return { lines: choiceLines(state.question, width), cursor: undefined };
  const prompt = promptOf(state);
  const heading =
    state.mode === 'editing' ? 'The arguments, as JSON' : 'What should it do instead? Enter for nothing';
  const problem =
    state.problem === undefined ? [] : wrapLine([span(sanitizeLine(state.problem), RED)], width);
  const context = staticLive(wrapLine([span(`${heading} · Esc goes back`, DIM)], width));
  const editor = renderEditor(state.editor, { width, rows: Math.max(1, rows - 2), prompt, placeholder: '' });
  return stackLive([context, editor, staticLive(problem)]);
}

/** The columns of that editor, for `updateApproval`. */
export function approvalWidth(state: ApprovalState, width: number): number {
  return textWidth({ width, prompt: promptOf(state) });
}

function promptOf({ mode }: ApprovalState): string {
  return mode === 'editing' ? '' : '> ';
}

function choiceLines({ rule, name }: ApprovalQuestion, width: number): Line[] {
  const keys: (readonly [string, string])[] = [
    ['y', 'yes, once'],
    ...(rule === undefined ? [] : [['a', 'always'] as const, ['p', 'in this project'] as const]),
    ['n', 'no'],
    ['e', 'edit'],
    ['v', 'view'],
    ['Esc', 'later'],
  ];
  const choices = keys.flatMap(([key, meaning], index) => [
    span(index === 0 ? '' : '   '),
    span(key, { ...CYAN, ...BOLD }),
    span(` ${meaning}`),
  ]);
  const always =
    rule === undefined ? [] : wrapLine([span(`always means: ${sanitizeLine(rule)}`, DIM)], width);
  // Other output can separate the call from the keys, so the call is named again.
  const about = fitLine([span('? ', YELLOW), span(sanitizeLine(name), BOLD)], width);
  return [about, ...wrapLine(choices, width), ...always];
}

function inset(line: Line, width: number, broken: (line: Line, width: number) => Line[]): Line[] {
  return broken(line, width - 2).map((part) => [span('  '), ...part]);
}
