import {
  asPolypodError,
  type ErrorCode,
  errorText,
  isObject,
  messageOf,
  PolypodError,
} from '../../base/index.ts';
import { RPC_CODES, type RpcError } from '../../wire/index.ts';

/** Our codes as JSON-RPC has them: what is wrong with the call itself, and what is wrong with the world. */
const CODES: Readonly<Record<ErrorCode, number>> = {
  'bad-request': RPC_CODES.invalidParams,
  'unknown-method': RPC_CODES.methodNotFound,
  'not-found': RPC_CODES.internalError,
  conflict: RPC_CODES.internalError,
  denied: RPC_CODES.internalError,
  overloaded: RPC_CODES.internalError,
  unreachable: RPC_CODES.internalError,
  'provider-failed': RPC_CODES.internalError,
  'tool-failed': RPC_CODES.internalError,
  internal: RPC_CODES.internalError,
};

export function rpcErrorOf(thrown: unknown): RpcError {
  const { code, message, cause } = asPolypodError(thrown);
  const field = isObject(cause) && typeof cause.field === 'string' ? cause.field : undefined;
  return {
    code: CODES[code],
    message: errorText(message),
    ...(field === undefined ? {} : { data: { field } }),
  };
}

/** A parameter is missing or wrong; which one is told beside the sentence. */
export function wrongField(field: string, message: string): PolypodError {
  return new PolypodError('bad-request', message, { cause: { field } });
}

export function noSession(doing: string, id: string): PolypodError {
  return new PolypodError('not-found', `${doing}: session not found: ${id}`);
}

/** The same refusal with what was being done in front, as clients know it. */
export function whileDoing(doing: string, thrown: unknown): PolypodError {
  const { code } = asPolypodError(thrown);
  // The values were right; what they ask for could not be done.
  const outcome = code === 'bad-request' ? 'conflict' : code;
  return new PolypodError(outcome, `${doing}: ${messageOf(thrown)}`, { cause: thrown });
}
