import { isObject, type JsonObject, stringOf } from '../../base/index.ts';
import type { Content, Item, LlmRequest, ThinkingLevel, ToolChoice, ItemOf } from '../request.ts';
import { textOf } from '../request.ts';
import { argumentsObject } from '../tool-arguments.ts';

/** Our request as the body of a generateContent call; the model is part of the address. */
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
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
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

/** From Gemini 3 on there are levels; before, budgets, of which 2.5 Pro's cannot go below 128. */
function thinkingConfig(model: string, level: ThinkingLevel): JsonObject {
  if (isGemini3(model)) {
    return { thinkingLevel: LEVELS[level], includeThoughts: level !== 'off' };
  }
  const least = model.includes('2.5-pro') ? 128 : 0;
  return { thinkingBudget: Math.max(least, BUDGETS[level]), includeThoughts: level !== 'off' };
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

/** Gemini 3 refuses a call without its signature; this value, from its documentation, marks one made elsewhere. */
const MADE_ELSEWHERE = 'skip_thought_signature_validator';

function callPart(item: Call, model: string): JsonObject {
  const signature = signatureOf(item) || (isGemini3(model) && !isOwn(item) ? MADE_ELSEWHERE : '');
  const functionCall = { name: item.name, args: argumentsObject(item.arguments), ...idOf(item) };
  return { functionCall, ...(signature === '' ? {} : { thoughtSignature: signature }) };
}

function resultParts(item: ItemOf<'tool-result'>, call: Call | undefined): JsonObject[] {
  const text = textOf(item.content);
  const response = item.isError ? { error: text } : { output: text };
  const images = item.content.filter((part) => part.type === 'image').map(contentPart);
  return [
    { functionResponse: { name: call?.name ?? item.callId, response, ...(call ? idOf(call) : {}) } },
    ...images,
  ];
}

function isOwn(item: Call): boolean {
  return item.seal?.wire === 'gemini';
}

/** The wire's own id, where it sent one; ids that we made mean nothing to it. */
function idOf(item: Call): JsonObject {
  return isOwn(item) && typeof item.seal?.data.id === 'string' ? { id: item.seal.data.id } : {};
}

function signatureOf({ seal }: { readonly seal?: Call['seal'] }): string {
  return seal?.wire === 'gemini' ? stringOf(seal.data.signature) : '';
}
