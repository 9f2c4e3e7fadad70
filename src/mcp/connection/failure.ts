import { explainStartFailure, messageOf, numberOf, objectOf, systemCodeOf } from '../../base/index.ts';
import { oneLine } from '../shorten.ts';
import { LOST_REQUEST } from './lost-requests.ts';
import type { Program } from './process-group.ts';

/** Why a server cannot be used, or did not do what it was asked. */
export interface McpFailure {
  /** What happened, as the rest of a sentence about the server: `it ended with exit code 1`. */
  readonly text: string;
  /** Whether trying again is of no use before somebody changes something. */
  readonly permanent: boolean;
}

/** Whether what was thrown is the server's own answer, be it one that we refuse to read: then it is alive. */
export function isAnswer(thrown: unknown): boolean {
  const { name, data } = objectOf(thrown);
  return name === 'PolypodError' || (name === PROTOCOL_ERROR && data !== LOST_REQUEST);
}

/** Whether somebody waited in vain. */
export function isTimeout(thrown: unknown): boolean {
  return systemCodeOf(thrown) === 'REQUEST_TIMEOUT' || objectOf(thrown).name === 'TimeoutError';
}

/** The status of an HTTP answer that was no success. */
export function httpStatusOf(thrown: unknown): number | undefined {
  const { name, code, data } = objectOf(thrown);
  const status = numberOf(objectOf(data).status) ?? (name === PROTOCOL_ERROR ? undefined : numberOf(code));
  return status !== undefined && status >= 100 && status < 600 ? status : undefined;
}

/** The name of the errors by which the SDK tells a server's own. */
const PROTOCOL_ERROR = 'ProtocolError';

/** Why a program could not be started. */
export function startFailure({ command, cwd, env }: Program, thrown: unknown): McpFailure {
  const { problem, step, isPermanent } = explainStartFailure({ program: command, cwd, env }, thrown);
  return { text: `${problem}: ${step}`, permanent: isPermanent };
}

/** Why a server did not answer as it should. */
export function answerFailure(thrown: unknown, timeoutMs: number): McpFailure {
  if (isTimeout(thrown)) return { text: `it did not answer within ${timeoutMs / 1000} s`, permanent: false };
  const status = httpStatusOf(thrown);
  if (status === undefined) return { text: reasonOf(thrown), permanent: false };
  if (status === 401 || status === 403)
    return { text: `it refused us (HTTP ${status}): correct its headers`, permanent: true };
  const permanent = status >= 300 && status < 500 && !TRANSIENT.has(status);
  const hint = permanent ? ': is its url right?' : '';
  return { text: `it answered with HTTP ${status}${hint}`, permanent };
}

const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

/** What was thrown in one line; what Node's fetch hides in the cause is the part that helps. */
function reasonOf(thrown: unknown): string {
  const code = systemCodeOf(thrown);
  const line = oneLine(messageOf(thrown), LONGEST_REASON);
  return code === undefined || line.includes(code) ? line : `${line} (${code})`;
}

const LONGEST_REASON = 300;
