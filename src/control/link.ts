import type { Socket } from 'node:net';
import { isObject, type JsonObject, onAbort, PolypodError, tryParse } from '../base/index.ts';
import { connectUnix, lineReader } from '../wire/index.ts';
import { encode, errorIn } from './line.ts';

/** A client's connection to the daemon. */
export class ControlLink {
  readonly #path: string;
  readonly #socket: Socket;
  readonly #lines: AsyncGenerator<JsonObject>;

  /** Undefined when no daemon is up. */
  static async open(path: string): Promise<ControlLink | undefined> {
    const socket = await connectUnix(path);
    return socket === undefined ? undefined : new ControlLink(path, socket);
  }

  private constructor(path: string, socket: Socket) {
    this.#path = path;
    this.#socket = socket;
    this.#lines = linesFrom(socket);
    // Read as the end of the lines.
    socket.on('error', () => {});
  }

  /** One question, one answer. Questions on one link are asked one after the other. */
  async call(method: string, params: JsonObject = {}): Promise<JsonObject> {
    this.#socket.write(encode({ method, params }));
    return this.#result(await this.#next());
  }

  /** The same for what a daemon that is well answers at once; one that does not is hung up on. */
  async callSoon(method: string, params: JsonObject = {}): Promise<JsonObject> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.close();
    }, SOON_MS);
    try {
      return await this.call(method, params);
    } catch (thrown) {
      if (!isLate) throw thrown;
      const message = `the daemon does not answer within ${SOON_MS / 1000} s: see polypod logs; if it hangs, end its process`;
      throw new PolypodError('unreachable', message, { cause: thrown });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The `watched` parts of an answer as they come; ends with the answer, or when the signal fires. */
  async *stream(method: string, params: JsonObject, signal: AbortSignal): AsyncGenerator<JsonObject> {
    const forget = onAbort(signal, () => this.#socket.destroy());
    try {
      this.#socket.write(encode({ method, params }));
      for (;;) {
        const line = await this.#next();
        if (!isObject(line.watched)) {
          this.#result(line);
          return;
        }
        yield line.watched;
      }
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    } finally {
      forget();
      this.close();
    }
  }

  /** Another link to the same daemon. */
  async another(): Promise<ControlLink> {
    const link = await ControlLink.open(this.#path);
    if (link === undefined) throw gone();
    return link;
  }

  /** Resolves when the daemon has hung up. */
  async hungUp(): Promise<void> {
    while ((await this.#lines.next()).done !== true);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #next(): Promise<JsonObject> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw gone();
    return value;
  }

  #result(line: JsonObject): JsonObject {
    if (isObject(line.result)) return line.result;
    throw errorIn(line.error);
  }
}

const SOON_MS = 5000;

async function* linesFrom(socket: Socket): AsyncGenerator<JsonObject> {
  const reader = lineReader();
  try {
    for await (const piece of socket) {
      for (const text of reader.push(piece)) {
        const line = tryParse(text);
        if (isObject(line)) yield line;
      }
    }
  } catch {
    // Cut off: for the reader the same as an end.
  }
}

function gone(): PolypodError {
  return new PolypodError('unreachable', 'the daemon went away: see polypod status and polypod logs');
}
