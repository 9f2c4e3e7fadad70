import {
  asPolypodError,
  type ErrorCode,
  truncateErrorMessage,
  isObject,
  isReaderTooSlow,
  type JsonObject,
  PolypodError,
  readMessage,
  ReaderTooSlowError,
  stringOf,
} from '../base/index.ts';

/**
 * The control protocol: JSON lines. A client sends `{"method":…,"params":{…}}`; each request is answered by one line
 * `{"result":…}` or `{"error":{"code":…,"message":…}}`, in order. `watch` sends `{"watched":…}` lines before its result. If its
 * error is `resumable`, the client was too slow, and can call `watch` again after the last number it received.
 */
export interface ControlRequest {
  readonly method: string;
  readonly params: JsonObject;
}

export function readQuestion(line: string): ControlRequest {
  const read = readMessage(line);
  if ('problem' in read && read.problem === 'too-deep')
    throw new PolypodError('bad-request', `a line is nested too deep: ${read.reason}`);
  const value = 'value' in read ? read.value : undefined;
  const method = isObject(value) ? stringOf(value.method) : '';
  if (!isObject(value) || method === '')
    throw new PolypodError('bad-request', 'a line must be {"method":"…","params":{…}}');
  const { params = {} } = value;
  if (isObject(params)) return { method, params };
  throw new PolypodError('bad-request', `the params of ${method} must be an object`);
}

export function encode(line: JsonObject): string {
  return `${JSON.stringify(line)}\n`;
}

export function encodeError(thrown: unknown): string {
  const { code, message } = asPolypodError(thrown);
  const resumable = isReaderTooSlow(thrown) ? { resumable: true } : {};
  return encode({ error: { code, message: truncateErrorMessage(message), ...resumable } });
}

/** Parses the error of an answer. */
export function errorIn(value: unknown): PolypodError {
  const { code, message, resumable } = isObject(value) ? value : {};
  if (resumable === true) return new ReaderTooSlowError(stringOf(message));
  const known = CODES.find((candidate) => candidate === code) ?? 'internal';
  return new PolypodError(known, stringOf(message) || 'the process gave no reason');
}

const CODES: readonly ErrorCode[] = [
  'bad-request',
  'unknown-method',
  'not-found',
  'conflict',
  'denied',
  'overloaded',
  'unreachable',
  'provider-failed',
  'tool-failed',
  'internal',
];
