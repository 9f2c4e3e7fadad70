import { tryParse } from '../../base/index.ts';
import {
  type SimAnswer,
  CHUNK_SIZE,
  generatedText,
  mergePace,
  type Pace,
  type Part,
  type Stop,
  STOPS,
} from './answer.ts';
import {
  badDirective,
  numberValue,
  choiceValue,
  type DirectiveValues,
  parseDirectiveText,
} from './directive-text.ts';
import { FAULT_KINDS, type Fault } from './fault.ts';
import { lastUserText, type SimRequest } from '../request.ts';

/** The parts of an answer that a directive sets; the script provides the rest. */
export interface Directive {
  readonly parts: readonly Part[] | undefined;
  readonly stop: Stop | undefined;
  readonly pace: Pace;
  readonly interleave: boolean;
  readonly fault: Fault | undefined;
}

/** Returns undefined without a directive; throws `bad-request` for an invalid one. */
export function requestDirective(request: SimRequest): Directive | undefined {
  const values = parseDirectiveText(lastUserText(request));
  if (values === undefined) return undefined;
  const answering = request.messages.at(-1)?.role === 'tool' || !values.has('tool');
  return {
    parts: answering ? answerParts(values) : callParts(values),
    stop: choiceValue(values, 'stop', STOPS),
    pace: {
      chunkSize: numberValue(values, 'size'),
      delayMs: numberValue(values, 'delay'),
      batch: numberValue(values, 'batch'),
    },
    interleave: values.get('interleave') === '1',
    fault: parseFault(values),
  };
}

/** Applies a directive to the script's answer. */
export function applyDirective(answer: SimAnswer, directive: Directive): SimAnswer {
  return {
    ...answer,
    stop: directive.stop ?? answer.stop,
    fault: directive.fault ?? answer.fault,
    pace: mergePace(answer.pace, directive.pace),
    interleave: directive.interleave || (answer.interleave ?? false),
  };
}

function answerParts(values: DirectiveValues): readonly Part[] | undefined {
  const text = values.get('text') ?? generatedAnswer(values) ?? (values.has('tool') ? 'Done.' : undefined);
  const parts = [...thinkingParts(values), ...(text === undefined ? [] : [{ text }])];
  return parts.length === 0 ? undefined : parts;
}

function callParts(values: DirectiveValues): readonly Part[] {
  const args = values.get('args');
  const parsed = args === undefined ? {} : tryParse(args);
  if (parsed === undefined) throw badDirective(`args=${args} is not valid JSON`);
  const toolCall = { name: values.get('tool') ?? '', arguments: parsed };
  return [
    ...thinkingParts(values),
    ...Array.from({ length: numberValue(values, 'calls') ?? 1 }, () => ({ toolCall })),
  ];
}

function thinkingParts(values: DirectiveValues): readonly Part[] {
  const thinking = values.get('thinking');
  return thinking === undefined ? [] : [{ thinking }];
}

function generatedAnswer(values: DirectiveValues): string | undefined {
  const deltas = numberValue(values, 'deltas');
  return deltas === undefined
    ? undefined
    : generatedText(deltas * (numberValue(values, 'size') ?? CHUNK_SIZE));
}

function parseFault(values: DirectiveValues): Fault | undefined {
  const kind = choiceValue(values, 'fault', FAULT_KINDS);
  if (kind === undefined) return undefined;
  return {
    kind,
    after: numberValue(values, 'after'),
    times: numberValue(values, 'times'),
    retryAfterSeconds: numberValue(values, 'retry-after'),
    everyMs: numberValue(values, 'every'),
    bytes: numberValue(values, 'bytes'),
  };
}
