import { arrayOf, isObject, type JsonObject, parseObject, stringOf } from '../../../base/index.ts';
import type { Approval, PodCommandOf } from '../../../pod/index.ts';
import type { Rule } from '../../../tools/index.ts';
import { callLines } from '../../output/call-lines.ts';
import { callName } from '../../output/call-name.ts';
import { numberText, type QuestionNumber } from '../../output/question-numbers.ts';
import type { ApprovalAnswer, ApprovalQuestion } from './approval-dialog.ts';

/** Converts a pending approval to the question that is shown. */
export function questionAbout(approval: Approval, number: QuestionNumber = ONLY): ApprovalQuestion {
  const { tool, title, reason, arguments: json, rule, podId, podName, deadline } = approval;
  const input = argumentsIn(json);
  const child = podId === undefined ? '' : ` (sub-agent: ${podName ?? podId})`;
  const until = deadline === undefined ? '' : ` Expires at ${deadline}.`;
  return {
    title: `${numberText(number)}${tool} wants to run: ${title}${child}`,
    name: `${numberText(number)}${callName(approval)}`,
    reason: `${reason}${until}`.trim(),
    detail: detailOf(tool, input),
    more: argumentsBeside(tool, input),
    arguments: input,
    rule: rule && `${ruleInWords(rule)}, in this session (a) or project (p)`,
    // The policy evaluates edited arguments again and returns a reason if it rejects them.
    findProblem: () => undefined,
  };
}

const ONLY: QuestionNumber = { number: 1, of: 1 };

/** Returns the command for an answer; undefined for an answer that decides nothing. */
export function decisionFor(approvalId: string, answer: ApprovalAnswer): PodCommandOf<'decide'> | undefined {
  switch (answer.type) {
    case 'once':
      return { type: 'decide', approvalId, decision: 'approve' };
    case 'always':
      return {
        type: 'decide',
        approvalId,
        decision: 'approve',
        remember: answer.where === 'session' ? 'session' : 'always',
      };
    case 'edited':
      return {
        type: 'decide',
        approvalId,
        decision: 'approve',
        updatedArguments: JSON.stringify(answer.arguments),
      };
    case 'deny': {
      const comment = answer.comment.trim();
      return { type: 'decide', approvalId, decision: 'deny', ...(comment === '' ? {} : { comment }) };
    }
    case 'later':
      return undefined;
  }
}

/** Returns the text as one argument if it is not a JSON object. */
function argumentsIn(json: string): JsonObject {
  return parseObject(json) ?? { text: json };
}

function detailOf(tool: string, input: JsonObject): ApprovalQuestion['detail'] {
  if (tool === 'bash' && typeof input.command === 'string') return { type: 'command', text: input.command };
  const edits = tool === 'edit' ? [input, ...arrayOf(input.edits)].flatMap(editLines) : [];
  if (edits.length > 0) return { type: 'diff', text: edits.join('\n') };
  if (tool === 'write' && typeof input.content === 'string')
    return { type: 'diff', text: prefixed('+', input.content).join('\n') };
  return { type: 'arguments', text: JSON.stringify(input, undefined, 2) };
}

/** The arguments that the command or the diff does not contain: the question shows all of them. */
function argumentsBeside(tool: string, input: JsonObject): readonly string[] {
  const { type } = detailOf(tool, input);
  if (type === 'arguments') return [];
  const shown = SHOWN[tool] ?? [];
  const beside = Object.entries(input).filter(([name]) => !shown.includes(name));
  const ofEdits = arrayOf(input.edits).flatMap((edit, at) =>
    Object.entries(isObject(edit) ? edit : {})
      .filter(([name]) => name !== 'old' && name !== 'new')
      .map(([name, value]) => [`edits[${at}].${name}`, value] as const),
  );
  const all = Object.fromEntries(tool === 'edit' ? [...beside, ...ofEdits] : beside);
  return Object.keys(all).length === 0 ? [] : callLines({ title: '', arguments: JSON.stringify(all) });
}

/** The arguments that the detail of a call contains, by tool. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  bash: ['command'],
  edit: ['old', 'new', 'edits'],
  write: ['content'],
};

/** The removed and added lines of an edit. */
function editLines(edit: unknown): readonly string[] {
  if (!isObject(edit) || typeof edit.old !== 'string') return [];
  return [...prefixed('-', edit.old), ...prefixed('+', stringOf(edit.new))];
}

function prefixed(sign: string, text: string): readonly string[] {
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => sign + line);
}

export function ruleInWords({ tool, command, path, host, exact }: Rule): string {
  const words = [
    tool ?? 'any tool',
    ...(command === undefined ? [] : [exact === true ? command : `${command} …`]),
  ];
  return [
    ...words,
    ...(path === undefined ? [] : [`in ${path}`]),
    ...(host === undefined ? [] : [`from ${host}`]),
  ].join(' ');
}
