import { arrayOf, isObject, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import {
  type Answer,
  abortBlock,
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
import { failureIn } from '../failure.ts';
import {
  callIdOf,
  extrasOf,
  type Frame,
  INCOMPLETE_REASONS,
  idsOf,
  isItemProgress,
  runsOwnToolsOnly,
  SILENT,
  usageOf,
} from './wire.ts';

/** Blocks are keyed by item and part; each summary part of a reasoning item is a thinking block of its own. */
export interface State extends Answer {
  readonly refused: boolean;
  /** The provider was given none but its own tools: what looks like a call of ours is one that it runs itself. */
  readonly ownToolsOnly: boolean;
  /** Under which key an item goes whose id is known: some servers leave out the index. */
  readonly keys: Readonly<Record<string, string>>;
  /** The parts that have had a block: what an item repeats when it is done is new only for the others. */
  readonly seen: Readonly<Record<string, true>>;
  /** Arguments of calls that nobody has announced yet, by key. */
  readonly early: Readonly<Record<string, string>>;
}

export function initial(seed: string): State {
  return { ...newAnswer(seed), refused: false, ownToolsOnly: false, keys: {}, seen: {}, early: {} };
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
      return itemDone(start(state, out, {}), frame, objectOf(frame.item), out);
    case 'response.content_part.added':
      return partAdded(state, frame, objectOf(frame.part), out);
    case 'response.content_part.done':
      return partDone(state, frame, out);
    case 'response.output_text.done':
      return fillNew(state, textKey(state, frame), { type: 'text', text: stringOf(frame.text) }, out);
    case 'response.refusal.delta':
      return refusing(fill(state, textKey(state, frame), { type: 'text', text: stringOf(frame.delta) }, out));
    case 'response.refusal.done':
      return refusing(
        fillNew(state, textKey(state, frame), { type: 'text', text: stringOf(frame.refusal) }, out),
      );
    case 'response.reasoning_summary_part.added':
      return nextThought(state, frame, out);
    case 'response.function_call_arguments.done':
      return fillWhole(state, itemKey(state, frame), stringOf(frame.arguments), out);
    case 'response.custom_tool_call_input.done':
      return fillWhole(state, itemKey(state, frame), stringOf(frame.input), out);
    case 'response.completed':
    case 'response.incomplete':
    case 'response.done':
      return responseEnd(start(state, out, {}), objectOf(frame.response), out);
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
  if (frame.object === 'response')
    return responseEnd(responseStart(state, objectOf(frame), out), objectOf(frame), out);
  // A gateway's own error does not say that it is one.
  if (frame.error) return failed(state, frame, out);
  const type = stringOf(frame.type);
  if (!SILENT.has(type) && !isItemProgress(type))
    out.push(trace(`openai-responses: unknown event ${type}`, frame));
  return state;
}

function responseStart(state: State, response: JsonObject, out: StepEvent[]): State {
  const next = start(state, out, { id: stringOf(response.id), model: stringOf(response.model) });
  return runsOwnToolsOnly(response.tools) ? { ...next, ownToolsOnly: true } : next;
}

function itemAdded(state: State, frame: Frame, item: JsonObject, out: StepEvent[]): State {
  const next = knownBy(state, frame, item);
  const key = itemKey(next, frame);
  const head = headOf(next, item);
  return head === undefined ? next : openItem(next, key, head, out);
}

/** From now on the item's ids lead to its key. */
function knownBy(state: State, frame: Frame, item: JsonObject): State {
  const key = numberOf(frame.output_index) ?? idsOf(item)[0] ?? Object.keys(state.keys).length;
  const ids = Object.fromEntries(idsOf(item).map((id) => [id, `${key}`]));
  return { ...state, keys: { ...state.keys, ...ids } };
}

function openItem(state: State, key: string, head: BlockHead, out: StepEvent[]): State {
  const { [key]: early = '', ...others } = state.early;
  const next = { ...open(state, key, head, out), early: others };
  return early === '' ? next : fill(next, key, { type: 'input-json', json: early }, out);
}

/** Messages and reasoning open blocks with their parts; calls and everything the provider does itself are one block. */
function headOf(state: State, item: JsonObject): BlockHead | undefined {
  switch (item.type) {
    case 'message':
    case 'reasoning':
      return undefined;
    case 'function_call':
    case 'custom_tool_call':
      if (state.ownToolsOnly) return { blockType: 'opaque', name: stringOf(item.name) };
      return { blockType: 'tool-use', id: callIdOf(item), name: stringOf(item.name) };
    default:
      return { blockType: 'opaque', name: stringOf(item.type) };
  }
}

function itemDone(state: State, frame: Frame, item: JsonObject, out: StepEvent[]): State {
  const known = knownBy(state, frame, item);
  const key = itemKey(known, frame);
  if (item.type === 'message') return messageDone(known, key, item, out);
  if (item.type === 'reasoning') return reasoningDone(known, key, item, out);
  const head = headOf(known, item);
  if (head === undefined) return known;
  let next = asAnnounced(known, key, head, out);
  if (findBlock(next, key) === undefined) next = openItem(next, key, head, out);
  if (head.blockType === 'opaque') return closeBlock(next, out, key, { seal: sealed({ item }) });
  next = fillWhole(next, key, stringOf(item.arguments) || stringOf(item.input), out);
  const extras = extrasOf(item);
  return closeBlock(next, out, key, Object.keys(extras).length === 0 ? {} : { seal: sealed(extras) });
}

/** What was announced as a call of ours turns out to be one that the provider ran: it never was a call. */
function asAnnounced(state: State, key: string, head: BlockHead, out: StepEvent[]): State {
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
    next = fillNew(next, partKey(key, at), { type: 'text', text: stringOf(text) || stringOf(refusal) }, out);
    if (refusal) next = refusing(next);
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
    if (next.seen[summaryKey(key, at)]) continue;
    next = beginThought(next, key, at, out);
    next = fill(next, thoughtKey(key), { type: 'thinking', text: stringOf(objectOf(part).text) }, out);
  }
  // The last part carries what has to be sent back; reasoning without any part still has to be.
  if (findBlock(next, thoughtKey(key)) === undefined)
    next = open(next, thoughtKey(key), { blockType: 'thinking' }, out);
  return closeBlock(next, out, thoughtKey(key), { seal: sealed(thoughtOf(item)) });
}

function thoughtOf({ id, summary, content, encrypted_content }: JsonObject): JsonObject {
  const kept = Array.isArray(content) && content.length > 0 ? { content } : {};
  return { id, summary: summary ?? [], ...kept, ...(encrypted_content ? { encrypted_content } : {}) };
}

function partAdded(state: State, frame: Frame, part: JsonObject, out: StepEvent[]): State {
  if (part.type === 'reasoning_text') return nextThought(state, frame, out);
  if (part.type !== 'output_text' && part.type !== 'refusal') {
    out.push(trace(`openai-responses: unknown part ${stringOf(part.type)}`, frame));
    return state;
  }
  const key = textKey(state, frame);
  const next = open(start(state, out, {}), key, { blockType: 'text' }, out);
  return fill(next, key, { type: 'text', text: stringOf(part.text) }, out);
}

/** Left open: a message's last word on its parts comes when it is done, and may hold what has to be sent back. */
function partDone(state: State, frame: Frame, out: StepEvent[]): State {
  const part = objectOf(frame.part);
  if (part.type === 'reasoning_text') return state;
  const text = stringOf(part.text) || stringOf(part.refusal);
  return fillNew(state, textKey(state, frame), { type: 'text', text }, out);
}

/** A further summary part ends the one before; the last one stays open for the item's end, which brings its seal. */
function nextThought(state: State, frame: Frame, out: StepEvent[]): State {
  const at = numberOf(frame.summary_index) ?? numberOf(frame.content_index) ?? 0;
  return beginThought(start(state, out, {}), itemKey(state, frame), at, out);
}

function beginThought(state: State, key: string, at: number, out: StepEvent[]): State {
  const next = open(closeBlock(state, out, thoughtKey(key)), thoughtKey(key), { blockType: 'thinking' }, out);
  return { ...next, seen: { ...next.seen, [summaryKey(key, at)]: true } };
}

function fillThought(state: State, frame: Frame, text: string, out: StepEvent[]): State {
  const key = itemKey(state, frame);
  if (findBlock(state, thoughtKey(key)) === undefined && text !== '') {
    return fill(nextThought(state, frame, out), thoughtKey(key), { type: 'thinking', text }, out);
  }
  return fill(state, thoughtKey(key), { type: 'thinking', text }, out);
}

/** Arguments wait for their call to be announced: without a name it could not be run. */
function fillCall(state: State, key: string, json: string, out: StepEvent[]): State {
  if (findBlock(state, key) !== undefined) return fill(state, key, { type: 'input-json', json }, out);
  return { ...state, early: { ...state.early, [key]: (state.early[key] ?? '') + json } };
}

function fill(state: State, key: string, content: DeltaContent, out: StepEvent[]): State {
  if (isEmpty(content)) return state;
  const block = findBlock(state, key);
  if (block?.filled) {
    out.push(deltaEvent(block.index, content));
    return state;
  }
  const head: BlockHead = { blockType: content.type === 'thinking' ? 'thinking' : 'text' };
  const next = block === undefined ? open(start(state, out, {}), key, head, out) : state;
  return fillBlock(next, out, key, content, head);
}

/** The `done` events repeat the whole value: it counts only where no delta came. */
function fillWhole(state: State, key: string, json: string, out: StepEvent[]): State {
  const block = findBlock(state, key);
  return block === undefined || block.filled ? state : fill(state, key, { type: 'input-json', json }, out);
}

/** The same for text, which may also come without any announcement. */
function fillNew(state: State, key: string, content: DeltaContent, out: StepEvent[]): State {
  const block = findBlock(state, key);
  const isNew = block === undefined ? !state.seen[key] : !block.filled;
  return isNew ? fill(state, key, content, out) : state;
}

function open(state: State, key: string, head: BlockHead, out: StepEvent[]): State {
  const next = openBlock(state, out, key, head);
  return { ...next, seen: { ...next.seen, [key]: true } };
}

function responseEnd(state: State, response: JsonObject, out: StepEvent[]): State {
  let next = isObject(response.usage) ? addUsage(state, usageOf(response.usage)) : state;
  if (response.status === 'failed') return failed(next, { type: 'response.failed', response }, out);
  // Some gateways answer in one piece: then all there is stands in the last event.
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
  const about = frame.type === 'response.failed' || frame.type === 'response.cancelled' ? response : frame;
  out.push({ type: 'error', ...failureIn(isObject(about.error) ? about : { error: about }) });
  return isObject(response.usage) ? addUsage(state, usageOf(response.usage)) : state;
}

function refusing(state: State): State {
  return state.refused ? state : { ...state, refused: true };
}

function sealed(data: JsonObject): Seal {
  return { wire: 'openai-responses', data };
}

/** The index where there is one: some gateways change the ids from event to event. */
function itemKey(state: State, frame: Frame): string {
  const index = numberOf(frame.output_index);
  if (index !== undefined) return `${index}`;
  const id = stringOf(frame.item_id) || (idsOf(objectOf(frame.item))[0] ?? '');
  return state.keys[id] ?? (id || '0');
}

function textKey(state: State, frame: Frame): string {
  return partKey(itemKey(state, frame), numberOf(frame.content_index) ?? 0);
}

const partKey = (item: string, part: number): string => `${item}/text/${part}`;
const thoughtKey = (item: string): string => `${item}/thought`;
const summaryKey = (item: string, part: number): string => `${item}/summary/${part}`;
