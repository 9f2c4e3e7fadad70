/** A fault to inject, available for every provider API. */
export interface Fault {
  readonly kind: FaultKind;
  /** Deltas to send before a fault inside the stream; default 2. */
  readonly after?: number | undefined;
  /** How many requests it affects before the server recovers; absent: all. */
  readonly times?: number | undefined;
  /** The `Retry-After` of an error; default 1 with `429`, otherwise none. */
  readonly retryAfterSeconds?: number | undefined;
  /** Delay between two keep-alives of `stall-keepalive`; default 1000. */
  readonly everyMs?: number | undefined;
  /** Size of the delta of `huge-frame`; default 4 MiB. */
  readonly bytes?: number | undefined;
}

/** Faults inside a stream that started normally. */
const STREAM_FAULTS = {
  stall: 'some deltas, then silence',
  'stall-keepalive': "some deltas, then only the provider's keep-alives",
  cut: 'the connection breaks in the middle of a frame',
  'cut-utf8': 'the stream ends inside a multi-byte character',
  'split-bytes': 'every byte in a separate write',
  'error-in-stream': "an error after some deltas, in the provider's own shape",
  'bare-error': "an error after some deltas, as JSON outside the stream's framing",
  'malformed-json': 'one frame is invalid JSON; the rest follows',
  'missing-finish': 'everything but the finish marker, then a clean close',
} as const;

/** Faults in the content of the answer. */
const ANSWER_FAULTS = {
  'duplicate-tool-ids': 'at least two tool calls, all with the same id',
  'huge-frame': 'one additional delta of several megabytes',
} as const;

/** Faults that replace the response. */
const CONNECTION_FAULTS = {
  'no-response': 'accepts the request and never answers',
  'hang-up': 'closes the connection without a response',
  html: "a proxy's page with status 200",
} as const;

/** Errors in the provider's own form: Gemini returns 400 for a bad key, only Anthropic returns 529. */
const ERROR_FAULTS = {
  '401': "the provider's answer to a bad key",
  '404': "the provider's answer to an unknown model",
  '429': 'a rate limit, with Retry-After',
  '500': 'an internal server error',
  '529': 'overloaded, with status 529 for every provider',
  overloaded: "overloaded, with the provider's own status",
  'context-too-long': "the provider's answer to a prompt that is too long",
} as const;

/** All faults with their descriptions. */
export const FAULTS = {
  ...STREAM_FAULTS,
  ...ANSWER_FAULTS,
  ...CONNECTION_FAULTS,
  ...ERROR_FAULTS,
} as const;

export type FaultKind = keyof typeof FAULTS;
export type StreamFault = keyof typeof STREAM_FAULTS;
export type ErrorFault = keyof typeof ERROR_FAULTS;

export function isFault(kind: string): kind is FaultKind {
  return Object.hasOwn(FAULTS, kind);
}

export function isStreamFault(kind: FaultKind): kind is StreamFault {
  return Object.hasOwn(STREAM_FAULTS, kind);
}

export function isErrorFault(kind: FaultKind): kind is ErrorFault {
  return Object.hasOwn(ERROR_FAULTS, kind);
}

export const FAULT_KINDS: readonly FaultKind[] = Object.keys(FAULTS).filter(isFault);

/** Every way in which a provider refuses a request; each wire has a row for each. */
export type ProviderError =
  | 'bad-key'
  | 'no-key'
  | 'unknown-model'
  | 'rate-limit'
  | 'server'
  | 'overloaded'
  | 'context-too-long'
  | 'bad-request';

export const PROVIDER_ERRORS: Record<ErrorFault, ProviderError> = {
  '401': 'bad-key',
  '404': 'unknown-model',
  '429': 'rate-limit',
  '500': 'server',
  '529': 'overloaded',
  overloaded: 'overloaded',
  'context-too-long': 'context-too-long',
};
