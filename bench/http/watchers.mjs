import { createHash } from 'node:crypto';
import { get } from 'node:http';

const DELTA = 'event: text_delta\n';
const END = 'event: run_end\n';

/** A client of a stream of server-sent events. It only counts and hashes the bytes, so that there can be many. */
export class Watcher {
  #hash = createHash('sha1');
  #bytes = 0;
  #awaited = Number.POSITIVE_INFINITY;
  #onReached;

  /** Resolves when the stream is open and its initial events have arrived. */
  static open(url, headers, isJoined) {
    return new Promise((resolve, reject) => {
      const asked = get(url, { headers, agent: false }, (response) => {
        if (response.statusCode !== 200)
          reject(new Error(`the stream was answered with ${response.statusCode}`));
        let first = '';
        const join = (piece) => {
          first += piece;
          if (!isJoined(first)) return;
          response.off('data', join);
          resolve(new Watcher(response));
        };
        response.setEncoding('latin1').on('data', join);
      });
      asked.on('error', reject);
    });
  }

  constructor(response) {
    this.response = response;
    response.on('data', (piece) => {
      this.#hash.update(piece, 'latin1');
      this.#bytes += piece.length;
      if (this.#bytes >= this.#awaited) this.#onReached();
    });
  }

  get bytes() {
    return this.#bytes;
  }

  /** Resolves when this many bytes have arrived. */
  reach(bytes) {
    if (this.#bytes >= bytes) return Promise.resolve();
    this.#awaited = bytes;
    return new Promise((resolve) => {
      this.#onReached = resolve;
    });
  }

  close() {
    this.response.destroy();
  }

  /** The hash of all bytes, independent of their chunks. */
  digest() {
    return this.#hash.copy().digest('hex');
  }
}

/** Reads one answer to its end; resolves with its number of deltas. */
export function readAnswer({ response }) {
  let [deltas, rest] = [0, ''];
  return new Promise((resolve) => {
    const take = (piece) => {
      const lines = (rest + piece).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (`${line}\n` === DELTA) deltas += 1;
        if (`${line}\n` === END) isEnd = true;
        if (line === '' && isEnd) {
          response.off('data', take);
          resolve(deltas);
          return;
        }
      }
    };
    let isEnd = false;
    response.on('data', take);
  });
}
