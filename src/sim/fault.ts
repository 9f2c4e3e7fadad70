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

/** Refusals: an HTTP error in the provider's own shape, and what it says. */
export const REFUSALS = {
  '401': 'bad-key',
  '404': 'unknown-model',
  '429': 'rate-limit',
  '500': 'server',
  '529': 'overloaded',
  overloaded: 'overloaded',
  'context-too-long': 'context-too-long',
} as const satisfies Record<string, Refusal>;

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

export const STREAM_FAULTS = [
  'stall',
  'stall-keepalive',
  'cut',
  'cut-utf8',
  'split-bytes',
  'error-in-stream',
  'bare-error',
  'malformed-json',
  'missing-finish',
] as const;

export const ANSWER_FAULTS = ['duplicate-tool-ids', 'huge-frame'] as const;

export const CONNECTION_FAULTS = ['no-response', 'hang-up', 'html'] as const;

export type RefusalFault = keyof typeof REFUSALS;
export type StreamFault = (typeof STREAM_FAULTS)[number];
export type AnswerFault = (typeof ANSWER_FAULTS)[number];
export type ConnectionFault = (typeof CONNECTION_FAULTS)[number];
export type FaultKind = RefusalFault | StreamFault | AnswerFault | ConnectionFault;

export function isRefusal(kind: string): kind is RefusalFault {
  return Object.hasOwn(REFUSALS, kind);
}

export const FAULT_KINDS: readonly FaultKind[] = [
  ...STREAM_FAULTS,
  ...ANSWER_FAULTS,
  ...CONNECTION_FAULTS,
  ...Object.keys(REFUSALS).filter(isRefusal),
];

export function isStreamFault(kind: FaultKind): kind is StreamFault {
  return (STREAM_FAULTS as readonly string[]).includes(kind);
}
