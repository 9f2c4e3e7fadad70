import { isObject, type JsonObject, stringOf, withoutUndefined } from '../../base/index.ts';
import type { Content, Item, LlmRequest, ThinkingLevel, ToolChoice, ItemOf } from '../request.ts';
import { contentText } from '../request.ts';
import { argumentsObject } from '../tool-arguments.ts';

/** Converts our request to the body of a generateContent call; the model is part of the URL. */
export function lower(request: LlmRequest): JsonObject {
  const { tools, system } = request;
  const config = generationConfig(request);
  return {
    contents: contentsOf(request),
    ...(system ? { systemInstruction: { parts: [{ text: system }] } } : {}),
    ...(tools?.length ? { tools: [{ functionDeclarations: declarationsOf(request) }] } : {}),
    ...(tools?.length && request.toolChoice ? { toolConfig: toolConfigOf(request.toolChoice) } : {}),
    ...(Object.keys(config).length > 0 ? { generationConfig: config } : {}),
  };
}

function generationConfig({
  model,
  maxTokens,
  temperature,
  stopSequences,
  thinking,
}: LlmRequest): JsonObject {
  return {
    ...withoutUndefined({ maxOutputTokens: maxTokens, temperature }),
    ...(stopSequences?.length ? { stopSequences } : {}),
    ...(thinking === undefined ? {} : { thinkingConfig: thinkingConfig(model, thinking) }),
  };
}

const BUDGETS: Readonly<Record<ThinkingLevel, number>> = {
  off: 0,
  minimal: 512,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
};

/** Gemini 3 and later have levels; older models have budgets, with a minimum of 128 for 2.5 Pro. */
function thinkingConfig(model: string, level: ThinkingLevel): JsonObject {
  if (isGemini3(model)) {
    return { thinkingLevel: LEVELS[level], includeThoughts: level !== 'off' };
  }
  const minimum = model.includes('2.5-pro') ? 128 : 0;
  return { thinkingBudget: Math.max(minimum, BUDGETS[level]), includeThoughts: level !== 'off' };
}

const LEVELS: Readonly<Record<ThinkingLevel, string>> = {
  off: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'high',
  high: 'high',
  xhigh: 'high',
};

export function isGemini3(model: string): boolean {
  return /gemini-[3-9]/.test(model);
}

function declarationsOf({ tools = [] }: LlmRequest): readonly JsonObject[] {
  return tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
}

function toolConfigOf(choice: ToolChoice): JsonObject {
  if (typeof choice === 'object') {
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.name] } };
  }
  return { functionCallingConfig: { mode: { auto: 'AUTO', none: 'NONE', required: 'ANY' }[choice] } };
}

interface Turn {
  readonly role: 'user' | 'model';
  readonly parts: JsonObject[];
}

function contentsOf({ model, items }: LlmRequest): readonly Turn[] {
  const calls = new Map<string, Call>();
  const turns: Turn[] = [];
  for (const item of items) {
    if (item.type === 'tool-call') calls.set(item.callId, item);
    const parts = partsOf(item, model, calls);
    if (parts.length === 0) continue;
    const role = isModel(item) ? 'model' : 'user';
    const open = turns.at(-1);
    if (open?.role === role) open.parts.push(...parts);
    else turns.push({ role, parts });
  }
  return turns;
}

type Call = ItemOf<'tool-call'>;

function isModel(item: Item): boolean {
  if (item.type === 'message') return item.role === 'assistant';
  return item.type !== 'tool-result';
}

function partsOf(item: Item, model: string, calls: ReadonlyMap<string, Call>): JsonObject[] {
  switch (item.type) {
    case 'message':
      return messageParts(item.content, signatureOf(item));
    case 'tool-call':
      return [callPart(item, model)];
    case 'tool-result':
      return resultParts(item, calls.get(item.callId));
    case 'reasoning': {
      const signature = signatureOf(item);
      return signature ? [{ text: item.text, thought: true, thoughtSignature: signature }] : [];
    }
    case 'opaque':
      return item.seal.wire === 'gemini' && isObject(item.seal.data.part) ? [item.seal.data.part] : [];
  }
}

function messageParts(content: readonly Content[], signature: string): JsonObject[] {
  const parts = content.map(contentPart);
  const last = parts.at(-1);
  if (signature !== '' && last) parts.splice(-1, 1, { ...last, thoughtSignature: signature });
  return parts;
}

function contentPart(part: Content): JsonObject {
  return part.type === 'text'
    ? { text: part.text }
    : { inlineData: { mimeType: part.mediaType, data: part.data } };
}

/** Gemini 3 rejects a call without a signature. This documented value marks calls of other models. */
const FOREIGN_CALL_SIGNATURE = 'skip_thought_signature_validator';

function callPart(item: Call, model: string): JsonObject {
  const signature =
    signatureOf(item) || (isGemini3(model) && !isGeminiCall(item) ? FOREIGN_CALL_SIGNATURE : '');
  const functionCall = { name: item.name, args: argumentsObject(item.arguments), ...idOf(item) };
  return { functionCall, ...(signature === '' ? {} : { thoughtSignature: signature }) };
}

function resultParts(item: ItemOf<'tool-result'>, call: Call | undefined): JsonObject[] {
  const text = contentText(item.content);
  const response = item.isError ? { error: text } : { output: text };
  const images = item.content.filter((part) => part.type === 'image').map(contentPart);
  return [
    { functionResponse: { name: call?.name ?? item.callId, response, ...(call ? idOf(call) : {}) } },
    ...images,
  ];
}

function isGeminiCall(item: Call): boolean {
  return item.seal?.wire === 'gemini';
}

/** Gemini's own id for the call, if it sent one; our generated ids mean nothing to it. */
function idOf(item: Call): JsonObject {
  return isGeminiCall(item) && typeof item.seal?.data.id === 'string' ? { id: item.seal.data.id } : {};
}

function signatureOf({ seal }: { readonly seal?: Call['seal'] }): string {
  return seal?.wire === 'gemini' ? stringOf(seal.data.signature) : '';
}
