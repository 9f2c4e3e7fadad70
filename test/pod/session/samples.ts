import * as fc from 'fast-check';
import type { Item, Seal } from '../../../src/llm/index.ts';
import {
  type AgentMessage,
  type AnswerDetails,
  answerMessage,
  encodeEntry,
  encodeHeader,
  type Entry,
  type Header,
  inputMessage,
  parseLine,
  readable,
  resultMessage,
  SessionTree,
  type Source,
} from '../../../src/pod/session/index.ts';

export const HEADER: Header = {
  id: '0198a000-0000-7000-8000-000000000001',
  version: 3,
  timestamp: '2026-01-01T00:00:00.000Z',
  cwd: '/some/dir',
};

export const ANSWER: AnswerDetails = {
  wire: 'anthropic',
  provider: 'anthropic',
  model: 'claude-test',
  stopReason: 'stop',
  usage: { inputTokens: 100, outputTokens: 20, cacheReadInputTokens: 60, cacheCreationInputTokens: 10 },
  cost: { input: 0.1, output: 0.2, cacheRead: 0.03, cacheWrite: 0.04, total: 0.37 },
  timestamp: 1_700_000_000_000,
};

/** Ids and times that count up. */
export function counting(from = 1): Source {
  let next = from;
  return {
    newId: () => (next++).toString(16).padStart(8, '0'),
    now: () => new Date(1_767_225_600_000 + next * 1000),
  };
}

/** Reads all lines of a session file strictly: reports every line that the program would skip. */
export function readTree(lines: Iterable<string>, source: Source) {
  const problems: { readonly line: number; readonly reason: string }[] = [];
  let tree: SessionTree | undefined;
  for (const [at, text] of [...lines].entries()) {
    const line = parseLine(text);
    const report = (reason: string) => problems.push({ line: at + 1, reason });
    if (line.kind === 'bad') report(line.reason);
    else if (line.kind === 'header' && tree !== undefined) report('a second header');
    else if (line.kind === 'header') tree = new SessionTree(readable(line.header), source);
    else if (line.kind === 'entry') {
      if (tree === undefined) break;
      const { id, parentId } = line.entry;
      if (tree.get(id) !== undefined) report('a duplicate id');
      else if (parentId !== null && tree.get(parentId) === undefined) report('an unknown parent');
      tree.add(line.entry);
    }
  }
  if (tree === undefined) throw new Error('not a session file: it does not begin with a session header');
  return { tree, problems };
}

/** The entry in a line, or undefined. */
export function parseEntry(text: string): Entry | undefined {
  const line = parseLine(text);
  return line.kind === 'entry' ? line.entry : undefined;
}

/** Converts items to messages: adjacent items of the model become one answer. */
export function messagesOf(items: readonly Item[], answer: AnswerDetails): readonly AgentMessage[] {
  const messages: AgentMessage[] = [];
  const names = new Map<string, string>();
  let open: Item[] = [];
  const close = () => {
    if (open.length > 0) messages.push(answerMessage(open, answer));
    open = [];
  };
  for (const item of items) {
    if (item.type === 'tool-call') names.set(item.callId, item.name);
    if (item.type === 'tool-result') {
      close();
      messages.push(resultMessage(item, names.get(item.callId) ?? '', answer.timestamp));
    } else if (item.type === 'message' && item.role !== 'assistant') {
      close();
      messages.push(inputMessage(item, answer.timestamp));
    } else open.push(item);
  }
  close();
  return messages;
}

/** The lines of the session file. */
export function linesOf(tree: SessionTree): readonly string[] {
  return [encodeHeader(tree.header), ...[...tree.entries()].map(encodeEntry)];
}

export function messageItem(role: 'user' | 'assistant' | 'system', text: string): Item {
  return { type: 'message', role, content: [{ type: 'text', text }] };
}

const anyText = fc.string({ unit: 'grapheme', maxLength: 12 });
const json = fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });

const content = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('text' as const), text: anyText }),
    fc.record({
      type: fc.constant('image' as const),
      mediaType: fc.constantFrom('image/png', 'image/jpeg'),
      data: fc.oneof(fc.base64String({ maxLength: 12 }), fc.constant('blob:sha256:00')),
    }),
  ),
  { maxLength: 3 },
);

const wire = fc.constantFrom(
  'anthropic',
  'openai-chat',
  'openai-responses',
  'gemini',
  'ollama',
  'bedrock',
  'other',
);
const knownSealData = fc.oneof(
  json,
  fc.record({ signature: anyText }),
  fc.record({ redacted: anyText }),
  fc.record({ field: fc.constantFrom('reasoning', 'reasoning_content') }),
  fc.record({ id: anyText, summary: fc.constant([]), encrypted_content: anyText }),
  fc.record({ phase: fc.constant('commentary') }),
);
const seal: fc.Arbitrary<Seal> = fc.record({ wire, data: knownSealData });
const maybeSealed = fc.oneof(
  fc.constant({}),
  seal.map((seal) => ({ seal })),
);
const callId = fc.oneof(anyText, fc.constantFrom('call_1', 'call_1|fc_1', '|x'));

/** As Python writes JSON. */
export function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, field]) => `${JSON.stringify(key)}: ${spaced(field)}`)
    .join(', ')}}`;
}

const argumentText = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  json.map((value) => JSON.stringify(value, undefined, 1)),
  json.map(spaced),
  fc.constantFrom('', '{}', '[]', '"text"', '{"a": 1}', '{"a":1,"a":2}', '{"cut', 'null'),
  anyText,
);

/** Items that a model may add to the conversation. */
export const anyAnswerItem: fc.Arbitrary<Item> = fc.oneof(
  fc
    .tuple(content, maybeSealed)
    .map(([content, sealed]): Item => ({ type: 'message', role: 'assistant', content, ...sealed })),
  fc.tuple(anyText, maybeSealed).map(([text, sealed]): Item => ({ type: 'reasoning', text, ...sealed })),
  fc.tuple(callId, anyText, argumentText, maybeSealed).map(
    ([callId, name, text, sealed]): Item => ({
      type: 'tool-call',
      callId,
      name,
      arguments: text,
      ...sealed,
    }),
  ),
  fc.tuple(anyText, seal).map(([name, seal]): Item => ({ type: 'opaque', name, seal })),
);

/** Any item. */
export const anyItem: fc.Arbitrary<Item> = fc.oneof(
  { weight: 2, arbitrary: anyAnswerItem },
  fc
    .tuple(fc.constantFrom('user' as const, 'system' as const), content, maybeSealed)
    .map(([role, content, sealed]): Item => ({ type: 'message', role, content, ...sealed })),
  fc
    .tuple(callId, content, fc.boolean())
    .map(([callId, content, isError]): Item => ({ type: 'tool-result', callId, content, isError })),
);
