import { connect } from 'node:net';

/** A connection to the HLD door. Lines are counted and stored in order. */
export class Client {
  lines = [];
  #rest = '';
  #waiting = [];

  static open(path) {
    return new Promise((resolve, reject) => {
      const socket = connect(path, () => resolve(new Client(socket)));
      socket.once('error', reject);
    });
  }

  constructor(socket) {
    this.socket = socket;
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.on('data', (text) => {
      const parts = (this.#rest + text).split('\n');
      this.#rest = parts.pop();
      this.lines.push(...parts);
      this.#waiting = this.#waiting.filter((look) => !look());
    });
  }

  /** Sends a request; resolves with the result of the next line. */
  async call(method, params) {
    const at = this.lines.length;
    this.socket.write(`${JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 })}\n`);
    await this.until(() => this.lines.length > at);
    const { result, error } = JSON.parse(this.lines[at]);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  until(holds) {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) =>
      this.#waiting.push(() => {
        if (!holds()) return false;
        resolve();
        return true;
      }),
    );
  }
}
