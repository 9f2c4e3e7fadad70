import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { streamDeltas } from '../floor/stream-deltas.mjs';

/** The minimum that distributes one stream to many consumers in a process; see bench/fanout-process.mjs. */
export async function openFloor(provider, directory) {
  const log = openSync(join(directory, 'log.jsonl'), 'a');
  return async ({ watchers }) => {
    const queues = Array.from({ length: watchers }, () => new Queue());
    let number = 0;
    const emit = (pieces, isEnd) => {
      const events = pieces.map((text) => ({ seq: ++number, type: 'text', text }));
      if (isEnd) events.push({ seq: ++number, type: 'end' });
      writeSync(log, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
      for (const queue of queues) queue.push(events);
      return [];
    };
    return {
      watching: queues.map(countDeltas),
      prompt: (text) => streamDeltas(provider, text, emit),
      close: async () => {},
    };
  };
}

async function countDeltas(queue) {
  let count = 0;
  for await (const events of queue) {
    for (const { type } of events) {
      if (type === 'text') count += 1;
      if (type === 'end') return count;
    }
  }
}

/** An async iterator over what is pushed. */
class Queue {
  #waiting = [];
  #wake;

  push(events) {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake === undefined) this.#waiting.push(events);
    else wake({ value: events, done: false });
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    const events = this.#waiting.shift();
    if (events !== undefined) return Promise.resolve({ value: events, done: false });
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
