import { arrayOf, isObject, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import {
  type Answer,
  addUsage,
  closeBlock,
  deltaEvent,
  fillBlock,
  findBlock,
  newAnswer,
  openBlock,
  type Step,
  type StepEvent,
  start,
  trace,
} from '../answer.ts';
import type { Seal, StopReason } from '../event.ts';
import { failureIn } from '../failure.ts';
import { type Calls, NO_CALLS, readCalls } from './calls.ts';
import {
  type Chunk,
  DONE,
  finishReasonIn,
  type Frame,
  STOP_REASONS,
  textIn,
  thoughtIn,
  usageOf,
} from './wire.ts';

/**
 * The wire marks no block ends. Thoughts end where text or a call begins, text ends where a call begins, and calls stay
 * open until the finish, because their fragments may be interleaved.
 */
export interface State extends Answer {
  /** Where the vendor put its thoughts, which is where it wants them back. */
  readonly thoughtField: string;
  /** OpenRouter's structured thoughts, sent back as they came. */
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
  const ended = state.stop === undefined ? finish(state, '', out) : state;
  return [{ ...ended, done: true }, out];
}

function readChunk(state: State, chunk: Chunk, out: StepEvent[]): State {
  let next = countUsage(state, chunk);
  const error = chunk.error ?? objectOf(chunk.x_groq).error;
  if (error !== undefined && error !== null) {
    out.push({ type: 'error', ...failureIn(chunk.error ? chunk : { error }) });
    return next;
  }
  if (chunk.object === 'error') {
    out.push({ type: 'error', ...failureIn(chunk) });
    return next;
  }
  const choices = arrayOf(chunk.choices);
  // Azure's first chunk tells what its filter thinks of the prompt, and nothing of the answer.
  if (!next.started && (choices.length > 0 || chunk.id || chunk.model)) {
    next = start(next, out, { id: stringOf(chunk.id), model: stringOf(chunk.model) });
  }
  for (const choice of choices) next = readChoice(next, objectOf(choice), out);
  return next;
}

/** Usage stands beside the choices, inside the first of them, or with Groq under a name of its own. */
function countUsage(state: State, chunk: Chunk): State {
  if (isObject(chunk.usage)) return addUsage(state, usageOf(chunk.usage));
  const elsewhere = objectOf(chunk.x_groq).usage ?? objectOf(arrayOf(chunk.choices)[0]).usage;
  return isObject(elsewhere) ? addUsage(state, usageOf(elsewhere)) : state;
}

function readChoice(state: State, choice: JsonObject, out: StepEvent[]): State {
  const at = numberOf(choice.index) ?? 0;
  const delta = objectOf(choice.delta ?? choice.message);
  let next = readThought(state, at, delta, out);
  const text = textIn(delta.content);
  if (text !== '') next = readText(next, at, text, out);
  const refusal = stringOf(delta.refusal);
  if (refusal !== '') next = { ...readText(next, at, refusal, out), refused: true };
  const calls =
    delta.tool_calls ??
    (isObject(delta.function_call) ? { index: 0, function: delta.function_call } : undefined);
  if (isObject(calls) || (Array.isArray(calls) && calls.length > 0)) {
    next = readCalls(closeBlock(endThought(next, at, out), out, at), at, calls, out);
  }
  if (out.length === 0 && DROPPED.some((field) => delta[field]))
    out.push(trace('openai-chat: content of no kind we know', delta));
  const reason = finishReasonIn(choice);
  return reason === '' ? next : finish(next, reason, out);
}

/** What some vendors send beside text and calls: it is nothing that can be sent back. */
const DROPPED = ['images', 'audio', 'annotations', 'citations', 'executed_tools'] as const;

function readThought(state: State, at: number, delta: JsonObject, out: StepEvent[]): State {
  const { text, field } = thoughtIn(delta);
  let next = state;
  if (text !== '') {
    next = fillBlock(next, out, thoughtKey(at), { type: 'thinking', text }, { blockType: 'thinking' });
    if (next.thoughtField !== field) next = { ...next, thoughtField: field };
  }
  const details = arrayOf(delta.reasoning_details);
  if (details.length === 0) return next;
  // A thought that is all encrypted has no text, and still has to be sent back.
  if (findBlock(next, thoughtKey(at)) === undefined)
    next = openBlock(next, out, thoughtKey(at), { blockType: 'thinking' });
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
  return fillBlock(endThought(state, at, out), out, at, { type: 'text', text }, { blockType: 'text' });
}

function endThought(state: State, at: number, out: StepEvent[]): State {
  const key = thoughtKey(at);
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

/** Google's signatures travel this way through its compatible endpoint. */
function callSeal(state: State, key: number | string): Seal | undefined {
  const extra = state.calls.byKey[key]?.extra;
  return extra === undefined ? undefined : { wire: 'openai-chat', data: { extra_content: extra } };
}

function stopReasonOf(state: State, reason: string): StopReason {
  const known = STOP_REASONS[reason.toLowerCase()] ?? 'other';
  if (state.refused && known === 'end-turn') return 'refusal';
  // Several servers say "stop", or nothing, although they ask for tools.
  const vague = known === 'end-turn' || reason === '';
  return vague && state.callIds.length > 0 ? 'tool-use' : known;
}

const thoughtKey = (at: number): string => `${at}/thought`;
