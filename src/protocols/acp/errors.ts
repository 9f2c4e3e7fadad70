import {
  asPolypodError,
  type ErrorCode,
  isObject,
  type JsonObject,
  PolypodError,
  truncateErrorMessage,
} from '../../base/index.ts';
import { RPC_CODES, type RpcError } from '../../wire/index.ts';
import { ACP_CODES } from './wire.ts';

const CODES: Readonly<Record<ErrorCode, number>> = {
  'bad-request': RPC_CODES.invalidParams,
  'unknown-method': RPC_CODES.methodNotFound,
  'not-found': ACP_CODES.notFound,
  conflict: RPC_CODES.internalError,
  denied: RPC_CODES.internalError,
  overloaded: RPC_CODES.internalError,
  unreachable: RPC_CODES.internalError,
  'provider-failed': RPC_CODES.internalError,
  'tool-failed': RPC_CODES.internalError,
  internal: RPC_CODES.internalError,
};

/** A code that the protocol defines, in the cause of an error. */
interface CodedCause {
  readonly acpCode?: number;
  readonly data?: JsonObject;
}

export function rpcErrorOf(thrown: unknown): RpcError {
  const { code, message, cause } = asPolypodError(thrown);
  const { acpCode, data }: CodedCause = isObject(cause) ? cause : {};
  const text = truncateErrorMessage(message);
  // Zed shows `details` of an internal error instead of its message.
  return { code: acpCode ?? CODES[code], message: text, data: { details: text, ...data } };
}

/** A parameter is missing or invalid. The error data names it. */
export function invalidParam(field: string, message: string): PolypodError {
  return new PolypodError('bad-request', `${field} ${message}`, { cause: { data: { field } } });
}

export function authRequired(message: string): PolypodError {
  return new PolypodError('denied', message, { cause: { acpCode: ACP_CODES.authRequired } });
}

/** The configuration or the models cannot be used. No parameter of the request is wrong. */
export function invalidConfiguration(message: string): PolypodError {
  return new PolypodError(
    'bad-request',
    `${message}\nCorrect it and try again. "polypod doctor" checks the whole configuration.`,
    {
      cause: { acpCode: RPC_CODES.internalError },
    },
  );
}

export function isAuthRequired({ cause }: PolypodError): boolean {
  return isObject(cause) && cause.acpCode === ACP_CODES.authRequired;
}

export function unknownSession(sessionId: string): PolypodError {
  return new PolypodError('not-found', `no session has the id ${sessionId}: list them with session/list`, {
    cause: { data: { sessionId } },
  });
}

export function invalidRequest(message: string): PolypodError {
  return new PolypodError('bad-request', message, { cause: { acpCode: RPC_CODES.invalidRequest } });
}
