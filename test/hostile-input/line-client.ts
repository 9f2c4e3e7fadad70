import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

type Line = { readonly [key: string]: unknown };

/** A client that sends any bytes and reads JSON lines. */
export class LineClient {
  readonly socket: Socket;
  readonly received: Line[] = [];
  isClosed = false;
  #rest = '';
  #wake = (): void => {};

  static async unix(path: string): Promise<LineClient> {
    const socket = connect({ path });
    await once(socket, 'connect');
    return new LineClient(socket);
  }

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') this.received.push(JSON.parse(line) as Line);
      this.#wake();
    });
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Returns the first matching line. Throws if the connection ends without it, or on timeout. */
  async waitFor(matches: (line: Line) => boolean, ms = 20_000): Promise<Line> {
    const deadline = Date.now() + ms;
    for (;;) {
      const found = this.received.find(matches);
      if (found !== undefined) return found;
      if (this.isClosed)
        throw new Error(`closed after ${JSON.stringify(this.received.slice(-3)).slice(0, 500)}`);
      const left = deadline - Date.now();
      if (left <= 0)
        throw new Error(
          `no answer within ${ms} ms; received ${JSON.stringify(this.received.slice(-3)).slice(0, 500)}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  close(): void {
    this.socket.destroy();
  }
}
