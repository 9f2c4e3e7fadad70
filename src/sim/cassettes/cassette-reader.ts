import { ellipsize, isObject, messageOf, parseJson, PolypodError } from '../../base/index.ts';
import {
  CASSETTE_VERSION,
  type Cassette,
  type Chunk,
  type RecordedError,
  type RecordedRequest,
  type RecordedResponse,
} from './cassette.ts';

/** Parses the text of a cassette file strictly. The first error is reported with its file and field. */
export function parseCassette(text: string, file: string): Cassette {
  const root = new Field(file, '', parseJsonText(text, file));
  checkVersion(root.at('version'), file);
  root.allow('version', 'recordedAt', 'request', 'response');
  return {
    recordedAt: root.at('recordedAt').text('a time, for example "2026-11-02T09:30:00.000Z"', isTime),
    request: requestIn(root.at('request')),
    response: responseIn(root.at('response')),
  };
}

function parseJsonText(text: string, file: string): unknown {
  try {
    return parseJson(text);
  } catch (thrown) {
    const message = `${file}: not valid JSON (${messageOf(thrown)}): ${NEXT_STEP}`;
    throw new PolypodError('bad-request', message, { cause: thrown });
  }
}

function checkVersion(version: Field, file: string): void {
  if (typeof version.value === 'number' && version.value > CASSETTE_VERSION) {
    const message = `${file}: "version" is ${version.value}, and this Polypod reads version ${CASSETTE_VERSION}`;
    throw new PolypodError('bad-request', `${message}: update Polypod, or record the exchange again`);
  }
  if (version.value !== CASSETTE_VERSION) version.refuse(String(CASSETTE_VERSION));
}

function requestIn(request: Field): RecordedRequest {
  request.allow('method', 'url', 'headers', 'body');
  const body = request.at('body').value;
  return {
    method: request.at('method').text('"GET" or "POST"', isMethod),
    url: request.at('url').text('an address'),
    headers: request.at('headers').texts(),
    ...(body === undefined ? {} : { body }),
  };
}

function responseIn(response: Field): RecordedResponse {
  response.allow('status', 'headers', 'chunks', 'error');
  const error = response.at('error');
  if (response.at('status').value === undefined && error.value !== undefined) {
    response.allow('error');
    return { error: errorIn(error) };
  }
  return {
    status: response.at('status').number('an HTTP status', isStatus),
    headers: response.at('headers').texts(),
    chunks: response.at('chunks').list().map(chunkIn),
    ...(error.value === undefined ? {} : { error: errorIn(error) }),
  };
}

function errorIn(error: Field): RecordedError {
  error.allow('kind', 'atMs', 'message', 'code');
  const code = error.at('code');
  return {
    kind: error.at('kind').text('"broken" or "stopped"', isKind),
    atMs: error.at('atMs').number(MILLISECONDS, isDuration),
    message: error.at('message').text('text'),
    ...(code.value === undefined ? {} : { code: code.text('text') }),
  };
}

function chunkIn(chunk: Field): Chunk {
  chunk.allow('atMs', 'text', 'base64');
  const atMs = chunk.at('atMs').number(MILLISECONDS, isDuration);
  const [text, base64] = [chunk.at('text'), chunk.at('base64')];
  if ((text.value === undefined) === (base64.value === undefined))
    chunk.refuse('an object with either "text" or "base64"');
  return text.value === undefined
    ? { atMs, bytes: bytesOf(Buffer.from(base64.text('base64', isBase64), 'base64')) }
    : { atMs, bytes: bytesOf(Buffer.from(text.text('text'))) };
}

/** Copies the bytes: small buffers are views into a shared pool, and a plain array compares by its own content. */
function bytesOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer);
}

/** A value of the file together with its path, which error messages quote. */
class Field {
  readonly value: unknown;
  readonly #file: string;
  readonly #path: string;

  constructor(file: string, path: string, value: unknown) {
    this.#file = file;
    this.#path = path;
    this.value = value;
  }

  at(key: string): Field {
    const object = isObject(this.value) ? this.value : this.refuse('an object');
    const value = Object.hasOwn(object, key) ? object[key] : undefined;
    return new Field(this.#file, this.#path === '' ? key : `${this.#path}.${key}`, value);
  }

  allow(...keys: readonly string[]): void {
    const object = isObject(this.value) ? this.value : this.refuse('an object');
    const unknownKey = Object.keys(object).find((key) => !keys.includes(key));
    if (unknownKey !== undefined) this.at(unknownKey).refuse(`absent (allowed fields: ${keys.join(', ')})`);
  }

  list(): readonly Field[] {
    const list: readonly unknown[] = Array.isArray(this.value) ? this.value : this.refuse('a list');
    return list.map((value, index) => new Field(this.#file, `${this.#path}[${index}]`, value));
  }

  texts(): Record<string, string> {
    const object = isObject(this.value) ? this.value : this.refuse('an object');
    return Object.fromEntries(Object.keys(object).map((key) => [key, this.at(key).text('text')]));
  }

  text(expected: string): string;
  text<T extends string>(expected: string, isValid: (value: string) => value is T): T;
  text(expected: string, isValid: (value: string) => boolean): string;
  text(expected: string, isValid: (value: string) => boolean = () => true): string {
    return typeof this.value === 'string' && isValid(this.value) ? this.value : this.refuse(expected);
  }

  number(expected: string, isValid: (value: number) => boolean): number {
    return typeof this.value === 'number' && isValid(this.value) ? this.value : this.refuse(expected);
  }

  refuse(expected: string): never {
    const subject = this.#path === '' ? 'the file' : `"${this.#path}"`;
    const fault = this.value === undefined ? `is missing, must be ${expected}` : `must be ${expected}`;
    const found = this.value === undefined ? '' : `, not ${excerpt(this.value)}`;
    throw new PolypodError('bad-request', `${this.#file}: ${subject} ${fault}${found}: ${NEXT_STEP}`);
  }
}

function excerpt(value: unknown): string {
  return ellipsize(JSON.stringify(value), 40);
}

function isMethod(value: string): value is Cassette['request']['method'] {
  return value === 'GET' || value === 'POST' || value === 'DELETE';
}

function isKind(value: string): value is RecordedError['kind'] {
  return value === 'broken' || value === 'stopped';
}

function isTime(value: string): boolean {
  return !Number.isNaN(Date.parse(value));
}

function isStatus(value: number): boolean {
  return Number.isInteger(value) && value >= 200 && value <= 999;
}

function isDuration(value: number): boolean {
  return value >= 0 && Number.isFinite(value);
}

function isBase64(value: string): boolean {
  return value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);
}

const MILLISECONDS = 'a number of milliseconds';
const NEXT_STEP = 'correct the file, or record the exchange again';
