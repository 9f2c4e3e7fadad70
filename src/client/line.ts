import {
  type ErrorCode,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  PolypodError,
  stringOf,
  tryParse,
} from '../base/index.ts';

/** A line from a pod. What its events are called and carry is in docs/protocols/pod.md. */
export interface PodLine {
  readonly event: string;
  readonly data: JsonObject;
  /** The number of the last event of the pod that it covers; answers have none. */
  readonly seq?: number;
  /** Of an answer: which call it is for. */
  readonly requestId?: string;
}

/** Not an event of a pod: the daemon's socket refuses in words of its own when it does not know the pod. */
export const REFUSED = 'refused';

/** Undefined for what is no event. */
export function readLine(text: string): PodLine | undefined {
  const value = tryParse(text);
  if (!isObject(value)) return undefined;
  const { event, data } = isObject(value.error) ? { event: REFUSED, data: value.error } : value;
  if (typeof event !== 'string') return undefined;
  const [seq, requestId] = [numberOf(value.seq), stringOf(value.request_id)];
  return {
    event,
    data: objectOf(data),
    ...(seq === undefined ? {} : { seq }),
    ...(requestId === '' ? {} : { requestId }),
  };
}

/** The error in a line that is one, as if it had been thrown here. */
export function errorIn({ data }: PodLine): PolypodError {
  const code = stringOf(data.code);
  return new PolypodError(CODES[code] ?? 'internal', stringOf(data.message) || 'the pod gave no reason');
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  already_running: 'conflict',
  not_running: 'conflict',
  not_paused: 'conflict',
  conflict: 'conflict',
  provider_error: 'provider-failed',
  tool_error: 'tool-failed',
  invalid_request: 'bad-request',
  'bad-request': 'bad-request',
  not_found: 'not-found',
  'not-found': 'not-found',
  denied: 'denied',
  overloaded: 'overloaded',
};
