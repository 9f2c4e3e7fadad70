import { tryParse } from '../../base/index.ts';
import {
  type Answer,
  CHUNK_SIZE,
  generatedText,
  layPace,
  type Pace,
  type Part,
  type Stop,
  STOPS,
} from './answer.ts';
import { badDirective, numberFor, oneOf, type Values, valuesIn } from './directive-text.ts';
import { FAULT_KINDS, type Fault } from './fault.ts';
import { lastUserText, type SimRequest } from '../request.ts';

/** The parts of an answer that a directive names; what it leaves out is the script's. */
export interface Directive {
  readonly parts: readonly Part[] | undefined;
  readonly stop: Stop | undefined;
  readonly pace: Pace;
  readonly interleave: boolean;
  readonly fault: Fault | undefined;
}

/** Undefined without a directive; throws `bad-request` for one that cannot be read. */
export function directiveOf(request: SimRequest): Directive | undefined {
  const values = valuesIn(lastUserText(request));
  if (values === undefined) return undefined;
  const answering = request.messages.at(-1)?.role === 'tool' || !values.has('tool');
  return {
    parts: answering ? answerParts(values) : callParts(values),
    stop: oneOf(values, 'stop', STOPS),
    pace: {
      chunkSize: numberFor(values, 'size'),
      delayMs: numberFor(values, 'delay'),
      batch: numberFor(values, 'batch'),
    },
    interleave: values.get('interleave') === '1',
    fault: faultOf(values),
  };
}

/** The script's answer with the directive laid over it. */
export function directed(answer: Answer, directive: Directive): Answer {
  return {
    ...answer,
    stop: directive.stop ?? answer.stop,
    fault: directive.fault ?? answer.fault,
    pace: layPace(answer.pace, directive.pace),
    interleave: directive.interleave || (answer.interleave ?? false),
  };
}

function answerParts(values: Values): readonly Part[] | undefined {
  const text = values.get('text') ?? generated(values) ?? (values.has('tool') ? 'Done.' : undefined);
  const parts = [...thought(values), ...(text === undefined ? [] : [{ text }])];
  return parts.length === 0 ? undefined : parts;
}

function callParts(values: Values): readonly Part[] {
  const args = values.get('args');
  const parsed = args === undefined ? {} : tryParse(args);
  if (parsed === undefined) throw badDirective(`args=${args} is not valid JSON`);
  const toolCall = { name: values.get('tool') ?? '', arguments: parsed };
  return [
    ...thought(values),
    ...Array.from({ length: numberFor(values, 'calls') ?? 1 }, () => ({ toolCall })),
  ];
}

function thought(values: Values): readonly Part[] {
  const thinking = values.get('thinking');
  return thinking === undefined ? [] : [{ thinking }];
}

function generated(values: Values): string | undefined {
  const deltas = numberFor(values, 'deltas');
  return deltas === undefined ? undefined : generatedText(deltas * (numberFor(values, 'size') ?? CHUNK_SIZE));
}

function faultOf(values: Values): Fault | undefined {
  const kind = oneOf(values, 'fault', FAULT_KINDS);
  if (kind === undefined) return undefined;
  return {
    kind,
    after: numberFor(values, 'after'),
    times: numberFor(values, 'times'),
    retryAfterSeconds: numberFor(values, 'retry-after'),
    everyMs: numberFor(values, 'every'),
    bytes: numberFor(values, 'bytes'),
  };
}
