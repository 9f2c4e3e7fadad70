import { arrayOf, isObject, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import {
  type Answer,
  abortBlock,
  addUsage,
  closeBlock,
  deltaEvent,
  appendToBlock,
  findBlock,
  isEmptyDelta,
  newAnswer,
  openBlock,
  type Step,
  type StepEvent,
  startAnswer,
  trace,
} from '../answer.ts';
import type { BlockHead, DeltaContent, Seal } from '../event.ts';
import { failureFromBody } from '../failure.ts';
import {
  callIdOf,
  extraFields,
  type Frame,
  INCOMPLETE_REASONS,
  itemIds,
  isItemProgress,
  hasOnlyProviderTools,
  IGNORED_EVENTS,
  usageOf,
} from './frame.ts';

/** Blocks are keyed by item and part. Each summary part of a reasoning item is a separate thinking block. */
export interface State extends Answer {
  readonly refused: boolean;
  /** The request offered only tools that the provider runs, so function calls are opaque blocks. */
  readonly providerToolsOnly: boolean;
  /** The keys of items by id, for servers that omit the index. */
  readonly keys: Readonly<Record<string, string>>;
  /** The parts that already have a block; the finished item repeats all of its parts. */
  readonly seenParts: Readonly<Record<string, true>>;
  /** Arguments of calls that have not started yet, by key. */
  readonly pendingArguments: Readonly<Record<string, string>>;
}

export function initial(seed: string): State {
  return {
    ...newAnswer(seed),
    refused: false,
    providerToolsOnly: false,
    keys: {},
    seenParts: {},
    pendingArguments: {},
  };
}

export function step(state: State, frame: Frame): Step<State> {
  const out: StepEvent[] = [];
  switch (frame.type) {
    case 'response.output_text.delta':
      return [fill(state, textKey(state, frame), { type: 'text', text: stringOf(frame.delta) }, out), out];
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return [fillCall(state, itemKey(state, frame), stringOf(frame.delta), out), out];
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return [fillThinking(state, frame, stringOf(frame.delta), out), out];
    default:
      return [dispatch(state, frame, out), out];
  }
}

function dispatch(state: State, frame: Frame, out: StepEvent[]): State {
  switch (frame.type) {
    case 'response.created':
      return responseStart(state, objectOf(frame.response), out);
    case 'response.output_item.added':
      return itemAdded(startAnswer(state, out, {}), frame, objectOf(frame.item), out);
    case 'response.output_item.done':
      return itemDone(startAnswer(state, out, {}), frame, objectOf(frame.item), out);
    case 'response.content_part.added':
      return partAdded(state, frame, objectOf(frame.part), out);
    case 'response.content_part.done':
      return partDone(state, frame, out);
    case 'response.output_text.done':
      return fillTextIfNew(state, textKey(state, frame), { type: 'text', text: stringOf(frame.text) }, out);
    case 'response.refusal.delta':
      return markRefused(
        fill(state, textKey(state, frame), { type: 'text', text: stringOf(frame.delta) }, out),
      );
    case 'response.refusal.done':
      return markRefused(
        fillTextIfNew(state, textKey(state, frame), { type: 'text', text: stringOf(frame.refusal) }, out),
      );
    case 'response.reasoning_summary_part.added':
      return nextSummaryPart(state, frame, out);
    case 'response.function_call_arguments.done':
      return fillIfEmpty(state, itemKey(state, frame), stringOf(frame.arguments), out);
    case 'response.custom_tool_call_input.done':
      return fillIfEmpty(state, itemKey(state, frame), stringOf(frame.input), out);
    case 'response.completed':
    case 'response.incomplete':
    case 'response.done':
      return responseEnd(startAnswer(state, out, {}), objectOf(frame.response), out);
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
      return unknownEvent(state, frame, out);
  }
}

function unknownEvent(state: State, frame: Frame, out: StepEvent[]): State {
  if (frame.object === 'response')
    return responseEnd(responseStart(state, objectOf(frame), out), objectOf(frame), out);
  // Errors of gateways have no type.
  if (frame.error) return failed(state, frame, out);
  const type = stringOf(frame.type);
  if (!IGNORED_EVENTS.has(type) && !isItemProgress(type))
    out.push(trace(`openai-responses: unknown event ${type}`, frame));
  return state;
}

function responseStart(state: State, response: JsonObject, out: StepEvent[]): State {
  const next = startAnswer(state, out, { id: stringOf(response.id), model: stringOf(response.model) });
  return hasOnlyProviderTools(response.tools) ? { ...next, providerToolsOnly: true } : next;
}

function itemAdded(state: State, frame: Frame, item: JsonObject, out: StepEvent[]): State {
  const next = registerIds(state, frame, item);
  const key = itemKey(next, frame);
  const head = headOf(next, item);
  return head === undefined ? next : openItem(next, key, head, out);
}

/** Maps the item's ids to its key. */
function registerIds(state: State, frame: Frame, item: JsonObject): State {
  const key = numberOf(frame.output_index) ?? itemIds(item)[0] ?? Object.keys(state.keys).length;
  const ids = Object.fromEntries(itemIds(item).map((id) => [id, `${key}`]));
  return { ...state, keys: { ...state.keys, ...ids } };
}

function openItem(state: State, key: string, head: BlockHead, out: StepEvent[]): State {
  const { [key]: early = '', ...others } = state.pendingArguments;
  const next = { ...open(state, key, head, out), early: others };
  return early === '' ? next : fill(next, key, { type: 'input-json', json: early }, out);
}

/** Messages and reasoning open a block per part; calls and everything that the provider runs are one block each. */
function headOf(state: State, item: JsonObject): BlockHead | undefined {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return undefined;
    case 'function_call':
    case 'custom_tool_call':
      if (state.providerToolsOnly) return { blockType: 'opaque', name: stringOf(item.name) };
      return { blockType: 'tool-use', id: callIdOf(item), name: stringOf(item.name) };
    default:
      return { blockType: 'opaque', name: stringOf(item.type) };
  }
}

function itemDone(state: State, frame: Frame, item: JsonObject, out: StepEvent[]): State {
  const known = registerIds(state, frame, item);
  const key = itemKey(known, frame);
  if (item.type === 'message') return messageDone(known, key, item, out);
  if (item.type === 'reasoning') return reasoningDone(known, key, item, out);
  const head = headOf(known, item);
  if (head === undefined) return known;
  let next = abortIfTypeChanged(known, key, head, out);
  if (findBlock(next, key) === undefined) next = openItem(next, key, head, out);
  if (head.blockType === 'opaque') return closeBlock(next, out, key, { seal: sealed({ item }) });
  next = fillIfEmpty(next, key, stringOf(item.arguments) || stringOf(item.input), out);
  const extras = extraFields(item);
  return closeBlock(next, out, key, Object.keys(extras).length === 0 ? {} : { seal: sealed(extras) });
}

/** Aborts a block that started as a call but turns out to be one that the provider ran. */
function abortIfTypeChanged(state: State, key: string, head: BlockHead, out: StepEvent[]): State {
  const block = findBlock(state, key);
  if (block === undefined || block.head.blockType === head.blockType) return state;
  const next = abortBlock(state, out, key, `it became ${'name' in head ? head.name : head.blockType}`);
  const { head: old } = block;
  if (old.blockType !== 'tool-use') return next;
  return { ...next, callIds: next.callIds.filter((id) => id !== old.id) };
}

function messageDone(state: State, key: string, item: JsonObject, out: StepEvent[]): State {
  let next = state;
  for (const [at, part] of arrayOf(item.content).entries()) {
    const { text, refusal } = objectOf(part);
    next = fillTextIfNew(
      next,
      partKey(key, at),
      { type: 'text', text: stringOf(text) || stringOf(refusal) },
      out,
    );
    if (refusal) next = markRefused(next);
  }
  const ending = item.phase === undefined ? {} : { seal: sealed({ phase: item.phase }) };
  for (const block of next.open) {
    if (String(block.key).startsWith(`${key}/text/`)) next = closeBlock(next, out, block.key, ending);
  }
  return next;
}

function reasoningDone(state: State, key: string, item: JsonObject, out: StepEvent[]): State {
  let next = state;
  for (const [at, part] of arrayOf(item.summary).entries()) {
    if (next.seenParts[summaryKey(key, at)]) continue;
    next = openThinking(next, key, at, out);
    next = fill(next, thinkingKey(key), { type: 'thinking', text: stringOf(objectOf(part).text) }, out);
  }
  // The seal is attached to the last part. Reasoning without parts needs an empty block for its seal.
  if (findBlock(next, thinkingKey(key)) === undefined)
    next = open(next, thinkingKey(key), { blockType: 'thinking' }, out);
  return closeBlock(next, out, thinkingKey(key), { seal: sealed(reasoningData(item)) });
}

function reasoningData({ id, summary, content, encrypted_content }: JsonObject): JsonObject {
  const contentField = Array.isArray(content) && content.length > 0 ? { content } : {};
  return { id, summary: summary ?? [], ...contentField, ...(encrypted_content ? { encrypted_content } : {}) };
}

function partAdded(state: State, frame: Frame, part: JsonObject, out: StepEvent[]): State {
  if (part.type === 'reasoning_text') return nextSummaryPart(state, frame, out);
  if (part.type !== 'output_text' && part.type !== 'refusal') {
    out.push(trace(`openai-responses: unknown part ${stringOf(part.type)}`, frame));
    return state;
  }
  const key = textKey(state, frame);
  const next = open(startAnswer(state, out, {}), key, { blockType: 'text' }, out);
  return fill(next, key, { type: 'text', text: stringOf(part.text) }, out);
}

/** Keeps the block open: the end of the message may bring a seal. */
function partDone(state: State, frame: Frame, out: StepEvent[]): State {
  const part = objectOf(frame.part);
  if (part.type === 'reasoning_text') return state;
  const text = stringOf(part.text) || stringOf(part.refusal);
  return fillTextIfNew(state, textKey(state, frame), { type: 'text', text }, out);
}

/** Starts the next summary part and closes the previous one. The last one stays open for the seal at the end of the item. */
function nextSummaryPart(state: State, frame: Frame, out: StepEvent[]): State {
  const at = numberOf(frame.summary_index) ?? numberOf(frame.content_index) ?? 0;
  return openThinking(startAnswer(state, out, {}), itemKey(state, frame), at, out);
}

function openThinking(state: State, key: string, at: number, out: StepEvent[]): State {
  const next = open(
    closeBlock(state, out, thinkingKey(key)),
    thinkingKey(key),
    { blockType: 'thinking' },
    out,
  );
  return { ...next, seenParts: { ...next.seenParts, [summaryKey(key, at)]: true } };
}

function fillThinking(state: State, frame: Frame, text: string, out: StepEvent[]): State {
  const key = itemKey(state, frame);
  if (findBlock(state, thinkingKey(key)) === undefined && text !== '') {
    return fill(nextSummaryPart(state, frame, out), thinkingKey(key), { type: 'thinking', text }, out);
  }
  return fill(state, thinkingKey(key), { type: 'thinking', text }, out);
}

/** Buffers arguments until their call starts, because its name is unknown until then. */
function fillCall(state: State, key: string, json: string, out: StepEvent[]): State {
  if (findBlock(state, key) !== undefined) return fill(state, key, { type: 'input-json', json }, out);
  return {
    ...state,
    pendingArguments: { ...state.pendingArguments, [key]: (state.pendingArguments[key] ?? '') + json },
  };
}

function fill(state: State, key: string, content: DeltaContent, out: StepEvent[]): State {
  if (isEmptyDelta(content)) return state;
  const block = findBlock(state, key);
  if (block?.filled) {
    out.push(deltaEvent(block.index, content));
    return state;
  }
  const head: BlockHead = { blockType: content.type === 'thinking' ? 'thinking' : 'text' };
  const next = block === undefined ? open(startAnswer(state, out, {}), key, head, out) : state;
  return appendToBlock(next, out, key, content, head);
}

/** The `done` events repeat the whole value; it is used only if there were no deltas. */
function fillIfEmpty(state: State, key: string, json: string, out: StepEvent[]): State {
  const block = findBlock(state, key);
  return block === undefined || block.filled ? state : fill(state, key, { type: 'input-json', json }, out);
}

/** The same for text, which may also arrive without a start event. */
function fillTextIfNew(state: State, key: string, content: DeltaContent, out: StepEvent[]): State {
  const block = findBlock(state, key);
  const isNew = block === undefined ? !state.seenParts[key] : !block.filled;
  return isNew ? fill(state, key, content, out) : state;
}

function open(state: State, key: string, head: BlockHead, out: StepEvent[]): State {
  const next = openBlock(state, out, key, head);
  return { ...next, seenParts: { ...next.seenParts, [key]: true } };
}

function responseEnd(state: State, response: JsonObject, out: StepEvent[]): State {
  let next = isObject(response.usage) ? addUsage(state, usageOf(response.usage)) : state;
  if (response.status === 'failed') return failed(next, { type: 'response.failed', response }, out);
  // Some gateways do not stream: the last event then holds the complete output.
  if (next.nextIndex === 0) {
    for (const [at, item] of arrayOf(response.output).entries()) {
      next = itemDone(next, { output_index: at }, objectOf(item), out);
    }
  }
  const incomplete = response.status === 'incomplete' || isObject(response.incomplete_details);
  return { ...next, done: true, stop: incomplete ? incompleteStop(response) : completedStop(next) };
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
  const source = frame.type === 'response.failed' || frame.type === 'response.cancelled' ? response : frame;
  out.push({ type: 'error', ...failureFromBody(isObject(source.error) ? source : { error: source }) });
  return isObject(response.usage) ? addUsage(state, usageOf(response.usage)) : state;
}

function markRefused(state: State): State {
  return state.refused ? state : { ...state, refused: true };
}

function sealed(data: JsonObject): Seal {
  return { wire: 'openai-responses', data };
}

/** Prefers the index, because some gateways change the ids from event to event. */
function itemKey(state: State, frame: Frame): string {
  const index = numberOf(frame.output_index);
  if (index !== undefined) return `${index}`;
  const id = stringOf(frame.item_id) || (itemIds(objectOf(frame.item))[0] ?? '');
  return state.keys[id] ?? (id || '0');
}

function textKey(state: State, frame: Frame): string {
  return partKey(itemKey(state, frame), numberOf(frame.content_index) ?? 0);
}

const partKey = (item: string, part: number): string => `${item}/text/${part}`;
const thinkingKey = (item: string): string => `${item}/thought`;
const summaryKey = (item: string, part: number): string => `${item}/summary/${part}`;
