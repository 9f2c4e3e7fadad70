import type { JsonObject } from '../../../base/index.ts';
import { encodeEventStream } from '../../../wire/index.ts';
import type { Stop } from '../../script/answer.ts';
import { callArguments, type Reply, type ReplyPart } from '../../script/reply.ts';
import { type ReplyStep, replySteps } from '../../script/reply-steps.ts';
import type { Frame } from '../provider-api.ts';

/** Streams events with numbered content blocks. A frame's text is JSON with the type of the event as the only key. */
export function* frames(reply: Reply): Generator<Frame> {
  yield event('messageStart', { role: 'assistant' });
  for (const step of replySteps(reply)) yield* encodeStep(step);
  yield event('messageStop', { stopReason: STOPS[reply.stop] }, 'finish');
  yield event('metadata', { usage: encodeUsage(reply), metrics: { latencyMs: 1 } }, 'finish');
}

/** Returns the complete response of Converse. */
export function fullResponse(reply: Reply): JsonObject {
  return {
    output: { message: { role: 'assistant', content: reply.parts.map(fullBlock) } },
    stopReason: STOPS[reply.stop],
    usage: encodeUsage(reply),
    metrics: { latencyMs: 1 },
  };
}

/** Returns the message of the event stream for a frame's text. */
export function encodeFrame(text: string): Uint8Array {
  const [start = '', type = ''] = /^\{"(\w+)":/.exec(text) ?? [];
  const body = text.slice(start.length, -1);
  const content = { ':content-type': 'application/json' };
  return type.endsWith('Exception')
    ? encodeEventStream({ ':message-type': 'exception', ':exception-type': type, ...content }, body)
    : encodeEventStream({ ':message-type': 'event', ':event-type': type, ...content }, body);
}

function* encodeStep(step: ReplyStep): Generator<Frame> {
  const { index: contentBlockIndex, part } = step;
  if (step.type === 'delta') {
    if (part.type !== 'redacted') yield delta(contentBlockIndex, DELTAS[part.type](step.text), 'delta');
    return;
  }
  if (step.type === 'open') {
    // Only calls have a start event.
    if (part.type === 'call') {
      const start = { toolUse: { toolUseId: part.id, name: part.name } };
      yield event('contentBlockStart', { contentBlockIndex, start });
    }
    if (part.type === 'redacted')
      yield delta(contentBlockIndex, { reasoningContent: { redactedContent: part.text } }, 'other');
    return;
  }
  if (part.type === 'thinking')
    yield delta(contentBlockIndex, { reasoningContent: { signature: part.signature } }, 'other');
  yield event('contentBlockStop', { contentBlockIndex });
}

const DELTAS: Record<Exclude<ReplyPart['type'], 'redacted'>, (text: string) => JsonObject> = {
  text: (text) => ({ text }),
  refusal: (text) => ({ text }),
  thinking: (text) => ({ reasoningContent: { text } }),
  call: (input) => ({ toolUse: { input } }),
};

function fullBlock(part: ReplyPart): JsonObject {
  switch (part.type) {
    case 'thinking':
      return { reasoningContent: { reasoningText: { text: part.text, signature: part.signature } } };
    case 'redacted':
      return { reasoningContent: { redactedContent: part.text } };
    case 'call':
      return { toolUse: { toolUseId: part.id, name: part.name, input: callArguments(part) } };
    default:
      return { text: part.text };
  }
}

const STOPS: Record<Stop, string> = {
  'end-turn': 'end_turn',
  'max-tokens': 'max_tokens',
  'stop-sequence': 'stop_sequence',
  'tool-use': 'tool_use',
  'pause-turn': 'end_turn',
  refusal: 'content_filtered',
  'content-filter': 'guardrail_intervened',
  'context-full': 'model_context_window_exceeded',
  'malformed-call': 'malformed_tool_use',
};

/** Bedrock counts cache reads and writes separately from `inputTokens`. */
function encodeUsage({ usage }: Reply): JsonObject {
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens } = usage;
  return {
    inputTokens: inputTokens - cacheReadInputTokens - cacheCreationInputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadInputTokens,
    cacheWriteInputTokens: cacheCreationInputTokens,
  };
}

function delta(contentBlockIndex: number, content: JsonObject, role: Frame['role']): Frame {
  return event('contentBlockDelta', { contentBlockIndex, delta: content }, role);
}

function event(type: string, body: JsonObject, role: Frame['role'] = 'other'): Frame {
  return { role, text: JSON.stringify({ [type]: body }) };
}
