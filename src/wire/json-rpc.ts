import { isObject, type JsonObject, readMessage, withoutUndefined } from '../base/index.ts';
import { elementTexts, fieldText } from './raw-json.ts';

/** The error codes of JSON-RPC 2.0. */
export const RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonObject;
}

/** A request or notification of a client. */
export interface RpcCall {
  readonly method: string;
  readonly params: unknown;
  /** JSON text, exactly as the client wrote it; absent for a notification, which gets no response. */
  readonly id?: string;
}

/** One message, or the error that describes what is wrong with it. */
export type JsonRpcMessage = RpcCall | { readonly id: string; readonly error: RpcError };

/** The content of a line: one message, or a batch that gets one response. */
export type RpcLine =
  | { readonly isBatch: false; readonly message: JsonRpcMessage }
  | { readonly isBatch: true; readonly messages: readonly JsonRpcMessage[] };

/** Executes calls; `errorOf` converts whatever `serve` throws to an error. */
export interface RpcService {
  readonly serve: (call: RpcCall) => Promise<unknown>;
  readonly toRpcError: (thrown: unknown) => RpcError;
}

export function parseRpcLine(line: string): RpcLine {
  const read = readMessage(line);
  if ('problem' in read)
    return {
      isBatch: false,
      message:
        read.problem === 'too-deep'
          ? invalid(NO_ID, read.reason)
          : errorMessage(NO_ID, RPC_CODES.parseError, 'Parse error'),
    };
  const { value } = read;
  if (!Array.isArray(value)) return { isBatch: false, message: parseMessage(value, () => line) };
  if (value.length === 0) return { isBatch: false, message: invalid(NO_ID, 'a batch must not be empty') };
  let texts: readonly string[] | undefined;
  const textAt = (index: number): string => (texts ??= elementTexts(line))[index] ?? '';
  return {
    isBatch: true,
    messages: value.map((part, index) => parseMessage(part, () => textAt(index))),
  };
}

/**
 * Returns the response to a line, without line end, or undefined if nothing has to be answered. Calls of a
 * batch run in order.
 */
export async function answerRpc(line: RpcLine, service: RpcService): Promise<string | undefined> {
  if (!line.isBatch) return answer(line.message, service);
  const replies: string[] = [];
  for (const message of line.messages) {
    const reply = await answer(message, service);
    if (reply !== undefined) replies.push(reply);
  }
  return replies.length === 0 ? undefined : `[${replies.join(',')}]`;
}

/** `id` is JSON text. */
export function rpcResult(result: unknown, id: string): string {
  return `{"jsonrpc":"2.0","result":${JSON.stringify(result) ?? 'null'},"id":${id}}`;
}

export function rpcError(error: RpcError, id: string): string {
  return `{"jsonrpc":"2.0","error":${JSON.stringify(error)},"id":${id}}`;
}

/** For responses without a request id. */
export const NO_ID = 'null';

async function answer(
  message: JsonRpcMessage,
  { serve, toRpcError }: RpcService,
): Promise<string | undefined> {
  if ('error' in message) return rpcError(message.error, message.id);
  const { id } = message;
  try {
    const result = await serve(message);
    return id === undefined ? undefined : rpcResult(result, id);
  } catch (thrown) {
    const error = toRpcError(thrown);
    return id === undefined ? undefined : rpcError(error, id);
  }
}

function parseMessage(value: unknown, text: () => string): JsonRpcMessage {
  if (!isObject(value)) return invalid(NO_ID, 'must be an object');
  const id = value.id === undefined ? undefined : idText(value.id, text);
  const { jsonrpc, method, params } = value;
  if (jsonrpc !== '2.0') return invalid(id ?? NO_ID, 'must be JSON-RPC 2.0');
  // A missing method is an unknown method; a method that is not a string is an invalid request.
  if (method !== undefined && typeof method !== 'string')
    return invalid(id ?? NO_ID, 'method must be a string');
  return { method: method ?? '', params, ...withoutUndefined({ id }) };
}

function idText(id: unknown, text: () => string): string {
  const isKept = typeof id !== 'number' || Number.isSafeInteger(id);
  return (isKept ? undefined : fieldText(text(), 'id')) ?? JSON.stringify(id);
}

function invalid(id: string, reason: string): JsonRpcMessage {
  return errorMessage(id, RPC_CODES.invalidRequest, `Invalid request: ${reason}`);
}

function errorMessage(id: string, code: number, message: string): JsonRpcMessage {
  return { id, error: { code, message } };
}
