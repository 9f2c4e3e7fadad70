import { once } from 'node:events';
import { createConnection } from 'node:net';

const DELTA = '"t":"text"';
/** The end of an answer, in the spelling of each host. */
const ENDS = { floor: '"t":"end"', pod: '"type":"run-end"' };

/** A connection to a host: sends requests, and reads the lines of a session to the end of an answer. */
export class Client {
  #socket;
  #end;
  #rest = '';
  #deltas = 0;
  #bytes = 0;
  #onReply;
  #onEnd;

  static async connect(path, kind) {
    const socket = createConnection(path);
    await once(socket, 'connect');
    return new Client(socket, ENDS[kind]);
  }

  constructor(socket, end) {
    this.#socket = socket;
    this.#end = end;
    socket.setEncoding('latin1').on('data', (piece) => this.#take(piece));
  }

  /** Sends a message and resolves with the reply. */
  ask(message) {
    this.#socket.write(`${JSON.stringify(message)}\n`);
    return new Promise((resolve) => {
      this.#onReply = resolve;
    });
  }

  /** Sends a prompt and resolves with the size of the answer. */
  prompt(session, text) {
    [this.#deltas, this.#bytes] = [0, 0];
    this.#socket.write(`${JSON.stringify({ do: 'prompt', session, text })}\n`);
    return new Promise((resolve) => {
      this.#onEnd = resolve;
    });
  }

  end() {
    this.#socket.destroy();
  }

  #take(piece) {
    const text = this.#rest + piece;
    const end = text.lastIndexOf('\n') + 1;
    this.#rest = text.slice(end);
    const lines = text.slice(0, end);
    this.#bytes += end;
    this.#deltas += countOf(lines, DELTA);
    const reply = lines.indexOf('{"reply":');
    if (reply >= 0) this.#onReply?.(JSON.parse(lines.slice(reply, lines.indexOf('\n', reply))).reply);
    if (lines.includes(this.#end)) this.#onEnd?.({ deltas: this.#deltas, bytes: this.#bytes });
  }
}

function countOf(text, mark) {
  let count = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + mark.length)) count += 1;
  return count;
}
