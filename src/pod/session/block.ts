import { isObject, type JsonObject, MESSAGE_DEPTH, objectOf, stringOf, tryParse } from '../../base/index.ts';
import type { Item, Seal, ProviderApi } from '../../llm/index.ts';

/** pi's and xcsh's names of the provider API that produced an answer. */
export function apiOf(wire: ProviderApi): string {
  return APIS[wire];
}

const APIS: Readonly<Record<ProviderApi, string>> = {
  anthropic: 'anthropic-messages',
  'openai-chat': 'openai-completions',
  'openai-responses': 'openai-responses',
  gemini: 'google-generative-ai',
  // Other programs do not use this name; it only tells us that thoughts may be sent back.
  ollama: 'ollama',
  bedrock: 'bedrock-converse-stream',
};

const WIRE_BY_API: ReadonlyMap<string, ProviderApi> = new Map([
  ['anthropic-messages', 'anthropic'],
  ['openai-completions', 'openai-chat'],
  ['openai-responses', 'openai-responses'],
  ['azure-openai-responses', 'openai-responses'],
  ['openai-codex-responses', 'openai-responses'],
  ['google-generative-ai', 'gemini'],
  ['google-gemini-cli', 'gemini'],
  ['google-vertex', 'gemini'],
  ['ollama', 'ollama'],
  ['bedrock-converse-stream', 'bedrock'],
]);

/** The item that a block of an answer represents; undefined for an unknown block. */
export function itemOfBlock(block: JsonObject, api: string): Item | undefined {
  const wire = WIRE_BY_API.get(api);
  switch (block.type) {
    case 'text': {
      const seal = textSeal(stringOf(block.textSignature), wire);
      const content = [{ type: 'text' as const, text: stringOf(block.text) }];
      return { type: 'message', role: 'assistant', content, ...seal };
    }
    case 'thinking':
      // pi's spelling of a redacted thought.
      if (block.redacted === true) return redacted(stringOf(block.thinkingSignature), wire);
      return {
        type: 'reasoning',
        text: stringOf(block.thinking),
        ...thoughtSeal(stringOf(block.thinkingSignature), wire),
      };
    case 'redactedThinking':
      return redacted(stringOf(block.data), wire);
    case 'toolCall':
      return {
        type: 'tool-call',
        callId: callIdOf(stringOf(block.id)),
        name: stringOf(block.name),
        arguments: JSON.stringify(objectOf(block.arguments)),
        ...callSeal(stringOf(block.thoughtSignature), wire),
      };
    default:
      return undefined;
  }
}

/** pi joins the two ids of a Responses call with a bar; the provider pairs calls and results by the first. */
export function callIdOf(id: string): string {
  const bar = id.indexOf('|');
  return bar > 0 ? id.slice(0, bar) : id;
}

/** The blocks that show an item of an answer to other programs. What blocks cannot express is stored next to them. */
export function blocksOfItem(item: Item, api: string): readonly JsonObject[] {
  const wire = WIRE_BY_API.get(api);
  switch (item.type) {
    case 'message': {
      const signature =
        item.seal?.wire === 'gemini' && wire === 'gemini' ? item.seal.data.signature : undefined;
      return item.content.flatMap((part) =>
        part.type === 'text'
          ? [{ type: 'text', text: part.text, ...signed('textSignature', signature) }]
          : [],
      );
    }
    case 'reasoning': {
      const own = item.seal?.wire === wire ? item.seal?.data : undefined;
      if ((wire === 'anthropic' || wire === 'bedrock') && typeof own?.redacted === 'string')
        return [{ type: 'redactedThinking', data: own.redacted }];
      return [
        {
          type: 'thinking',
          thinking: item.text,
          ...signed('thinkingSignature', own && signatureOf(own, wire)),
        },
      ];
    }
    case 'tool-call': {
      const signature =
        item.seal?.wire === 'gemini' && wire === 'gemini' ? item.seal.data.signature : undefined;
      const { callId: id, name } = item;
      return [
        {
          type: 'toolCall',
          id,
          name,
          arguments: argumentsIn(item.arguments),
          ...signed('thoughtSignature', signature),
        },
      ];
    }
    default:
      return [];
  }
}

/** Empty if the text is no object, or is nested too deep to be written. */
function argumentsIn(text: string): JsonObject {
  return objectOf(tryParse(text, MESSAGE_DEPTH));
}

function signed(key: string, signature: unknown): JsonObject {
  return typeof signature === 'string' && signature !== '' ? { [key]: signature } : {};
}

function signatureOf(data: JsonObject, wire: ProviderApi | undefined): unknown {
  switch (wire) {
    case 'anthropic':
    case 'bedrock':
    case 'gemini':
      return data.signature;
    case 'openai-responses':
      return JSON.stringify({ type: 'reasoning', ...data });
    case 'openai-chat':
      return data.field;
    default:
      return undefined;
  }
}

function redacted(data: string, wire: ProviderApi | undefined): Item {
  const seal = { wire: wire === 'bedrock' ? wire : 'anthropic', data: { redacted: data } };
  return { type: 'reasoning', text: '', seal };
}

interface Sealed {
  readonly seal?: Seal;
}

function textSeal(signature: string, wire: ProviderApi | undefined): Sealed {
  if (signature === '') return {};
  if (wire === 'gemini') return { seal: { wire, data: { signature } } };
  if (wire !== 'openai-responses') return {};
  const phase = objectOf(tryParse(signature)).phase;
  return typeof phase === 'string' ? { seal: { wire, data: { phase } } } : {};
}

function thoughtSeal(signature: string, wire: ProviderApi | undefined): Sealed {
  if (wire === 'ollama') return { seal: { wire, data: {} } };
  if (signature === '' || wire === undefined) return {};
  if (wire === 'openai-chat') return { seal: { wire, data: { field: signature } } };
  if (wire !== 'openai-responses') return { seal: { wire, data: { signature } } };
  const thought = tryParse(signature);
  if (!isObject(thought)) return {};
  const { type: _, ...data } = thought;
  return { seal: { wire, data } };
}

/** Calls that Gemini made without a signature are still its own; a foreign call would need a marker. */
function callSeal(signature: string, wire: ProviderApi | undefined): Sealed {
  if (wire !== 'gemini') return {};
  return { seal: { wire, data: signature === '' ? {} : { signature } } };
}
