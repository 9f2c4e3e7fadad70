import { createRequire } from 'node:module';
import type { EventStreamCodec } from '@smithy/core/event-streams';
import { messageOf } from '../base/index.ts';
import type { FrameReader } from './lines.ts';

/** The headers of a message of an Amazon event stream that say what it is. All are text. */
export interface EventStreamHeaders {
  readonly ':message-type': 'event' | 'exception' | 'error';
  readonly ':event-type'?: string;
  readonly ':exception-type'?: string;
  readonly ':content-type'?: string;
  readonly ':error-code'?: string;
  readonly ':error-message'?: string;
}

/** The largest message, as in Amazon's own libraries. */
const MAX_MESSAGE = 16 * 1024 * 1024;

/**
 * Reads messages in the framing `application/vnd.amazon.eventstream`. Each becomes JSON in the shape of the official SDK: the type of
 * the message as the only key, its body as the value. An error outside the model of the service, and damage (a wrong checksum, an
 * impossible length), is `{"error":{"code","message"}}`; after damage the rest is ignored.
 */
export function eventStreamReader(): FrameReader {
  const buffered = new ByteQueue();
  let state: 'messages' | 'stray' | 'damaged' = 'messages';
  let stray = Buffer.alloc(0);

  /** Reads the next message; undefined if it is not complete or there is none. */
  const next = (): string | undefined => {
    if (state !== 'messages' || buffered.length < LENGTH_BYTES) return undefined;
    const start = buffered.peek(LENGTH_BYTES);
    const length = start.readUInt32BE(0);
    // Text of a proxy: its first characters would be the length of a huge message.
    if (start[0] === OPENING_BRACE) state = 'stray';
    else if (length < MIN_MESSAGE || length > MAX_MESSAGE) return damage(`a message of ${length} bytes`);
    else if (buffered.length >= length) return readMessage(buffered.take(length), damage);
    return undefined;
  };

  const damage = (reason: string): string => {
    state = 'damaged';
    return errorPayload('damaged_stream', `the event stream is damaged: ${reason}`);
  };

  return {
    push(bytes) {
      if (state === 'damaged' || stray.length === MAX_STRAY) return [];
      buffered.append(bytes);
      const payloads: string[] = [];
      for (let payload = next(); payload !== undefined; payload = next()) payloads.push(payload);
      if (state === 'stray')
        stray = Buffer.concat([stray, buffered.take(Math.min(buffered.length, MAX_STRAY - stray.length))]);
      return payloads;
    },
    end: () => [],
    stray: () => stray.toString('utf8'),
  };
}

/** Encodes one message. */
export function encodeEventStream(headers: EventStreamHeaders, body: string): Uint8Array {
  const tagged = Object.fromEntries(
    Object.entries(headers).map(
      ([name, value]: [string, string]) => [name, { type: 'string', value }] as const,
    ),
  );
  return codec().encode({ headers: tagged, body: Buffer.from(body) });
}

function readMessage(bytes: Buffer, damage: (reason: string) => string): string {
  try {
    const { headers, body } = codec().decode(bytes);
    const header = (name: keyof EventStreamHeaders): string => {
      const value = headers[name]?.value;
      return typeof value === 'string' ? value : '';
    };
    if (header(':message-type') === 'error')
      return errorPayload(header(':error-code'), header(':error-message'));
    const type = header(':event-type') || header(':exception-type');
    return `{${JSON.stringify(type)}:${Buffer.from(body).toString('utf8') || '{}'}}`;
  } catch (thrown) {
    return damage(messageOf(thrown));
  }
}

function errorPayload(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } });
}

const require = createRequire(import.meta.url);
let loaded: EventStreamCodec | undefined;

/** Loads the official codec with the first message: only streams of Amazon Bedrock need it. */
function codec(): EventStreamCodec {
  if (loaded !== undefined) return loaded;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- require has no types
  const { EventStreamCodec: Codec } = require('@smithy/core/event-streams') as {
    EventStreamCodec: typeof EventStreamCodec;
  };
  loaded = new Codec(
    (input) => (typeof input === 'string' ? input : Buffer.from(input).toString('utf8')),
    (text) => Buffer.from(text, 'utf8'),
  );
  return loaded;
}

/**
 * Received bytes in one buffer that doubles: neither a long message nor one that arrives in many small pieces takes quadratic time
 * or much more memory than its length. The results are views, valid until the next `append`.
 */
class ByteQueue {
  #buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  append(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#buffer.length) this.#makeRoom(bytes.length);
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** The first bytes, which stay in the queue. */
  peek(count: number): Buffer {
    return this.#buffer.subarray(this.#start, this.#start + count);
  }

  take(count: number): Buffer {
    const taken = this.peek(count);
    this.#start += count;
    return taken;
  }

  #makeRoom(more: number): void {
    const kept = this.peek(this.length);
    const needed = kept.length + more;
    const room = Buffer.allocUnsafe(
      Math.max(INITIAL_ROOM, needed > this.#buffer.length / 2 ? needed * 2 : needed),
    );
    kept.copy(room);
    [this.#buffer, this.#start, this.#end] = [room, 0, kept.length];
  }
}

const INITIAL_ROOM = 16 * 1024;
const LENGTH_BYTES = 4;
/** Two lengths and two checksums: a message without headers and body. */
const MIN_MESSAGE = 16;
const OPENING_BRACE = 0x7b;
const MAX_STRAY = 64 * 1024;
