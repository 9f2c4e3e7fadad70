import { arrayOf, isObject, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import {
  type Answer,
  addUsage,
  closeBlock,
  deltaEvent,
  appendToBlock,
  findBlock,
  newAnswer,
  openBlock,
  type Step,
  type StepEvent,
  startAnswer,
  trace,
} from '../answer.ts';
import type { Seal, StopReason } from '../event.ts';
import { failureFromBody } from '../failure.ts';
import { type Calls, NO_CALLS, readCalls } from './calls.ts';
import {
  type Chunk,
  DONE,
  parseFinishReason,
  type Frame,
  STOP_REASONS,
  contentText,
  parseThinking,
  usageOf,
} from './frame.ts';

/**
 * The API does not mark the end of a block. Thinking ends where text or a call starts, text ends where a call starts, and
 * calls stay open until the finish, because their fragments may be interleaved.
 */
export interface State extends Answer {
  /** The field in which the vendor sent its thinking; it must be sent back there. */
  readonly thoughtField: string;
  /** OpenRouter's structured thinking, sent back unchanged. */
  readonly thoughtDetails: readonly unknown[];
  readonly refused: boolean;
  readonly calls: Calls;
}

export function initial(seed: string): State {
  return { ...newAnswer(seed), thoughtField: '', thoughtDetails: [], refused: false, calls: NO_CALLS };
}

export function step(state: State, frame: Frame): Step<State> {
  const out: StepEvent[] = [];
  if (frame !== DONE) return [readChunk(state, frame, out), out];
  const finished = state.stop === undefined ? finish(state, '', out) : state;
  return [{ ...finished, done: true }, out];
}

function readChunk(state: State, chunk: Chunk, out: StepEvent[]): State {
  let next = countUsage(state, chunk);
  const error = chunk.error ?? objectOf(chunk.x_groq).error;
  if (error !== undefined && error !== null) {
    out.push({ type: 'error', ...failureFromBody(chunk.error ? chunk : { error }) });
    return next;
  }
  if (chunk.object === 'error') {
    out.push({ type: 'error', ...failureFromBody(chunk) });
    return next;
  }
  const choices = arrayOf(chunk.choices);
  // Azure's first chunk holds only the result of the prompt filter.
  if (!next.started && (choices.length > 0 || chunk.id || chunk.model)) {
    next = startAnswer(next, out, { id: stringOf(chunk.id), model: stringOf(chunk.model) });
  }
  for (const choice of choices) next = readChoice(next, objectOf(choice), out);
  return next;
}

/** Usage is beside the choices, inside the first choice, or with Groq in `x_groq`. */
function countUsage(state: State, chunk: Chunk): State {
  if (isObject(chunk.usage)) return addUsage(state, usageOf(chunk.usage));
  const nested = objectOf(chunk.x_groq).usage ?? objectOf(arrayOf(chunk.choices)[0]).usage;
  return isObject(nested) ? addUsage(state, usageOf(nested)) : state;
}

function readChoice(state: State, choice: JsonObject, out: StepEvent[]): State {
  const at = numberOf(choice.index) ?? 0;
  const delta = objectOf(choice.delta ?? choice.message);
  let next = readThinking(state, at, delta, out);
  const text = contentText(delta.content);
  if (text !== '') next = readText(next, at, text, out);
  const refusal = stringOf(delta.refusal);
  if (refusal !== '') next = { ...readText(next, at, refusal, out), refused: true };
  const calls =
    delta.tool_calls ??
    (isObject(delta.function_call) ? { index: 0, function: delta.function_call } : undefined);
  if (isObject(calls) || (Array.isArray(calls) && calls.length > 0)) {
    next = readCalls(closeBlock(endThinking(next, at, out), out, at), at, calls, out);
  }
  if (out.length === 0 && IGNORED_FIELDS.some((field) => delta[field]))
    out.push(trace('openai-chat: unknown kind of content', delta));
  const reason = parseFinishReason(choice);
  return reason === '' ? next : finish(next, reason, out);
}

/** Fields that some vendors send and that cannot be sent back. */
const IGNORED_FIELDS = ['images', 'audio', 'annotations', 'citations', 'executed_tools'] as const;

function readThinking(state: State, at: number, delta: JsonObject, out: StepEvent[]): State {
  const { text, field } = parseThinking(delta);
  let next = state;
  if (text !== '') {
    next = appendToBlock(next, out, thinkingKey(at), { type: 'thinking', text }, { blockType: 'thinking' });
    if (next.thoughtField !== field) next = { ...next, thoughtField: field };
  }
  const details = arrayOf(delta.reasoning_details);
  if (details.length === 0) return next;
  // Fully encrypted thinking has no text, but must still be sent back.
  if (findBlock(next, thinkingKey(at)) === undefined)
    next = openBlock(next, out, thinkingKey(at), { blockType: 'thinking' });
  return {
    ...next,
    thoughtField: next.thoughtField || 'reasoning',
    thoughtDetails: [...next.thoughtDetails, ...details],
  };
}

function readText(state: State, at: number, text: string, out: StepEvent[]): State {
  const block = findBlock(state, at);
  if (block?.filled && state.open.length === 1) {
    out.push(deltaEvent(block.index, { type: 'text', text }));
    return state;
  }
  return appendToBlock(endThinking(state, at, out), out, at, { type: 'text', text }, { blockType: 'text' });
}

function endThinking(state: State, at: number, out: StepEvent[]): State {
  const key = thinkingKey(at);
  if (findBlock(state, key) === undefined) return state;
  const seal = sealOf(state);
  return { ...closeBlock(state, out, key, seal ? { seal } : {}), thoughtDetails: [] };
}

function sealOf(state: State): Seal | undefined {
  if (state.thoughtField === '') return undefined;
  const details = state.thoughtDetails.length === 0 ? {} : { details: state.thoughtDetails };
  return { wire: 'openai-chat', data: { field: state.thoughtField, ...details } };
}

function finish(state: State, reason: string, out: StepEvent[]): State {
  let next = state;
  const stopReason = stopReasonOf(state, reason);
  for (const block of state.open) {
    const seal = block.head.blockType === 'thinking' ? sealOf(state) : callSeal(state, block.key);
    next = closeBlock(next, out, block.key, seal ? { seal, stopReason } : { stopReason });
  }
  if (calls(state).some(({ name }) => name === ''))
    out.push(trace('openai-chat: a call without a name', state.calls));
  return { ...next, stop: { reason: stopReason, ...(reason === '' ? {} : { providerReason: reason }) } };
}

function calls(state: State) {
  return Object.values(state.calls.byKey);
}

/** Google sends its signatures this way on its compatible endpoint. */
function callSeal(state: State, key: number | string): Seal | undefined {
  const extra = state.calls.byKey[key]?.extra;
  return extra === undefined ? undefined : { wire: 'openai-chat', data: { extra_content: extra } };
}

function stopReasonOf(state: State, reason: string): StopReason {
  const known = STOP_REASONS[reason.toLowerCase()] ?? 'other';
  if (state.refused && known === 'end-turn') return 'refusal';
  // Several servers send "stop", or no reason, although the answer has tool calls.
  const isUnspecific = known === 'end-turn' || reason === '';
  return isUnspecific && state.callIds.length > 0 ? 'tool-use' : known;
}

const thinkingKey = (at: number): string => `${at}/thought`;
