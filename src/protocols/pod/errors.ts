import { type ErrorCode, errorText, type PolypodError } from '../../base/index.ts';
import type { SeedErrorCode, WireErrorCode } from './wire.ts';

/** Our codes as the wire has them: for every client, and for one that has asked for extras. */
const CODES: Readonly<Record<ErrorCode, readonly [SeedErrorCode, WireErrorCode]>> = {
  'bad-request': ['internal', 'invalid_request'],
  'unknown-method': ['internal', 'invalid_request'],
  'not-found': ['internal', 'not_found'],
  conflict: ['internal', 'conflict'],
  denied: ['internal', 'denied'],
  overloaded: ['internal', 'overloaded'],
  'provider-failed': ['provider_error', 'provider_error'],
  'tool-failed': ['tool_error', 'tool_error'],
  internal: ['internal', 'internal'],
};

/** What a conflict means to those methods for which the wire has a word of its own. */
const CONFLICTS: Readonly<Record<string, SeedErrorCode>> = {
  run: 'already_running',
  resume: 'not_paused',
  cancel: 'not_running',
  pause: 'not_running',
};

/** Refusals that say something about the pod, and so are told to all its clients. */
const BROADCAST: ReadonlySet<WireErrorCode> = new Set(['already_running', 'not_running', 'not_paused']);

export interface Refusal {
  readonly plain: SeedErrorCode;
  readonly extended: WireErrorCode;
  readonly message: string;
  readonly isBroadcast: boolean;
}

/** How a client is told that a line of its was refused. */
export function refusalOf({ code, message }: PolypodError, method: string | undefined): Refusal {
  const own = code === 'conflict' && method !== undefined ? CONFLICTS[method] : undefined;
  const [plain, extended] = own === undefined ? CODES[code] : [own, own];
  return { plain, extended, message: errorText(message), isBroadcast: BROADCAST.has(extended) };
}
