import {
  explainStartFailure,
  isCertificateError,
  messageOf,
  numberOf,
  objectOf,
  systemCodeOf,
  withTrustHint,
} from '../../base/index.ts';
import { oneLine } from '../shorten.ts';
import { LOST_REQUEST } from './lost-requests.ts';
import type { ServerProgram } from './process-group.ts';

/** Why a server cannot be used, or why a request failed. */
export interface McpFailure {
  /** What happened, as the predicate of a sentence about the server: `it ended with exit code 1`. */
  readonly text: string;
  /** Whether retrying is useless until the configuration changes. */
  readonly permanent: boolean;
}

/** Returns whether the error is an answer of the server, including one that we reject: then it is alive. */
export function isAnswer(thrown: unknown): boolean {
  const { name, data } = objectOf(thrown);
  return name === 'PolypodError' || (name === PROTOCOL_ERROR && data !== LOST_REQUEST);
}

/** Returns whether the error is a timeout. */
export function isTimeout(thrown: unknown): boolean {
  return systemCodeOf(thrown) === 'REQUEST_TIMEOUT' || objectOf(thrown).name === 'TimeoutError';
}

/** Returns the status of a failed HTTP response. */
export function httpStatus(thrown: unknown): number | undefined {
  const { name, code, data } = objectOf(thrown);
  const status = numberOf(objectOf(data).status) ?? (name === PROTOCOL_ERROR ? undefined : numberOf(code));
  return status !== undefined && status >= 100 && status < 600 ? status : undefined;
}

/** The name of the SDK's errors for answers of the server. */
const PROTOCOL_ERROR = 'ProtocolError';

/** Returns why a program could not be started. */
export function startFailure({ command, cwd, env }: ServerProgram, thrown: unknown): McpFailure {
  const { problem, step, isPermanent } = explainStartFailure({ program: command, cwd, env }, thrown);
  return { text: `${problem}: ${step}`, permanent: isPermanent };
}

/** Returns why a server did not answer as expected. */
export function answerFailure(thrown: unknown, timeoutMs: number): McpFailure {
  if (isTimeout(thrown)) return { text: `it did not answer within ${timeoutMs / 1000} s`, permanent: false };
  const status = httpStatus(thrown);
  if (status === undefined)
    return { text: errorReason(thrown), permanent: isCertificateError(systemCodeOf(thrown)) };
  if (status === 401 || status === 403)
    return { text: `it rejected the credentials (HTTP ${status}): correct its headers`, permanent: true };
  const permanent = status >= 300 && status < 500 && !TRANSIENT.has(status);
  const hint = permanent ? ': check its url' : '';
  return { text: `it answered with HTTP ${status}${hint}`, permanent };
}

const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

/** Returns the error in one line, with the cause that Node's fetch hides. */
function errorReason(thrown: unknown): string {
  const code = systemCodeOf(thrown);
  const line = oneLine(messageOf(thrown), MAX_REASON);
  return withTrustHint(code === undefined || line.includes(code) ? line : `${line} (${code})`, code);
}

const MAX_REASON = 300;
