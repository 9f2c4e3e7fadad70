import {
  type ErrorCode,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  PolypodError,
  stringOf,
  tryParse,
  withoutUndefined,
} from '../base/index.ts';
import type { WireEvents } from '../protocols/pod/wire.ts';

/**
 * An event of a pod, described in docs/protocols/pod.md: `event` determines the type of `data`. A newer pod can send other events, so
 * ignore those that you do not know.
 */
export type PodLine<K extends keyof WireEvents = keyof WireEvents> = {
  [E in K]: {
    readonly event: E;
    readonly data: WireEvents[E];
    /** The number of the last pod event that the line covers. */
    readonly seq?: number;
  };
}[K];

/** A line from a pod before its event is known, and the response to a call. */
export interface PodReply {
  readonly event: string;
  readonly data: JsonObject;
  /** The number of the last pod event that the line covers; responses have none. */
  readonly seq?: number;
  /** For a response: the call's request id. */
  readonly requestId?: string;
}

/** Represents an error of the daemon's socket, for example if it does not know the pod. */
export const REFUSED_EVENT = 'refused';

/** Returns undefined if the line is not an event. */
export function parseLine(text: string): PodReply | undefined {
  const value = tryParse(text);
  if (!isObject(value)) return undefined;
  const { event, data } = isObject(value.error) ? { event: REFUSED_EVENT, data: value.error } : value;
  if (typeof event !== 'string') return undefined;
  const [seq, requestId] = [numberOf(value.seq), stringOf(value.request_id)];
  return {
    event,
    data: objectOf(data),
    ...withoutUndefined({ seq }),
    ...(requestId === '' ? {} : { requestId }),
  };
}

/** Converts an error line to a PolypodError. */
export function lineError({ data }: PodReply): PolypodError {
  const code = stringOf(data.code);
  return new PolypodError(CODES[code] ?? 'internal', stringOf(data.message) || 'the pod sent no reason');
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
