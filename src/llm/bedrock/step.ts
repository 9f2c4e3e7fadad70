import { isObject, type JsonObject, numberOf, objectOf, stringOf } from '../../base/index.ts';
import {
  type Answer,
  abortBlock,
  addUsage,
  appendToBlock,
  closeBlock,
  deltaEvent,
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
import { failureOf, type Frame, reasoningDelta, STOP_REASONS, usageOf } from './frame.ts';

export interface State extends Answer {
  /** What seals open thinking blocks, by the API's index. */
  readonly seals: Readonly<Record<number, JsonObject>>;
}

export function initial(seed: string): State {
  return { ...newAnswer(seed), seals: {} };
}

export function step(state: State, frame: Frame): Step<State> {
  // Hot path: nearly every message of a long answer is a delta of an open block.
  if (frame.type === 'contentBlockDelta') return delta(state, frame);
  const out: StepEvent[] = [];
  return [dispatch(state, frame, out), out];
}

function dispatch(state: State, frame: Frame, out: StepEvent[]): State {
  const { type, body } = frame;
  switch (type) {
    case 'messageStart':
      return messageStart(state, out);
    case 'contentBlockStart':
      return blockStart(state, frame, out);
    case 'contentBlockStop':
      return blockStop(state, numberOf(body.contentBlockIndex) ?? state.nextIndex - 1, out);
    case 'messageStop':
      return messageStop(state, stringOf(body.stopReason), out);
    case 'metadata':
      // The last message. Some gateways send a second one without usage.
      return addUsage({ ...state, done: state.stop !== undefined }, usageOf(body.usage));
    default: {
      const failure = failureOf(frame);
      if (failure) out.push({ type: 'error', ...failure });
      else out.push(trace(`bedrock: unknown event ${type}`, body));
      return state;
    }
  }
}

function messageStart(state: State, out: StepEvent[]): State {
  // A gateway that retries on its own sends a second message in the same stream: the open blocks will not continue.
  let next = state;
  for (const block of state.open) next = abortBlock(next, out, block.key, 'restarted');
  return { ...startAnswer(next, out, {}), seals: {} };
}

/** Only tool calls have a start; text and thinking begin with their first delta. */
function blockStart(state: State, { body }: Frame, out: StepEvent[]): State {
  const { toolUse } = objectOf(body.start);
  if (!isObject(toolUse)) {
    out.push(trace('bedrock: start of an unknown block', body));
    return startAnswer(state, out, {});
  }
  const head: BlockHead = {
    blockType: 'tool-use',
    id: stringOf(toolUse.toolUseId),
    name: stringOf(toolUse.name),
  };
  return openBlock(
    startAnswer(state, out, {}),
    out,
    numberOf(body.contentBlockIndex) ?? state.nextIndex,
    head,
  );
}

function delta(state: State, { body }: Frame): Step<State> {
  const fields = objectOf(body.delta);
  const key = numberOf(body.contentBlockIndex) ?? Math.max(0, state.nextIndex - 1);
  const content = deltaContent(fields);
  const block = findBlock(state, key);
  if (content !== undefined && block?.filled && block.head.blockType === BLOCK_TYPES[content.type]) {
    return [state, isEmptyDelta(content) ? [] : [deltaEvent(block.index, content)]];
  }
  const out: StepEvent[] = [];
  if (content !== undefined && !isEmptyDelta(content))
    return [firstDelta(startAnswer(state, out, {}), key, content, out), out];
  return [sealDelta(state, key, fields, out), out];
}

function deltaContent(fields: JsonObject): DeltaContent | undefined {
  if (typeof fields.text === 'string') return { type: 'text', text: fields.text };
  if (isObject(fields.toolUse)) return { type: 'input-json', json: stringOf(fields.toolUse.input) };
  const text = reasoningDelta(fields)?.text;
  return text === undefined || text === '' ? undefined : { type: 'thinking', text };
}

const BLOCK_TYPES = { text: 'text', thinking: 'thinking', 'input-json': 'tool-use' } as const;

function firstDelta(state: State, key: number, content: DeltaContent, out: StepEvent[]): State {
  const block = findBlock(state, key);
  const blockType = BLOCK_TYPES[content.type];
  // A delta that does not match the block at its index belongs to another block.
  const target = block === undefined || block.head.blockType === blockType ? key : `${key}/${content.type}`;
  const head: BlockHead = blockType === 'tool-use' ? { blockType, id: '', name: '' } : { blockType };
  return appendToBlock(state, out, target, content, head);
}

/** Stores a signature or redacted thinking, which is encrypted: both are only sent back. */
function sealDelta(state: State, key: number, fields: JsonObject, out: StepEvent[]): State {
  const reasoning = reasoningDelta(fields);
  if (reasoning === undefined || (reasoning.signature === '' && reasoning.redacted === '')) {
    if (deltaContent(fields) === undefined && reasoning === undefined)
      out.push(trace('bedrock: unknown delta', fields));
    return state;
  }
  let next = startAnswer(state, out, {});
  if (findBlock(next, key) === undefined) next = openBlock(next, out, key, { blockType: 'thinking' });
  const known = next.seals[key] ?? {};
  const { signature, redacted } = reasoning;
  const seal = {
    ...known,
    ...(signature === '' ? {} : { signature: stringOf(known.signature) + signature }),
    ...(redacted === '' ? {} : { redacted: joinBase64(stringOf(known.redacted), redacted) }),
  };
  return { ...next, seals: { ...next.seals, [key]: seal } };
}

function joinBase64(start: string, more: string): string {
  return start === ''
    ? more
    : Buffer.concat([start, more].map((text) => Buffer.from(text, 'base64'))).toString('base64');
}

function blockStop(state: State, key: number, out: StepEvent[]): State {
  const block = findBlock(state, key);
  if (block === undefined) {
    out.push(trace('bedrock: stop of a block that is not open', { index: key }));
    return state;
  }
  const { [key]: data, ...seals } = state.seals;
  const seal: Seal | undefined =
    data && block.head.blockType === 'thinking' ? { wire: 'bedrock', data } : undefined;
  return closeBlock({ ...state, seals }, out, key, seal ? { seal } : {});
}

function messageStop(state: State, reason: string, out: StepEvent[]): State {
  let next = state;
  for (const { key } of state.open) if (typeof key === 'number') next = blockStop(next, key, out);
  return {
    ...next,
    stop: {
      reason: STOP_REASONS[reason] ?? 'other',
      ...(reason === '' ? {} : { providerReason: reason }),
    },
  };
}
