import {
  numberOf,
  parseObject,
  objectOf,
  PolypodError,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import { LineReader, MAX_LINE } from '../../wire/index.ts';
import type { TaskEvent } from './task.ts';

/**
 * Parses server-sent events with their ids, which are needed to resume. An event that is incomplete at the end of the stream
 * is dropped: the server sends it again.
 */
export class EventReader {
  readonly #lines = new LineReader({
    ends: 'any',
    onInvalid: () => {
      throw new PolypodError('provider-failed', `the server sent a line of more than ${MAX_LINE} characters`);
    },
  });
  #id: string | undefined;
  #data: string | undefined;

  push(bytes: Uint8Array): readonly TaskEvent[] {
    const events: TaskEvent[] = [];
    for (const line of this.#lines.push(bytes)) this.#readField(line, events);
    return events;
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
