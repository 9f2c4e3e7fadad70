import { arrayOf, isObject, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import {
  type Answer,
  addUsage,
  closeBlock,
  deltaEvent,
  fillBlock,
  findBlock,
  isEmpty,
  newAnswer,
  openBlock,
  type Step,
  type StepEvent,
  start,
  trace,
} from '../answer.ts';
import type { BlockHead, DeltaContent, Seal } from '../event.ts';
import { errorIn, failureFrom } from '../failure.ts';
import { callIdOf, type Frame, INCOMPLETE_REASONS, isItemProgress, SILENT, usageOf } from './wire.ts';

/** Blocks are keyed by output index and part; each summary part of a reasoning item is a thinking block of its own. */
export interface State extends Answer {
  readonly refused: boolean;
}

export function initial(seed: string): State {
  return { ...newAnswer(seed), refused: false };
}

export function step(state: State, frame: Frame): Step<State> {
  const out: StepEvent[] = [];
  switch (frame.type) {
    case 'response.output_text.delta':
      return [fill(state, textKey(frame), { type: 'text', text: stringOf(frame.delta) }, out), out];
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return [fill(state, itemKey(frame), { type: 'input-json', json: stringOf(frame.delta) }, out), out];
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return [fillThought(state, frame, stringOf(frame.delta), out), out];
    default:
      return [dispatch(state, frame, out), out];
  }
}

function dispatch(state: State, frame: Frame, out: StepEvent[]): State {
  switch (frame.type) {
    case 'response.created':
      return responseStart(state, objectOf(frame.response), out);
    case 'response.output_item.added':
      return itemAdded(start(state, out, {}), frame, objectOf(frame.item), out);
    case 'response.output_item.done':
      return itemDone(state, frame, objectOf(frame.item), out);
    case 'response.content_part.added':
      return partAdded(state, frame, objectOf(frame.part), out);
    case 'response.content_part.done':
      return partDone(state, frame, out);
    case 'response.output_text.done':
      return fillWhole(state, textKey(frame), { type: 'text', text: stringOf(frame.text) }, out);
    case 'response.refusal.delta':
      return {
        ...fill(state, textKey(frame), { type: 'text', text: stringOf(frame.delta) }, out),
        refused: true,
      };
    case 'response.refusal.done':
      return {
        ...fillWhole(state, textKey(frame), { type: 'text', text: stringOf(frame.refusal) }, out),
        refused: true,
      };
    case 'response.reasoning_summary_part.added':
      return nextThought(state, frame, out);
    case 'response.function_call_arguments.done':
      return fillWhole(state, itemKey(frame), { type: 'input-json', json: stringOf(frame.arguments) }, out);
    case 'response.custom_tool_call_input.done':
      return fillWhole(state, itemKey(frame), { type: 'input-json', json: stringOf(frame.input) }, out);
    case 'response.completed':
    case 'response.incomplete':
      return responseEnd(start(state, out, {}), frame.type, objectOf(frame.response), out);
    case 'response.failed':
    case 'response.cancelled':
    case 'error':
      return failed(state, frame, out);
    case 'keepalive':
      out.push({ type: 'ping' });
      return state;
    case 'done':
      return { ...state, done: true };
    default:
      return other(state, frame, out);
  }
}

function other(state: State, frame: Frame, out: StepEvent[]): State {
  const type = stringOf(frame.type);
  if (!SILENT.has(type) && !isItemProgress(type))
    out.push(trace(`openai-responses: unknown event ${type}`, frame));
  return state;
}

function responseStart(state: State, response: JsonObject, out: StepEvent[]): State {
  return start(state, out, { id: stringOf(response.id), model: stringOf(response.model) });
}

function itemAdded(state: State, frame: Frame, item: JsonObject, out: StepEvent[]): State {
  const head = headOf(item);
  return head === undefined ? state : openBlock(state, out, itemKey(frame), head);
}

/** Messages and reasoning open blocks with their parts; calls and everything the provider does itself are one block. */
function headOf(item: JsonObject): BlockHead | undefined {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return undefined;
    case 'function_call':
    case 'custom_tool_call':
      return { blockType: 'tool-use', id: callIdOf(item), name: stringOf(item.name) };
    default:
      return { blockType: 'opaque', name: stringOf(item.type) };
  }
}

function itemDone(state: State, frame: Frame, item: JsonObject, out: StepEvent[]): State {
  if (item.type === 'message') return closeParts(state, frame, out);
  if (item.type === 'reasoning') return reasoningDone(state, frame, item, out);
  const key = itemKey(frame);
  const head = headOf(item);
  let next = start(state, out, {});
  if (findBlock(next, key) === undefined && head) next = openBlock(next, out, key, head);
  if (head?.blockType === 'opaque') return closeBlock(next, out, key, { seal: sealed({ item }) });
  const whole = stringOf(item.arguments) || stringOf(item.input);
  next = fillWhole(next, key, { type: 'input-json', json: whole }, out);
  return closeBlock(
    next,
    out,
    key,
    item.type === 'custom_tool_call' ? { seal: sealed({ custom: true }) } : {},
  );
}

function reasoningDone(state: State, frame: Frame, item: JsonObject, out: StepEvent[]): State {
  const { id, summary, content, encrypted_content } = item;
  const kept = isObject(content) || Array.isArray(content) ? { content } : {};
  const seal = sealed({
    id,
    summary: summary ?? [],
    ...kept,
    ...(encrypted_content ? { encrypted_content } : {}),
  });
  // The last part carries what has to be sent back; reasoning without any part still has to be.
  let next = start(state, out, {});
  if (findBlock(next, thoughtKey(frame)) === undefined) {
    next = openBlock(next, out, thoughtKey(frame), { blockType: 'thinking' });
  }
  return closeBlock(next, out, thoughtKey(frame), { seal });
}

function partAdded(state: State, frame: Frame, part: JsonObject, out: StepEvent[]): State {
  if (part.type === 'reasoning_text') return nextThought(state, frame, out);
  if (part.type !== 'output_text' && part.type !== 'refusal') {
    out.push(trace(`openai-responses: unknown part ${stringOf(part.type)}`, frame));
    return state;
  }
  const next = openBlock(start(state, out, {}), out, textKey(frame), { blockType: 'text' });
  return fill(next, textKey(frame), { type: 'text', text: stringOf(part.text) }, out);
}

function partDone(state: State, frame: Frame, out: StepEvent[]): State {
  return objectOf(frame.part).type === 'reasoning_text' ? state : closeBlock(state, out, textKey(frame));
}

function closeParts(state: State, frame: Frame, out: StepEvent[]): State {
  const mine = `${itemKey(frame)}/text/`;
  let next = state;
  for (const { key } of state.open) {
    if (typeof key === 'string' && key.startsWith(mine)) next = closeBlock(next, out, key);
  }
  return next;
}

/** A further summary part ends the one before; the last one stays open for the item's end, which brings its seal. */
function nextThought(state: State, frame: Frame, out: StepEvent[]): State {
  const key = thoughtKey(frame);
  const next = closeBlock(start(state, out, {}), out, key);
  return openBlock(next, out, key, { blockType: 'thinking' });
}

function fillThought(state: State, frame: Frame, text: string, out: StepEvent[]): State {
  return fill(state, thoughtKey(frame), { type: 'thinking', text }, out);
}

function fill(state: State, key: string, content: DeltaContent, out: StepEvent[]): State {
  if (isEmpty(content)) return state;
  const block = findBlock(state, key);
  if (block?.filled) {
    out.push(deltaEvent(block.index, content));
    return state;
  }
  return fillBlock(start(state, out, {}), out, key, content, impliedHead(content));
}

function impliedHead(content: DeltaContent): BlockHead {
  return content.type === 'input-json'
    ? { blockType: 'tool-use', id: '', name: '' }
    : { blockType: content.type };
}

/** The `done` events repeat the whole value: it counts only where no delta came, and only for a block that is open. */
function fillWhole(state: State, key: string, content: DeltaContent, out: StepEvent[]): State {
  const block = findBlock(state, key);
  if (block === undefined || block.filled) return state;
  return fill(state, key, content, out);
}

function responseEnd(state: State, type: string, response: JsonObject, out: StepEvent[]): State {
  let next = isObject(response.usage) ? addUsage(state, usageOf(response.usage)) : state;
  // Some gateways answer in one piece: then all there is stands in the last event.
  if (next.nextIndex === 0) {
    for (const [at, item] of arrayOf(response.output).entries())
      next = wholeItem(next, at, objectOf(item), out);
  }
  return {
    ...next,
    done: true,
    stop: type === 'response.incomplete' ? incompleteStop(response) : completedStop(next),
  };
}

function wholeItem(state: State, at: number, item: JsonObject, out: StepEvent[]): State {
  let next = state;
  if (item.type === 'message') {
    for (const [part, content] of arrayOf(item.content).entries()) {
      const text = stringOf(objectOf(content).text) || stringOf(objectOf(content).refusal);
      next = fill(next, textKey({ output_index: at, content_index: part }), { type: 'text', text }, out);
    }
  }
  return itemDone(next, { output_index: at }, item, out);
}

function incompleteStop(response: JsonObject) {
  const reason = stringOf(objectOf(response.incomplete_details).reason);
  return { reason: INCOMPLETE_REASONS[reason] ?? 'other', providerReason: reason || 'incomplete' } as const;
}

function completedStop(state: State) {
  if (state.refused) return { reason: 'refusal', providerReason: 'completed' } as const;
  return { reason: state.callIds.length > 0 ? 'tool-use' : 'end-turn', providerReason: 'completed' } as const;
}

function failed(state: State, frame: Frame, out: StepEvent[]): State {
  const response = objectOf(frame.response);
  const about = frame.type === 'error' ? (isObject(frame.error) ? frame : { error: frame }) : response;
  const { message, code } = errorIn(about);
  out.push({ type: 'error', ...failureFrom({ kind: kindOf(code), message, code }) });
  return isObject(response.usage) ? addUsage(state, usageOf(response.usage)) : state;
}

function kindOf(code: string) {
  if (code === 'rate_limit_exceeded') return 'rate-limit';
  if (code === 'server_is_overloaded' || code === 'slow_down') return 'overloaded';
  return code.startsWith('invalid_') ? 'invalid-request' : 'provider';
}

function sealed(data: JsonObject): Seal {
  return { wire: 'openai-responses', data };
}

const itemKey = (frame: Frame): string => `${numberOf(frame.output_index) ?? 0}`;
const textKey = (frame: Frame): string =>
  `${numberOf(frame.output_index) ?? 0}/text/${numberOf(frame.content_index) ?? 0}`;
const thoughtKey = (frame: Frame): string => `${numberOf(frame.output_index) ?? 0}/thought`;
