const DELTA = '"event":"text_delta"';
const END = '"event":"turn_end"';

/** Reads an answer to its end; resolves with the number of deltas, bytes and reads. */
export function readAnswer(socket) {
  let [deltas, bytes, reads, rest] = [0, 0, 0, ''];
  return new Promise((resolve) => {
    socket.setEncoding('latin1').on('data', (piece) => {
      bytes += piece.length;
      reads += 1;
      const lines = (rest + piece).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line.includes(DELTA)) deltas += 1;
        if (line.includes(END)) resolve({ deltas, bytes, reads });
      }
    });
  });
}

/** Counts bytes: all connections of a session receive the same ones. */
export class ByteCount {
  #bytes = 0;
  #awaited = Number.POSITIVE_INFINITY;
  #onReached;

  constructor(socket) {
    socket.on('data', ({ length }) => {
      this.#bytes += length;
      if (this.#bytes >= this.#awaited) this.#onReached();
    });
  }

  /** Resolves when this many bytes have arrived. */
  reach(bytes) {
    if (this.#bytes >= bytes) return Promise.resolve();
    this.#awaited = bytes;
    return new Promise((resolve) => {
      this.#onReached = resolve;
    });
  }
}
