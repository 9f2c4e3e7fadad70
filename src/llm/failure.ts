import {
  isObject,
  messageOf,
  PolypodError,
  numberOf,
  objectOf,
  stringOf,
  systemCodeOf,
  tryParse,
  withoutUndefined,
  ellipsize,
  withTrustHint,
} from '../base/index.ts';
import type { Failure, FailureKind } from './event.ts';

/** Creates a failure and refines its kind by the message, for example for a prompt that exceeds the context window. */
export function createFailure(details: {
  readonly kind: FailureKind;
  readonly message: string;
  readonly code?: string;
  readonly httpStatus?: number;
  readonly retryAfterMs?: number | undefined;
}): Failure {
  const { code, httpStatus, retryAfterMs } = details;
  return {
    kind: refineKind(details.kind, `${code ?? ''} ${details.message}`),
    message: details.message || code || 'the provider gave no reason',
    ...(code ? { code } : {}),
    ...withoutUndefined({ httpStatus, retryAfterMs }),
  };
}

/** Classifies an HTTP error response. Most APIs put a message into `error`, most of them also a code or type. */
export function httpFailure(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): Failure {
  const { message, code: stated } = errorFields(tryParse(body));
  // Amazon names the error in a header: `ThrottlingException:http://…`.
  const amazonType = (headers['x-amzn-errortype'] ?? '').replace(/:.*/, '');
  const code = stated || amazonType;
  return createFailure({
    kind: AMAZON_CODES[lowerFirst(amazonType)] ?? kindForStatus(status),
    message: message || plainText(body) || `HTTP ${status}`,
    code,
    httpStatus: status,
    retryAfterMs: retryAfter(headers),
  });
}

/** Classifies an error that was thrown while connecting or reading. */
export function networkFailure(thrown: unknown, url: string, answerBegan: boolean): Failure {
  // One of our own transports, such as the cassette player, rejected the request.
  if (thrown instanceof PolypodError)
    return createFailure({ kind: 'invalid-request', message: thrown.message });
  const code = systemCodeOf(thrown) ?? '';
  if (answerBegan)
    return createFailure({ kind: 'cut-off', message: `the connection broke (${messageOf(thrown)})`, code });
  return createFailure({
    kind: 'network',
    message: withTrustHint(`cannot reach ${originOf(url)}: ${messageOf(thrown)}`, code),
    code,
  });
}

/** Classifies an error that a provider sent in its stream, in any provider's format. */
export function failureFromBody(body: unknown): Failure {
  const { message, code, type } = errorFields(body);
  const kind = kindForCode(code) ?? kindForCode(type) ?? 'provider';
  return createFailure({ kind, message, code, retryAfterMs: parseRetryDelay(message) });
}

/** Reads `{error:{message,type,code,status}}`, `{error:"…"}`, `{message}`, `{Message}`, `{detail}`, or an array of one of them. */
export function errorFields(body: unknown): { message: string; code: string; type: string } {
  const root = objectOf(Array.isArray(body) ? body[0] : body);
  const error = isObject(root.error) ? root.error : root;
  const type = error === root ? '' : stringOf(error.type);
  const named = stringOf(error.code) || stringOf(error.status) || type;
  const code = named || String(numberOf(error.code) ?? numberOf(error.status) ?? '');
  return {
    message:
      stringOf(root.error) || stringOf(error.message) || stringOf(error.Message) || stringOf(root.detail),
    code,
    type,
  };
}

/** Parses the delay from the message ("Please try again in 1.5s"), since an error in a stream has no headers. */
function parseRetryDelay(message: string): number | undefined {
  const [, amount, unit] =
    /\b(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|seconds?)\b/i.exec(message) ?? [];
  if (amount === undefined) return undefined;
  return Math.ceil(Number(amount) * (unit?.toLowerCase() === 'ms' ? 1 : 1000));
}

/** Milliseconds to wait, from `retry-after-ms` or `retry-after` in seconds or as a date. */
export function retryAfter(headers: Readonly<Record<string, string>>, now = Date.now()): number | undefined {
  const exact = numberOf(Number.parseFloat(headers['retry-after-ms'] ?? ''));
  if (exact !== undefined) return Math.max(0, exact);
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Maps a provider's error code, or an HTTP status as text, to a failure kind. */
function kindForCode(code: string): FailureKind | undefined {
  return /^\d{3}$/.test(code) ? kindForStatus(Number(code)) : (CODES[code] ?? AMAZON_CODES[lowerFirst(code)]);
}

/** Amazon's exceptions have an upper-case name in HTTP errors and a lower-case one in streams. */
const AMAZON_CODES: Readonly<Record<string, FailureKind>> = {
  accessDeniedException: 'auth',
  expiredTokenException: 'auth',
  invalidSignatureException: 'auth',
  missingAuthenticationTokenException: 'auth',
  unrecognizedClientException: 'auth',
  serviceQuotaExceededException: 'quota',
  throttlingException: 'rate-limit',
  modelNotReadyException: 'overloaded',
  serviceUnavailableException: 'overloaded',
  resourceNotFoundException: 'unknown-model',
  validationException: 'invalid-request',
  modelTimeoutException: 'timeout',
  internalServerException: 'server',
  modelErrorException: 'server',
  modelStreamErrorException: 'server',
};

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const CODES: Readonly<Record<string, FailureKind>> = {
  authentication_error: 'auth',
  permission_error: 'auth',
  invalid_api_key: 'auth',
  UNAUTHENTICATED: 'auth',
  PERMISSION_DENIED: 'auth',
  billing_error: 'quota',
  insufficient_quota: 'quota',
  rate_limit_error: 'rate-limit',
  rate_limit_exceeded: 'rate-limit',
  RESOURCE_EXHAUSTED: 'rate-limit',
  overloaded_error: 'overloaded',
  server_is_overloaded: 'overloaded',
  slow_down: 'overloaded',
  UNAVAILABLE: 'overloaded',
  not_found_error: 'unknown-model',
  model_not_found: 'unknown-model',
  NOT_FOUND: 'unknown-model',
  invalid_request_error: 'invalid-request',
  invalid_prompt: 'invalid-request',
  INVALID_ARGUMENT: 'invalid-request',
  FAILED_PRECONDITION: 'invalid-request',
  request_too_large: 'context-too-long',
  context_length_exceeded: 'context-too-long',
  timeout_error: 'timeout',
  DEADLINE_EXCEEDED: 'timeout',
  api_error: 'server',
  server_error: 'server',
  internal_error: 'server',
  internal_server_error: 'server',
  INTERNAL: 'server',
  damaged_stream: 'malformed',
};

function kindForStatus(status: number): FailureKind {
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'quota';
  if (status === 404) return 'unknown-model';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 413) return 'context-too-long';
  if (status === 425 || status === 429) return 'rate-limit';
  if (status === 503 || status === 529) return 'overloaded';
  if (status >= 500) return 'server';
  return 'invalid-request';
}

function refineKind(kind: FailureKind, text: string): FailureKind {
  // Amazon limits tokens per minute with "Too many tokens, please wait before trying again."
  if (CONTEXT_WORDS.test(text) && REFINABLE.has(kind) && !/please wait/i.test(text))
    return 'context-too-long';
  if (QUOTA_WORDS.test(text)) return 'quota';
  if (AUTH_WORDS.test(text) && REFINABLE.has(kind)) return 'auth';
  if (MODEL_WORDS.test(text) && REFINABLE.has(kind)) return 'unknown-model';
  // Only if nothing else is known: these words also occur in messages about other problems.
  if (kind === 'provider' && RATE_WORDS.test(text)) return 'rate-limit';
  if (kind === 'provider' && LOAD_WORDS.test(text)) return 'overloaded';
  return kind;
}

const REFINABLE: ReadonlySet<FailureKind> = new Set(['invalid-request', 'provider', 'server', 'rate-limit']);
const CONTEXT_WORDS =
  /context_length_exceeded|(?:prompt|input) (?:is )?too long|exceeded max context length|maximum context length|context window|input token count.{0,40}exceeds|exceeds the (?:model's )?(?:maximum|context)|too many (?:input )?tokens|request_too_large/i;
// Google mentions quota and billing in every rate limit error, so those words alone do not count.
const QUOTA_WORDS = /insufficient_quota|credit balance is too low|billing_hard_limit/i;
const AUTH_WORDS = /invalid_api_key|api key not valid|incorrect api key|API_KEY_INVALID|invalid x-api-key/i;
const MODEL_WORDS =
  /model_not_found|model .{0,80}(?:not found|does not exist)|unknown model|model identifier is invalid/i;

const RATE_WORDS = /rate.?limit|too many requests/i;
const LOAD_WORDS = /overloaded|server (?:is )?busy|at capacity/i;

/** An error page or plain text, shortened to one line. */
function plainText(body: string): string {
  const text = body
    .replace(/<(script|style)[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return ellipsize(text, 200);
}

export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}
