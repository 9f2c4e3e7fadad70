import {
  type ErrorCode,
  truncateErrorMessage,
  type PolypodError,
  WrongStateError,
} from '../../base/index.ts';
import { KeyReused } from '../../pod/index.ts';
import type { SeedErrorCode, WireErrorCode } from './wire.ts';
import { toExtended, toPlain, type WireLine } from './encode/wire-lines.ts';

/** Maps error codes to those of the protocol: for every client, and for clients with extras. */
const CODES: Readonly<Record<ErrorCode, readonly [SeedErrorCode, WireErrorCode]>> = {
  'bad-request': ['internal', 'invalid_request'],
  'unknown-method': ['internal', 'invalid_request'],
  'not-found': ['internal', 'not_found'],
  conflict: ['internal', 'conflict'],
  denied: ['internal', 'denied'],
  overloaded: ['internal', 'overloaded'],
  unreachable: ['provider_error', 'provider_error'],
  'provider-failed': ['provider_error', 'provider_error'],
  'tool-failed': ['tool_error', 'tool_error'],
  internal: ['internal', 'internal'],
};

/** The code that a method returns if the pod is in the wrong state for it. */
const WRONG_STATES: Readonly<Record<string, SeedErrorCode>> = {
  run: 'already_running',
  resume: 'not_paused',
  cancel: 'not_running',
  pause: 'not_running',
};

/** Errors that concern the pod and are therefore sent to all its clients. */
const BROADCAST: ReadonlySet<WireErrorCode> = new Set([
  'already_running',
  'not_running',
  'not_paused',
  'provider_error',
  'tool_error',
]);

export interface Refusal {
  readonly plain: WireErrorCode;
  readonly extended: WireErrorCode;
  readonly message: string;
  readonly isBroadcast: boolean;
}

/** How a refused line is reported to a client. */
export function refusalOf(error: PolypodError, method: string | undefined): Refusal {
  const [plain, extended] = codesOf(error, method);
  return {
    plain,
    extended,
    message: truncateErrorMessage(error.message),
    isBroadcast: BROADCAST.has(extended),
  };
}

/** An error as lines for both kinds of clients. */
export function errorLines(error: PolypodError, method: string | undefined): readonly WireLine[] {
  const { plain, extended, message } = refusalOf(error, method);
  return [toPlain('error', { code: plain, message }), toExtended('error', { code: extended, message })];
}

function codesOf(error: PolypodError, method = ''): readonly [WireErrorCode, WireErrorCode] {
  const wrongState = error instanceof WrongStateError ? WRONG_STATES[method] : undefined;
  if (wrongState !== undefined) return [wrongState, wrongState];
  // A client that sends an idempotency key knows the extras.
  if (error instanceof KeyReused) return ['conflict', 'conflict'];
  return CODES[error.code];
}
