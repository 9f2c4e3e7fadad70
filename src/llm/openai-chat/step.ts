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
  replaceBlock,
  type Step,
  type StepEvent,
  start,
} from '../answer.ts';
import type { Seal, StopReason } from '../event.ts';
import { errorIn, failureFrom } from '../failure.ts';
import { type Chunk, DONE, type Frame, STOP_REASONS, textIn, thoughtIn, usageOf } from './wire.ts';

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
  /** The key of the call that a fragment without index or id continues. */
  readonly lastCall: string;
}

export function initial(seed: string): State {
  return { ...newAnswer(seed), thoughtField: '', thoughtDetails: [], refused: false, lastCall: '' };
}

export function step(state: State, frame: Frame): Step<State> {
  if (frame === DONE) return [{ ...state, done: true, stop: state.stop ?? { reason: 'other' } }, []];
  const out: StepEvent[] = [];
  return [readChunk(state, frame, out), out];
}

function readChunk(state: State, chunk: Chunk, out: StepEvent[]): State {
  if (chunk.error !== undefined && chunk.error !== null) {
    out.push({ type: 'error', ...failureFrom({ kind: 'provider', ...errorIn(chunk) }) });
    return state;
  }
  let next = state.started
    ? state
    : start(state, out, { id: stringOf(chunk.id), model: stringOf(chunk.model) });
  const usage = isObject(chunk.usage) ? chunk.usage : objectOf(chunk.x_groq).usage;
  if (isObject(usage)) next = addUsage(next, usageOf(usage));
  for (const choice of arrayOf(chunk.choices)) next = readChoice(next, objectOf(choice), out);
  return next;
}

function readChoice(state: State, choice: JsonObject, out: StepEvent[]): State {
  const at = numberOf(choice.index) ?? 0;
  const delta = objectOf(choice.delta ?? choice.message);
  let next = readThought(state, at, delta, out);
  const text = textIn(delta.content);
  if (text !== '') next = readText(next, at, text, out);
  const refusal = stringOf(delta.refusal);
  if (refusal !== '') next = { ...readText(next, at, refusal, out), refused: true };
  if (delta.tool_calls)
    for (const call of arrayOf(delta.tool_calls)) next = readCall(next, at, objectOf(call), out);
  if (isObject(delta.function_call))
    next = readCall(next, at, { index: 0, function: delta.function_call }, out);
  return typeof choice.finish_reason === 'string' ? finish(next, choice.finish_reason, out) : next;
}

function readThought(state: State, at: number, delta: JsonObject, out: StepEvent[]): State {
  const { text, field } = thoughtIn(delta);
  let next = state;
  if (text !== '') {
    next = fillBlock(next, out, thoughtKey(at), { type: 'thinking', text }, { blockType: 'thinking' });
    if (next.thoughtField !== field) next = { ...next, thoughtField: field };
  }
  if (!Array.isArray(delta.reasoning_details) || delta.reasoning_details.length === 0) return next;
  return { ...next, thoughtDetails: [...next.thoughtDetails, ...delta.reasoning_details] };
}

function readText(state: State, at: number, text: string, out: StepEvent[]): State {
  const block = findBlock(state, at);
  if (block?.filled && state.open.length === 1) {
    out.push(deltaEvent(block.index, { type: 'text', text }));
    return state;
  }
  return fillBlock(endThought(state, at, out), out, at, { type: 'text', text }, { blockType: 'text' });
}

function readCall(state: State, at: number, call: JsonObject, out: StepEvent[]): State {
  const spoken = objectOf(call.function);
  const id = stringOf(call.id);
  const name = stringOf(spoken.name);
  let next = closeBlock(endThought(state, at, out), out, at);
  const key = callKey(next, at, call.index, id);
  next = makeRoom(next, key, id, name);
  if (findBlock(next, key) === undefined)
    next = openBlock(next, out, key, { blockType: 'tool-use', id, name });
  next = { ...next, lastCall: key };
  const json =
    typeof spoken.arguments === 'object' ? JSON.stringify(spoken.arguments) : stringOf(spoken.arguments);
  if (json === '' || json === 'null') return next;
  return fillBlock(next, out, key, { type: 'input-json', json }, { blockType: 'tool-use', id, name });
}

/** Calls are told apart by index; without one, by id; a fragment with neither goes on with the last call. */
function callKey(state: State, at: number, index: unknown, id: string): string {
  const number = numberOf(index);
  if (number !== undefined) return `${at}/call/${number}`;
  if (id !== '') return `${at}/call/${id}`;
  return state.lastCall === '' ? `${at}/call/0` : state.lastCall;
}

/** Some servers number all parallel calls 0: a new id with a new name is a new call, and the old one keeps what it has. */
function makeRoom(state: State, key: string, id: string, name: string): State {
  const block = findBlock(state, key);
  if (block === undefined || id === '' || name === '' || state.callIds.includes(id)) return state;
  return replaceBlock(state, { ...block, key: `${key}/${block.index}` });
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
    const seal = block.head.blockType === 'thinking' ? sealOf(state) : undefined;
    next = closeBlock(next, out, block.key, seal ? { seal, stopReason } : { stopReason });
  }
  return { ...next, stop: { reason: stopReason, providerReason: reason } };
}

function stopReasonOf(state: State, reason: string): StopReason {
  const known = STOP_REASONS[reason] ?? 'other';
  if (state.refused && known === 'end-turn') return 'refusal';
  // Several servers say "stop" although they ask for tools.
  return known === 'end-turn' && state.callIds.length > 0 ? 'tool-use' : known;
}

const thoughtKey = (at: number): string => `${at}/thought`;
