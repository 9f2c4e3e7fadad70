import {
  arrayOf,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  tryParse,
} from '../../base/index.ts';
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
import { type Counters, type Frame, mergeCounters, STOP_REASONS, blockText, usageOf } from './frame.ts';

export interface State extends Answer {
  readonly counters: Counters;
  /** Data of open blocks that is needed when they stop, by the API's index. */
  readonly parts: Readonly<Record<number, Part>>;
}

interface Part {
  /** The block as it was sent in its start event. */
  readonly block: JsonObject;
  /** Argument fragments of an opaque block. */
  readonly json: string;
  readonly signature: string;
  readonly citations: readonly unknown[];
  /** Fields from deltas of unknown types (a compaction's summary). */
  readonly fields: JsonObject;
}

export function initial(seed: string): State {
  return { ...newAnswer(seed), counters: {}, parts: {} };
}

export function step(state: State, frame: Frame): Step<State> {
  // Hot path: nearly every frame of a long answer is a delta of an open text block.
  if (frame.type === 'content_block_delta') return delta(state, frame);
  const out: StepEvent[] = [];
  return [dispatch(state, frame, out), out];
}

function dispatch(state: State, frame: Frame, out: StepEvent[]): State {
  switch (frame.type) {
    case 'message_start':
      return messageStart(state, objectOf(frame.message), out);
    case 'content_block_start':
      return blockStart(state, numberOf(frame.index) ?? state.nextIndex, objectOf(frame.content_block), out);
    case 'content_block_stop':
      return blockStop(state, numberOf(frame.index) ?? state.nextIndex - 1, out);
    case 'message_delta':
      return messageDelta(state, frame);
    case 'message_stop':
      return messageStop(state, out);
    case 'message':
      return messageStop(messageStart(state, objectOf(frame), out), out);
    case 'ping':
      out.push({ type: 'ping' });
      return state;
    case 'error':
      out.push({ type: 'error', ...failureFromBody(frame) });
      return state;
    default:
      // Errors of gateways have no type.
      if (frame.error) out.push({ type: 'error', ...failureFromBody(frame) });
      else out.push(trace(`anthropic: unknown event ${stringOf(frame.type)}`, frame));
      return state;
  }
}

function messageStart(state: State, message: JsonObject, out: StepEvent[]): State {
  // A proxy that retries on its own sends a second message in the same stream: the open blocks will not continue.
  let next = state;
  for (const block of state.open) next = abortBlock(next, out, block.key, 'restarted');
  next = startAnswer(next, out, { id: stringOf(message.id), model: stringOf(message.model) });
  next = withStop(countUsage({ ...next, parts: {} }, message.usage), message.stop_reason);
  // A call made by a program that the provider runs arrives complete in the first frame.
  for (const [key, block] of arrayOf(message.content).entries()) {
    next = blockStop(blockStart(next, key, objectOf(block), out), key, out);
  }
  return next;
}

/** Stops the blocks that are still open, with their seals. */
function messageStop(state: State, out: StepEvent[]): State {
  let next = state;
  for (const { key } of state.open) if (typeof key === 'number') next = blockStop(next, key, out);
  return { ...next, done: true, stop: next.stop ?? { reason: 'other' } };
}

function countUsage(state: State, usage: unknown): State {
  if (!isObject(usage)) return state;
  const counters = mergeCounters(state.counters, usage);
  return addUsage({ ...state, counters }, usageOf(counters));
}

function messageDelta(state: State, frame: Frame): State {
  return withStop(countUsage(state, frame.usage), objectOf(frame.delta).stop_reason);
}

function withStop(state: State, reason: unknown): State {
  if (typeof reason !== 'string') return state;
  return { ...state, stop: { reason: STOP_REASONS[reason] ?? 'other', providerReason: reason } };
}

function blockStart(state: State, key: number, block: JsonObject, out: StepEvent[]): State {
  const head = headOf(block);
  let next = openBlock(startAnswer(state, out, {}), out, key, head);
  const part: Part = {
    block,
    json: '',
    signature: stringOf(block.signature),
    citations: [],
    fields: {},
  };
  next = { ...next, parts: { ...next.parts, [key]: part } };
  const text = blockText(block);
  if (text === '' || (head.blockType !== 'text' && head.blockType !== 'thinking')) return next;
  return appendToBlock(next, out, key, { type: head.blockType, text }, head);
}

function headOf(block: JsonObject): BlockHead {
  switch (block.type) {
    case 'text':
      return { blockType: 'text' };
    case 'thinking':
    case 'redacted_thinking':
      return { blockType: 'thinking' };
    case 'tool_use':
      return { blockType: 'tool-use', id: stringOf(block.id), name: stringOf(block.name) };
    default:
      return { blockType: 'opaque', name: stringOf(block.type) };
  }
}

function delta(state: State, frame: Frame): Step<State> {
  const fields = objectOf(frame.delta);
  const key = numberOf(frame.index) ?? state.nextIndex - 1;
  const content = deltaContent(fields);
  if (content === undefined) return storeDelta(state, key, fields, frame);
  if (isEmptyDelta(content)) return [state, []];
  const block = findBlock(state, key);
  if (block?.filled && matches(block.head, content) && block.head.blockType !== 'opaque') {
    return [state, [deltaEvent(block.index, content)]];
  }
  const out: StepEvent[] = [];
  return [firstDelta(startAnswer(state, out, {}), key, content, out), out];
}

function deltaContent(fields: JsonObject): DeltaContent | undefined {
  switch (fields.type) {
    case 'text_delta':
      return { type: 'text', text: stringOf(fields.text) };
    case 'thinking_delta':
      return { type: 'thinking', text: stringOf(fields.thinking) };
    case 'input_json_delta':
      return { type: 'input-json', json: stringOf(fields.partial_json) };
    default:
      return undefined;
  }
}

function matches(head: BlockHead, content: DeltaContent): boolean {
  if (content.type !== 'input-json') return head.blockType === content.type;
  return head.blockType === 'tool-use' || head.blockType === 'opaque';
}

/** Handles the first delta of a block, a delta of an opaque block, or a delta of a block without a start. */
function firstDelta(state: State, key: number, content: DeltaContent, out: StepEvent[]): State {
  const block = findBlock(state, key);
  // A delta that does not match the block at its index belongs to a block without a start event.
  const target = block === undefined || matches(block.head, content) ? key : `${key}/${content.type}`;
  const next = appendToBlock(state, out, target, content, impliedHead(content));
  if (block?.head.blockType !== 'opaque' || content.type !== 'input-json') return next;
  return changePart(next, key, (part) => ({ ...part, json: part.json + content.json }));
}

function impliedHead(content: DeltaContent): BlockHead {
  return content.type === 'input-json'
    ? { blockType: 'tool-use', id: '', name: '' }
    : { blockType: content.type };
}

/** Stores deltas that emit no event but are part of the seal. */
function storeDelta(state: State, key: number, fields: JsonObject, frame: Frame): Step<State> {
  switch (fields.type) {
    case 'signature_delta':
      return [
        changePart(state, key, (part) => ({
          ...part,
          signature: part.signature + stringOf(fields.signature),
        })),
        [],
      ];
    case 'citations_delta':
      return [
        changePart(state, key, (part) => ({ ...part, citations: [...part.citations, fields.citation] })),
        [],
      ];
    default:
      return storeUnknownDelta(state, key, fields, frame);
  }
}

/** Stores all fields of an unknown delta of an opaque block; strings are concatenated. */
function storeUnknownDelta(state: State, key: number, delta: JsonObject, frame: Frame): Step<State> {
  if (findBlock(state, key)?.head.blockType !== 'opaque') {
    return [state, [trace(`anthropic: unknown delta ${stringOf(delta.type)}`, frame)]];
  }
  const { type: _, ...fields } = delta;
  return [changePart(state, key, (part) => ({ ...part, fields: mergeFields(part.fields, fields) })), []];
}

function mergeFields(before: JsonObject, more: JsonObject): JsonObject {
  const texts = Object.entries(more).map(([name, value]) => {
    const known = before[name];
    return [name, typeof known === 'string' && typeof value === 'string' ? known + value : value] as const;
  });
  return { ...before, ...Object.fromEntries(texts) };
}

function changePart(state: State, key: number, change: (part: Part) => Part): State {
  const part = state.parts[key];
  return part === undefined ? state : { ...state, parts: { ...state.parts, [key]: change(part) } };
}

function blockStop(state: State, key: number, out: StepEvent[]): State {
  const block = findBlock(state, key);
  if (block === undefined) {
    out.push(trace('anthropic: stop of a block that is not open', { index: key }));
    return state;
  }
  const { [key]: part, ...parts } = state.parts;
  let next: State = { ...state, parts };
  // The arguments may also be complete in the start event.
  if (
    part !== undefined &&
    !block.filled &&
    block.head.blockType === 'tool-use' &&
    isNonEmptyObject(part.block.input)
  ) {
    next = appendToBlock(
      next,
      out,
      key,
      { type: 'input-json', json: JSON.stringify(part.block.input) },
      block.head,
    );
  }
  const seal = part && sealOf(block.head, part);
  return closeBlock(next, out, key, seal ? { seal } : {});
}

function sealOf(head: BlockHead, part: Part): Seal | undefined {
  switch (head.blockType) {
    case 'thinking':
      if (part.block.type === 'redacted_thinking') return sealed({ redacted: stringOf(part.block.data) });
      return part.signature === '' ? undefined : sealed({ signature: part.signature });
    case 'text':
      return part.citations.length === 0 ? undefined : sealed({ citations: part.citations });
    case 'opaque':
      return sealed({ block: completeBlock(part) });
    case 'tool-use':
      return part.block.caller === undefined ? undefined : sealed({ caller: part.block.caller });
    default:
      return undefined;
  }
}

function completeBlock({ block, json, fields }: Part): JsonObject {
  const input = json === '' ? undefined : tryParse(json);
  return { ...block, ...(input === undefined ? {} : { input }), ...fields };
}

function sealed(data: JsonObject): Seal {
  return { wire: 'anthropic', data };
}

function isNonEmptyObject(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).length > 0;
}
