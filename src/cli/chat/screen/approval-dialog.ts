import { isObject, type JsonObject, tryParse } from '../../../base/index.ts';
import {
  type Key,
  insert,
  type EditorState,
  newEditor,
  type EditorContext,
  updateEditor,
} from '../../../terminal/index.ts';

/** The call that a user is asked to approve. */
export interface ApprovalQuestion {
  readonly title: string;
  /** The call in one line, shown beside the keys. */
  readonly name: string;
  readonly reason: string;
  /** The complete effect of the call. */
  readonly detail: { readonly type: 'command' | 'diff' | 'arguments'; readonly text: string };
  /** One line for each argument that the detail does not show. */
  readonly more: readonly string[];
  readonly arguments: JsonObject;
  /** The rule that "always" would save; without it, "always" is not offered. */
  readonly rule: string | undefined;
  /** Why edited arguments are invalid; undefined if they are valid. */
  readonly findProblem: (edited: JsonObject) => string | undefined;
}

export type ApprovalAnswer =
  | { readonly type: 'once' }
  /** Also approves later calls that the rule covers: of this session, or of all sessions in this project. */
  | { readonly type: 'always'; readonly where: 'session' | 'project' }
  | { readonly type: 'edited'; readonly arguments: JsonObject }
  | { readonly type: 'deny'; readonly comment: string }
  | { readonly type: 'later' };

export interface ApprovalState {
  readonly question: ApprovalQuestion;
  /** When the question appeared, or the time of the last letter that was ignored. */
  readonly askedAt: number;
  readonly mode: 'choosing' | 'commenting' | 'editing';
  readonly editor: EditorState;
  readonly problem: string | undefined;
}

export interface ApprovalDialogContext {
  /** The columns of the editor for the comment or the arguments. */
  readonly width: number;
  readonly now: number;
}

export interface ApprovalUpdated {
  readonly state: ApprovalState;
  readonly answer: ApprovalAnswer | undefined;
  /** The user wants the complete call printed again. */
  readonly showsFullCall?: boolean;
}

/** A question can appear while a user types: a letter is an answer only after a pause of this length. */
export const SETTLE_MS = 400;

export function newApproval(question: ApprovalQuestion, now: number): ApprovalState {
  return { question, askedAt: now, mode: 'choosing', editor: newEditor(), problem: undefined };
}

/** Returns the dialog after a key. */
export function updateApproval(
  state: ApprovalState,
  key: Key,
  context: ApprovalDialogContext,
): ApprovalUpdated {
  if (state.mode === 'choosing') return choosing(state, key, context.now);
  if (key.type === 'chord' && key.chord === 'escape') return open(newApproval(state.question, state.askedAt));
  if (
    state.mode === 'commenting' &&
    key.type === 'chord' &&
    key.chord === 'enter' &&
    state.editor.text.trim() === ''
  )
    return { state, answer: { type: 'deny', comment: '' } };
  const updated = updateEditor(state.editor, key, { ...NO_HELP, width: context.width });
  if (updated.event?.type !== 'submit') return open({ ...state, editor: updated.state, problem: undefined });
  if (state.mode === 'commenting') return { state, answer: { type: 'deny', comment: updated.event.text } };
  return edited(state, updated.event.text);
}

/** Parses an answer that is typed as a line: `y`, `a`, `p`, `later`, or `n` followed by a comment. */
export function answerIn(line: string, { rule }: Pick<ApprovalQuestion, 'rule'>): ApprovalAnswer | undefined {
  const [, word = '', rest = ''] = /^\s*(\S+)\s*(.*?)\s*$/s.exec(line) ?? [];
  const choice = word.toLowerCase();
  if (choice === 'n' || choice === 'no') return { type: 'deny', comment: rest };
  if (rest !== '') return undefined;
  if (choice === 'y' || choice === 'yes') return { type: 'once' };
  if (choice === 'later') return { type: 'later' };
  if (rule === undefined) return undefined;
  if (choice === 'a' || choice === 'always') return { type: 'always', where: 'session' };
  return choice === 'p' || choice === 'project' ? { type: 'always', where: 'project' } : undefined;
}

function choosing(state: ApprovalState, key: Key, now: number): ApprovalUpdated {
  if (key.type === 'chord')
    return key.chord === 'escape' ? { state, answer: { type: 'later' } } : open(state);
  if (now - state.askedAt < SETTLE_MS) return open({ ...state, askedAt: now });
  switch (key.text.toLowerCase()) {
    case 'y':
      return { state, answer: { type: 'once' } };
    case 'a':
      return always(state, 'session');
    case 'p':
      return always(state, 'project');
    case 'n':
      return open({ ...state, mode: 'commenting' });
    case 'v':
      return { state, answer: undefined, showsFullCall: true };
    case 'e': {
      const json = JSON.stringify(state.question.arguments, undefined, 2);
      return open({ ...state, mode: 'editing', editor: insert(newEditor(), json) });
    }
    default:
      return open(state);
  }
}

function always(state: ApprovalState, where: 'session' | 'project'): ApprovalUpdated {
  return state.question.rule === undefined ? open(state) : { state, answer: { type: 'always', where } };
}

function edited(state: ApprovalState, text: string): ApprovalUpdated {
  const value = tryParse(text);
  if (value === undefined)
    return open({ ...state, problem: 'That is not JSON: correct it, or press Esc to go back.' });
  if (!isObject(value))
    return open({ ...state, problem: 'The arguments have to be a JSON object, as in {"path": "a.txt"}.' });
  const problem = state.question.findProblem(value);
  if (problem !== undefined) return open({ ...state, problem });
  return { state, answer: { type: 'edited', arguments: value } };
}

function open(state: ApprovalState): ApprovalUpdated {
  return { state, answer: undefined };
}

const NO_HELP: Omit<EditorContext, 'width'> = { complete: () => undefined, recognise: () => undefined };
