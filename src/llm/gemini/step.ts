import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import {
  type Answer,
  closeBlock,
  deltaEvent,
  appendToBlock,
  findBlock,
  newAnswer,
  openBlock,
  type Step,
  type StepEvent,
  startAnswer,
} from '../answer.ts';
import type { BlockType, Seal, StopReason } from '../event.ts';
import { failureFromBody } from '../failure.ts';
import {
  assembleArgs,
  type Counters,
  type Frame,
  mergeCounters,
  type PartialArg,
  partialArgsOf,
  STOP_REASONS,
  usageOf,
} from './frame.ts';

/**
 * The API has parts, not blocks: consecutive text or thinking parts form one block, which ends at a part of another kind or
 * at a signature, since a signature belongs to exactly the part that carries it.
 */
export interface State extends Answer {
  readonly counters: Counters;
  /** The argument pieces of the call being streamed, as a linked list, newest first, so that adding one copies nothing. */
  readonly pieces: Pieces | undefined;
  /** The seal of that call: its signature and its id, if any. */
  readonly callSeal: JsonObject;
}

interface Pieces {
  readonly args: readonly PartialArg[];
  readonly before: Pieces | undefined;
}

export function initial(seed: string): State {
  return { ...newAnswer(seed), counters: {}, pieces: undefined, callSeal: {} };
}

export function step(state: State, frame: Frame): Step<State> {
  const out: StepEvent[] = [];
  return [readChunk(state, frame, out), out];
}

function readChunk(state: State, frame: Frame, out: StepEvent[]): State {
  if (frame.error !== undefined) {
    out.push({ type: 'error', ...failureFromBody(frame) });
    return state;
  }
  let next = state.started
    ? state
    : startAnswer(state, out, { id: stringOf(frame.responseId), model: stringOf(frame.modelVersion) });
  if (isObject(frame.usageMetadata)) next = countUsage(next, frame.usageMetadata);
  for (const candidate of arrayOf(frame.candidates)) next = readCandidate(next, objectOf(candidate), out);
  const blocked = objectOf(frame.promptFeedback).blockReason;
  return typeof blocked === 'string'
    ? { ...next, stop: { reason: 'content-filter', providerReason: blocked } }
    : next;
}

function countUsage(state: State, usage: JsonObject): State {
  const counters = mergeCounters(state.counters, usage);
  // Written out because this runs for every chunk, and a spread costs ten times as much.
  return {
    seed: state.seed,
    started: state.started,
    open: state.open,
    nextIndex: state.nextIndex,
    callIds: state.callIds,
    usage: usageOf(counters),
    stop: state.stop,
    done: state.done,
    counters,
    pieces: state.pieces,
    callSeal: state.callSeal,
  };
}

function readCandidate(state: State, candidate: JsonObject, out: StepEvent[]): State {
  let next = state;
  for (const part of arrayOf(objectOf(candidate.content).parts)) next = readPart(next, objectOf(part), out);
  return typeof candidate.finishReason === 'string' ? finish(next, candidate.finishReason, out) : next;
}

function readPart(state: State, part: JsonObject, out: StepEvent[]): State {
  const signature = stringOf(part.thoughtSignature);
  if (isObject(part.functionCall)) return readCall(state, part.functionCall, signature, out);
  if (typeof part.text === 'string') {
    return readText(state, part.thought === true ? 'thinking' : 'text', part.text, signature, out);
  }
  if (signature !== '' && Object.keys(part).length === 1) return readText(state, 'text', '', signature, out);
  return readOpaque(state, part, out);
}

function readText(
  state: State,
  blockType: 'text' | 'thinking',
  text: string,
  signature: string,
  out: StepEvent[],
): State {
  const block = findBlock(state, blockType);
  if (block?.filled && signature === '' && state.open.length === 1) {
    if (text !== '') out.push(deltaEvent(block.index, { type: blockType, text }));
    return state;
  }
  if (text === '' && signature === '') return state;
  let next = endCall(endOthers(state, blockType, out), out);
  if (findBlock(next, blockType) === undefined) next = openBlock(next, out, blockType, { blockType });
  if (text !== '') next = appendToBlock(next, out, blockType, { type: blockType, text }, { blockType });
  return signature === '' ? next : closeBlock(next, out, blockType, { seal: signatureSeal(signature) });
}

function readCall(state: State, call: JsonObject, signature: string, out: StepEvent[]): State {
  const name = stringOf(call.name);
  const openCall = findBlock(state, CALL);
  let next = endOthers(state, 'tool-use', out);
  if (name !== '' || (openCall === undefined && hasArguments(call))) {
    const id = stringOf(call.id);
    next = openBlock(endCall(next, out), out, CALL, { blockType: 'tool-use', id, name });
    next = { ...next, callSeal: id === '' ? {} : { id } };
  }
  if (findBlock(next, CALL) === undefined) return next;
  if (signature !== '') next = { ...next, callSeal: { ...next.callSeal, signature } };
  if (isObject(call.args)) {
    next = appendToBlock(next, out, CALL, { type: 'input-json', json: JSON.stringify(call.args) }, CALL_HEAD);
  }
  const args = partialArgsOf(call);
  if (args.length > 0) next = { ...next, pieces: { args, before: next.pieces } };
  return call.willContinue === true ? next : endCall(next, out);
}

/** Emits streamed arguments at the end of the call, because the order of the paths is known only then. */
function endCall(state: State, out: StepEvent[]): State {
  const block = findBlock(state, CALL);
  if (block === undefined) return state;
  let next = state;
  if (state.pieces !== undefined && !block.filled) {
    const json = JSON.stringify(assembleArgs(piecesInOrder(state.pieces)));
    next = appendToBlock(next, out, CALL, { type: 'input-json', json }, CALL_HEAD);
  }
  next = closeBlock(next, out, CALL, { seal: { wire: 'gemini', data: state.callSeal } });
  return { ...next, pieces: undefined, callSeal: {} };
}

function piecesInOrder(newest: Pieces): readonly PartialArg[] {
  const lists: (readonly PartialArg[])[] = [];
  for (let at: Pieces | undefined = newest; at !== undefined; at = at.before) lists.push(at.args);
  return lists.toReversed().flat();
}

/** Code that the provider ran, its output, inline files: kept unchanged as opaque blocks. */
function readOpaque(state: State, part: JsonObject, out: StepEvent[]): State {
  const name = Object.keys(part).find((key) => key !== 'thought' && key !== 'thoughtSignature');
  if (name === undefined) return state;
  const next = openBlock(endCall(endOthers(state, 'opaque', out), out), out, 'opaque', {
    blockType: 'opaque',
    name,
  });
  return closeBlock(next, out, 'opaque', { seal: { wire: 'gemini', data: { part } } });
}

function endOthers(state: State, keep: BlockType, out: StepEvent[]): State {
  let next = state;
  if (keep !== 'thinking') next = closeBlock(next, out, 'thinking');
  return keep === 'text' ? next : closeBlock(next, out, 'text');
}

/** Some servers send a reason with every chunk, so text blocks stay open until the end of the answer. */
function finish(state: State, reason: string, out: StepEvent[]): State {
  if (reason === 'FINISH_REASON_UNSPECIFIED') return state;
  const next = endCall(state, out);
  return { ...next, stop: { reason: stopReasonOf(next, reason), providerReason: reason } };
}

function stopReasonOf(state: State, reason: string): StopReason {
  const known = STOP_REASONS[reason] ?? 'other';
  return known === 'end-turn' && state.callIds.length > 0 ? 'tool-use' : known;
}

function hasArguments(call: JsonObject): boolean {
  return isObject(call.args) || Array.isArray(call.partialArgs);
}

function signatureSeal(signature: string): Seal {
  return { wire: 'gemini', data: { signature } };
}

const CALL = 'call';
const CALL_HEAD = { blockType: 'tool-use', id: '', name: '' } as const;
