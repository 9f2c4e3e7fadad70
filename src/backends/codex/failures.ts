import {
  arrayOf,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  tryParse,
} from '../../base/index.ts';
import type { Failure, FailureKind } from '../../llm/index.ts';

/** Converts an error of a turn. The message of a provider may be JSON. */
export function failureOf(error: JsonObject): Failure {
  const { codexErrorInfo: about } = error;
  const [code = '', fields] =
    typeof about === 'string' ? [about] : (Object.entries(objectOf(about))[0] ?? []);
  const httpStatus = numberOf(objectOf(fields).httpStatusCode);
  const message = stringOf(error.additionalDetails) || providerMessage(stringOf(error.message));
  return {
    kind: KINDS[code] ?? (httpStatus === undefined ? 'provider' : kindForStatus(httpStatus)),
    message: message || code || 'Codex gave no reason',
    ...(code === '' ? {} : { code }),
    ...(httpStatus === undefined ? {} : { httpStatus }),
  };
}

/** Converts an error answer to a request. */
export function requestFailure(message: string): Failure {
  return { kind: 'invalid-request', message };
}

function providerMessage(text: string): string {
  const body = tryParse(text);
  const root = objectOf(Array.isArray(body) ? arrayOf(body)[0] : body);
  const error = isObject(root.error) ? root.error : root;
  return stringOf(error.message) || text;
}

function kindForStatus(status: number): FailureKind {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate-limit';
  return status >= 500 ? 'server' : 'invalid-request';
}

const KINDS: Readonly<Record<string, FailureKind>> = {
  unauthorized: 'auth',
  usageLimitExceeded: 'quota',
  sessionBudgetExceeded: 'quota',
  rateLimitExceeded: 'rate-limit',
  serverOverloaded: 'overloaded',
  flexUnavailable: 'overloaded',
  policyCapacityUnavailable: 'overloaded',
  contextWindowExceeded: 'context-too-long',
  modelNotFound: 'unknown-model',
  badRequest: 'invalid-request',
  internalServerError: 'server',
};
