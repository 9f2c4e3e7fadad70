import {
  arrayOf,
  isObject,
  type JsonObject,
  PolypodError,
  stringOf,
  withoutUndefined,
} from '../../../base/index.ts';
import { type ClientTool, type PodCommandOf, TOOL_NAME } from '../../../pod/index.ts';
import { TEXTS } from '../errors.ts';
import { argumentsFrame } from '../encode/messages.ts';
import type { RpcEvent, RpcHostTool, RpcToolResult } from '../wire.ts';

export interface HostToolsParts {
  readonly send: (event: RpcEvent) => void;
  readonly newId: () => string;
  /** Sends the host's result or update to the pod. A late one is ignored. */
  readonly handle: (command: PodCommandOf<'tool-result'> | PodCommandOf<'tool-update'>) => void;
}

interface OpenCall {
  readonly id: string;
  readonly callId: string;
  partial?: RpcToolResult;
}

/** Tools that the client runs: the offered tools and the pending calls. */
export class HostTools {
  readonly #parts: HostToolsParts;
  #tools: readonly RpcHostTool[] = [];
  readonly #open = new Map<string, OpenCall>();
  /** Unmodified results, until they are sent in an event. */
  readonly #results = new Map<string, RpcToolResult>();

  constructor(parts: HostToolsParts) {
    this.#parts = parts;
  }

  get tools(): readonly RpcHostTool[] {
    return this.#tools;
  }

  /** Replaces the offered tools. */
  offer(tools: readonly RpcHostTool[]): void {
    this.#tools = tools;
  }

  call(callId: string, toolName: string, args: string): void {
    if (!this.#tools.some(({ name }) => name === toolName)) return;
    const id = this.#parts.newId();
    this.#open.set(id, { id, callId });
    this.#parts.send({
      type: 'host_tool_call',
      id,
      toolCallId: callId,
      toolName,
      arguments: argumentsFrame(args),
    });
  }

  cancel(callId: string): void {
    const call = this.#callOf(callId);
    if (call === undefined) return;
    this.#open.delete(call.id);
    this.#parts.send({ type: 'host_tool_cancel', id: this.#parts.newId(), targetId: call.id });
  }

  /** False if the frame is invalid. An unknown id is ignored. */
  update({ id, partialResult }: JsonObject): boolean {
    const result = resultIn(partialResult);
    if (result === undefined || typeof id !== 'string') return false;
    const call = this.#open.get(id);
    if (call === undefined) return true;
    call.partial = result;
    this.#parts.handle({ type: 'tool-update', callId: call.callId, text: textOf(result, '') });
    return true;
  }

  result({ id, result: given, isError }: JsonObject): boolean {
    const result = resultIn(given);
    if (result === undefined || typeof id !== 'string') return false;
    const call = this.#open.get(id);
    if (call === undefined) return true;
    this.#open.delete(id);
    if (isError === true) this.#fail(call, textOf(result, '\n').trim() || TEXTS.hostToolFailed);
    else this.#finish(call, result);
    return true;
  }

  /** The client has disconnected: nobody will answer. */
  disconnect(): void {
    for (const call of this.#open.values()) this.#fail(call, TEXTS.disconnected);
    this.#open.clear();
  }

  /** The host's last update of a pending call. */
  partialOf(callId: string): RpcToolResult | undefined {
    return this.#callOf(callId)?.partial;
  }

  /** Returns the result of a call once, and removes it. */
  takeResult(callId: string): RpcToolResult | undefined {
    const result = this.#results.get(callId);
    this.#results.delete(callId);
    return result;
  }

  #callOf(callId: string): OpenCall | undefined {
    return [...this.#open.values()].find((call) => call.callId === callId);
  }

  #finish({ callId }: OpenCall, result: RpcToolResult): void {
    this.#results.set(callId, result);
    const details = isObject(result.details) ? { details: result.details } : {};
    this.#parts.handle({ type: 'tool-result', callId, content: contentIn(result), ...details });
  }

  #fail({ callId }: OpenCall, text: string): void {
    this.#parts.handle({ type: 'tool-result', callId, content: [{ type: 'text', text }], isError: true });
  }
}

/** Parses the tool definitions. Throws the errors that clients know. */
export function hostToolsIn(value: unknown, taken: readonly string[]): readonly RpcHostTool[] {
  if (!Array.isArray(value))
    throw new PolypodError('bad-request', 'set_host_tools needs "tools", which is a list');
  const tools = value.map((tool, index) => hostToolIn(isObject(tool) ? tool : {}, index));
  const names = tools.map(({ name }) => name);
  if (new Set(names).size < names.length)
    throw new PolypodError('bad-request', 'RPC host tool names must be unique');
  const conflict = names.find((name) => taken.includes(name));
  if (conflict !== undefined)
    throw new PolypodError('bad-request', `RPC host tool "${conflict}" conflicts with an existing tool`);
  return tools;
}

function hostToolIn(tool: JsonObject, index: number): RpcHostTool {
  const name = stringOf(tool.name).trim();
  if (name === '')
    throw new PolypodError('bad-request', `Host tool at index ${index} must provide a non-empty name`);
  if (TOOL_NAME.read(name, [], () => {}) === undefined)
    throw new PolypodError(
      'bad-request',
      `Host tool at index ${index} must have a name of at most 64 letters, digits, _ and -`,
    );
  const description = stringOf(tool.description).trim();
  if (description === '')
    throw new PolypodError('bad-request', `Host tool "${name}" must provide a non-empty description`);
  const { parameters } = tool;
  if (!isObject(parameters))
    throw new PolypodError('bad-request', `Host tool "${name}" must provide a JSON Schema object`);
  return {
    name,
    description,
    parameters,
    label: stringOf(tool.label).trim() || name,
    hidden: tool.hidden === true,
  };
}

/** The tools for the model. */
export function clientTools(tools: readonly RpcHostTool[]): readonly ClientTool[] {
  return tools
    .filter(({ hidden }) => !hidden)
    .map(({ name, description, parameters }) => ({ name, description, parameters }));
}

function resultIn(value: unknown): RpcToolResult | undefined {
  if (!isObject(value) || !Array.isArray(value.content)) return undefined;
  const { isWarning, details } = value;
  return {
    content: value.content.filter(isObject),
    ...withoutUndefined({ details }),
    ...(typeof isWarning === 'boolean' ? { isWarning } : {}),
  };
}

/** The content for the model. An empty result becomes an empty text. */
function contentIn({ content }: RpcToolResult): PodCommandOf<'tool-result'>['content'] {
  const parts = arrayOf(content).flatMap((part): PodCommandOf<'tool-result'>['content'] => {
    const { type, text, data, mimeType } = isObject(part) ? part : {};
    if (type === 'text' && typeof text === 'string') return [{ type, text }];
    if (type !== 'image' || typeof data !== 'string' || typeof mimeType !== 'string') return [];
    return [{ type, mediaType: mimeType, data }];
  });
  return parts.length === 0 ? [{ type: 'text', text: '' }] : parts;
}

function textOf({ content }: RpcToolResult, separator: string): string {
  return content.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join(separator);
}
