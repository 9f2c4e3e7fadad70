import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
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
} from '../answer.ts';
import { createFailure } from '../failure.ts';
import { argumentsOf, type Frame, STOP_REASONS, usageOf } from './frame.ts';

/** Text and thinking arrive as pieces without start or end, calls arrive complete. */
export type State = Answer;

export function initial(seed: string): State {
  return newAnswer(seed);
}

export function step(state: State, frame: Frame): Step<State> {
  const out: StepEvent[] = [];
  return [readLine(state, frame, out), out];
}

function readLine(state: State, frame: Frame, out: StepEvent[]): State {
  if (typeof frame.error === 'string') {
    out.push({ type: 'error', ...createFailure({ kind: 'provider', message: frame.error }) });
    return state;
  }
  const message = objectOf(frame.message);
  let next = startAnswer(state, out, { model: stringOf(frame.model) });
  next = readText(next, 'thinking', stringOf(message.thinking), out);
  next = readText(next, 'text', stringOf(message.content), out);
  if (message.tool_calls)
    for (const call of arrayOf(message.tool_calls)) next = readCall(next, objectOf(call), out);
  return frame.done === true ? finish(next, frame, out) : next;
}

function readText(state: State, blockType: 'text' | 'thinking', text: string, out: StepEvent[]): State {
  if (text === '') return state;
  const block = findBlock(state, blockType);
  if (block?.filled) {
    out.push(deltaEvent(block.index, { type: blockType, text }));
    return state;
  }
  const next = blockType === 'text' ? endThinking(state, out) : closeBlock(state, out, 'text');
  return appendToBlock(next, out, blockType, { type: blockType, text }, { blockType });
}

/** Thinking is not signed; the seal only records that it may be sent back to Ollama. */
function endThinking(state: State, out: StepEvent[]): State {
  return closeBlock(state, out, 'thinking', { seal: { wire: 'ollama', data: {} } });
}

function readCall(state: State, call: JsonObject, out: StepEvent[]): State {
  const functionCall = objectOf(call.function);
  const head = { blockType: 'tool-use', id: stringOf(call.id), name: stringOf(functionCall.name) } as const;
  let next = closeBlock(endThinking(state, out), out, 'text');
  next = openBlock(next, out, 'call', head);
  const json = argumentsOf(functionCall);
  if (json !== '') next = appendToBlock(next, out, 'call', { type: 'input-json', json }, head);
  return closeBlock(next, out, 'call');
}

function finish(state: State, frame: Frame, out: StepEvent[]): State {
  const providerReason = stringOf(frame.done_reason);
  const known = providerReason === '' ? 'end-turn' : (STOP_REASONS[providerReason] ?? 'other');
  const reason = known === 'end-turn' && state.callIds.length > 0 ? 'tool-use' : known;
  let next = addUsage(endThinking(state, out), usageOf(frame));
  next = closeBlock(next, out, 'text', { stopReason: reason });
  return { ...next, done: true, stop: { reason, ...(providerReason === '' ? {} : { providerReason }) } };
}
