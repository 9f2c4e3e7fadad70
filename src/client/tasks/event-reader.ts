import { StringDecoder } from 'node:string_decoder';
import {
  numberOf,
  parseObject,
  objectOf,
  PolypodError,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { TaskEvent } from './task.ts';

/** A longer line fails the stream, so that memory use is bounded. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Parses server-sent events with their ids, which are needed to resume. An event that is incomplete at the end of the stream
 * is dropped: the server sends it again.
 */
export class EventReader {
  readonly #decoder = new StringDecoder('utf8');
  /** The pieces of the current line; joined once when it is complete. */
  #pieces: string[] = [];
  #length = 0;
  #id: string | undefined;
  #data: string | undefined;

  push(bytes: Uint8Array): readonly TaskEvent[] {
    const events: TaskEvent[] = [];
    const text = this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) this.#readField(this.#completeLine(line), events);
    this.#buffer(rest);
    return events;
  }

  #buffer(piece: string): void {
    this.#length += piece.length;
    if (this.#length > MAX_LINE)
      throw new PolypodError('provider-failed', `the server sent a line of more than ${MAX_LINE} characters`);
    if (piece !== '') this.#pieces.push(piece);
  }

  #completeLine(end: string): string {
    const line = this.#pieces.length === 0 ? end : [...this.#pieces, end].join('');
    this.#pieces = [];
    this.#length = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }

  #readField(line: string, events: TaskEvent[]): void {
    if (line === '') {
      if (this.#data !== undefined) events.push(parseEvent(this.#data, this.#id));
      [this.#data, this.#id] = [undefined, undefined];
      return;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    if (name === 'id' && !value.includes('\0')) this.#id = value;
  }
}

/** The `event` field is not needed: the data contains the event name. */
function parseEvent(text: string, id: string | undefined): TaskEvent {
  const line = parseObject(text) ?? {};
  const seq = numberOf(line.seq);
  return {
    event: stringOf(line.event),
    data: objectOf(line.data),
    ...withoutUndefined({ seq }),
    ...(id !== undefined && id !== '' && { id }),
  };
}
