import { StringDecoder } from 'node:string_decoder';
import { numberOf, objectIn, objectOf, PolypodError, stringOf } from '../../base/index.ts';
import type { TaskEvent } from './task.ts';

/** One line may not grow without limit: past this many characters the stream is refused. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Reads server-sent events with their ids, which say where to go on. Whole events only: one that the stream's end cuts off is
 * told again to whoever comes back.
 */
export class EventReader {
  readonly #decoder = new StringDecoder('utf8');
  /** Of the line that has no end yet: joined once, when the end comes. */
  #pieces: string[] = [];
  #length = 0;
  #id: string | undefined;
  #data: string | undefined;

  push(bytes: Uint8Array): readonly TaskEvent[] {
    const events: TaskEvent[] = [];
    const text = this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) this.#take(this.#whole(line), events);
    this.#keep(rest);
    return events;
  }

  #keep(piece: string): void {
    this.#length += piece.length;
    if (this.#length > MAX_LINE)
      throw new PolypodError('provider-failed', `the server sent a line of more than ${MAX_LINE} characters`);
    if (piece !== '') this.#pieces.push(piece);
  }

  #whole(end: string): string {
    const line = this.#pieces.length === 0 ? end : [...this.#pieces, end].join('');
    this.#pieces = [];
    this.#length = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }

  #take(line: string, events: TaskEvent[]): void {
    if (line === '') {
      if (this.#data !== undefined) events.push(eventOf(this.#data, this.#id));
      [this.#data, this.#id] = [undefined, undefined];
      return;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    if (name === 'id' && !value.includes('\0')) this.#id = value;
  }
}

/** The name before the data is not needed: a line says itself what it is. */
function eventOf(text: string, id: string | undefined): TaskEvent {
  const line = objectIn(text) ?? {};
  const seq = numberOf(line.seq);
  return {
    event: stringOf(line.event),
    data: objectOf(line.data),
    ...(seq !== undefined && { seq }),
    ...(id !== undefined && id !== '' && { id }),
  };
}
