import {
  asPolypodError,
  type ErrorCode,
  truncateErrorMessage,
  isObject,
  messageOf,
  PolypodError,
} from '../../base/index.ts';
import { RPC_CODES, type RpcError } from '../../wire/index.ts';

/** Maps error codes to the codes of JSON-RPC: those for an invalid call, and those for a call that failed. */
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
    message: truncateErrorMessage(message),
    ...(field === undefined ? {} : { data: { field } }),
  };
}

/** A parameter is missing or invalid. The error data names it. */
export function wrongField(field: string, message: string): PolypodError {
  return new PolypodError('bad-request', message, { cause: { field } });
}

export function noSession(doing: string, id: string): PolypodError {
  return new PolypodError('not-found', `${doing}: session not found: ${id}`);
}

/** Prefixes the message of an error with the operation that failed, as clients expect it. */
export function withOperation(doing: string, thrown: unknown): PolypodError {
  const { code } = asPolypodError(thrown);
  // The parameters were valid, but the operation failed.
  const outcome = code === 'bad-request' ? 'conflict' : code;
  return new PolypodError(outcome, `${doing}: ${messageOf(thrown)}`, { cause: thrown });
}
