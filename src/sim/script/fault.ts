/** What can go wrong on demand, on every wire. */
export interface Fault {
  readonly kind: FaultKind;
  /** Deltas that still arrive before a fault inside the stream strikes; 2 unless told. */
  readonly after?: number | undefined;
  /** How many requests it hits before the server behaves; absent: always. */
  readonly times?: number | undefined;
  /** The `Retry-After` of a refusal; 1 with `429`, none elsewhere unless told. */
  readonly retryAfterSeconds?: number | undefined;
  /** Pause between two keep-alives of `stall-keepalive`; 1000 unless told. */
  readonly everyMs?: number | undefined;
  /** Size of the delta of `huge-frame`; 4 MiB unless told. */
  readonly bytes?: number | undefined;
}

/** Faults of a stream that began well. */
const STREAM_FAULTS = {
  stall: 'some deltas, then silence',
  'stall-keepalive': "some deltas, then only the wire's keep-alives",
  cut: 'the connection breaks in the middle of a frame',
  'cut-utf8': 'the stream ends inside a character of several bytes',
  'split-bytes': 'every byte in a write of its own',
  'error-in-stream': "an error after some deltas, in the provider's own shape",
  'bare-error': "an error after some deltas, as JSON outside of the stream's framing",
  'malformed-json': 'one frame is no valid JSON; the rest follows',
  'missing-finish': 'everything but the end: no finish marker, a clean close',
} as const;

/** Faults of what is said. */
const ANSWER_FAULTS = {
  'duplicate-tool-ids': 'at least two tool calls, all with one id',
  'huge-frame': 'one more delta, of several megabytes',
} as const;

/** Faults instead of an answer. */
const CONNECTION_FAULTS = {
  'no-response': 'accepts the request and never answers',
  'hang-up': 'closes the connection without an answer',
  html: "a proxy's page with status 200",
} as const;

/** Refusals come as the provider sends them: Gemini says 400 to a bad key, only Anthropic says 529. */
const REFUSAL_FAULTS = {
  '401': "the provider's answer to a bad key",
  '404': "the provider's answer to an unknown model",
  '429': 'a rate limit, with Retry-After',
  '500': 'a failure of the server',
  '529': 'overloaded, with this status whatever the provider',
  overloaded: "overloaded, with the provider's own status",
  'context-too-long': "the provider's answer to a prompt that is too long",
} as const;

/** Every fault, and what it does. */
export const FAULTS = {
  ...STREAM_FAULTS,
  ...ANSWER_FAULTS,
  ...CONNECTION_FAULTS,
  ...REFUSAL_FAULTS,
} as const;

export type FaultKind = keyof typeof FAULTS;
export type StreamFault = keyof typeof STREAM_FAULTS;
export type RefusalFault = keyof typeof REFUSAL_FAULTS;

export function isFault(kind: string): kind is FaultKind {
  return Object.hasOwn(FAULTS, kind);
}

export function isStreamFault(kind: FaultKind): kind is StreamFault {
  return Object.hasOwn(STREAM_FAULTS, kind);
}

export function isRefusal(kind: FaultKind): kind is RefusalFault {
  return Object.hasOwn(REFUSAL_FAULTS, kind);
}

export const FAULT_KINDS: readonly FaultKind[] = Object.keys(FAULTS).filter(isFault);

/** Every way in which a provider refuses a request; each wire has a row for each. */
export type Refusal =
  | 'bad-key'
  | 'no-key'
  | 'unknown-model'
  | 'rate-limit'
  | 'server'
  | 'overloaded'
  | 'context-too-long'
  | 'bad-request';

export const REFUSALS: Record<RefusalFault, Refusal> = {
  '401': 'bad-key',
  '404': 'unknown-model',
  '429': 'rate-limit',
  '500': 'server',
  '529': 'overloaded',
  overloaded: 'overloaded',
  'context-too-long': 'context-too-long',
};
