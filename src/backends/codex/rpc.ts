import { isObject, type JsonObject, messageOf, PolypodError, readMessage } from '../../base/index.ts';
import { AgentProcess } from '../agent-process.ts';
import type { AgentEnd, AgentLaunch, ConnectOptions } from '../agent-program.ts';
import { SERVER_ARGS } from './settings.ts';

export interface RpcOptions
  extends Pick<AgentLaunch, 'command' | 'env' | 'record' | 'directory'>,
    Pick<ConnectOptions, 'signal'> {
  /** Added to the arguments, for the probe. */
  readonly args?: readonly string[];
  /** Receives the notifications and requests of one read. The next read waits until the promise resolves. */
  readonly onFrames: (frames: readonly JsonObject[]) => Promise<void>;
  /** Called once when the program has ended or broken its protocol, unless `close` was called. */
  readonly onEnd: (end: AgentEnd) => void;
}

/** A running `codex app-server`, which speaks JSON-RPC without the field `jsonrpc`. */
export class CodexServer {
  readonly #options: RpcOptions;
  readonly #waiting = new Map<number, Waiting>();
  #process: AgentProcess | undefined;
  #nextId = 1;
  #invalid = 0;
  #end: AgentEnd | undefined;

  /** Starts the program and introduces us. Rejects with the reason and the end of its standard error. */
  static async start(options: RpcOptions): Promise<CodexServer> {
    const server = new CodexServer(options);
    const { command, env, record, signal, directory, args = [] } = options;
    server.#process = await AgentProcess.start({
      command,
      env,
      record,
      signal,
      args: [...SERVER_ARGS, ...args],
      // Not the project: Codex reads the configuration of the directory in which it starts.
      cwd: directory,
      onLines: (lines) => server.#read(lines),
      onEnd: (end) => server.#ended(end),
    });
    const clientInfo = { name: 'polypod', title: 'Polypod', version: '1' };
    // Without it, Codex refuses parameters that we need, such as `runtimeWorkspaceRoots`.
    const capabilities = { experimentalApi: true };
    try {
      server.hello = await server.request('initialize', { clientInfo, capabilities }, HELLO_MS);
    } catch (thrown) {
      const { stderr } = server;
      await server.close();
      const message = messageOf(thrown);
      const note = stderr === '' || message.includes(stderr) ? '' : `\n${stderr}`;
      throw new PolypodError('unreachable', `${message}${note}`, { cause: thrown });
    }
    server.send({ method: 'initialized' });
    return server;
  }

  /** The answer to our introduction. */
  hello: JsonObject = {};

  private constructor(options: RpcOptions) {
    this.#options = options;
  }

  get stderr(): string {
    return this.#process?.stderr ?? '';
  }

  send(message: JsonObject): void {
    this.#process?.send(message);
  }

  /** Sends a request. Rejects with the error answer, when the program ends, and after the time limit. */
  request(method: string, params: JsonObject, limitMs = REQUEST_MS): Promise<JsonObject> {
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(endError(this.#end));
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(
          new PolypodError('unreachable', `Codex did not answer ${method} in ${limitMs / 1_000} seconds`),
        );
      }, limitMs);
      this.#waiting.set(id, { resolve, reject, timer });
      this.send({ id, method, params });
    });
  }

  /** Ends the program because it broke its protocol. */
  fail(message: string): void {
    this.#process?.fail(message);
  }

  async close(graceMs?: number): Promise<void> {
    this.#end ??= { message: 'the connection was closed', stderr: '' };
    this.#rejectAll(this.#end);
    await this.#process?.close(graceMs);
  }

  async #read(lines: readonly string[]): Promise<void> {
    const frames: JsonObject[] = [];
    for (const line of lines) {
      const read = readMessage(line);
      if (!('value' in read) || !isObject(read.value)) {
        this.#invalid += 1;
        if (this.#invalid > MAX_INVALID)
          return this.fail(`it sent more than ${MAX_INVALID} lines that are not JSON objects`);
      } else if (read.value.method === undefined) this.#answer(read.value);
      else frames.push(read.value);
    }
    if (frames.length > 0) await this.#options.onFrames(frames);
  }

  #answer(message: JsonObject): void {
    const { id, result, error } = message;
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (waiting === undefined || typeof id !== 'number') return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (error === undefined) waiting.resolve(isObject(result) ? result : {});
    else waiting.reject(new PolypodError('bad-request', errorText(error)));
  }

  #ended(end: AgentEnd): void {
    this.#end = end;
    this.#rejectAll(end);
    this.#options.onEnd(end);
  }

  #rejectAll(end: AgentEnd): void {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(endError(end));
    }
    this.#waiting.clear();
  }
}

interface Waiting {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: PolypodError) => void;
  readonly timer: NodeJS.Timeout;
}

function endError({ message, stderr }: AgentEnd): PolypodError {
  return new PolypodError('unreachable', `Codex has ended: ${message}${stderr === '' ? '' : `\n${stderr}`}`);
}

function errorText(error: unknown): string {
  const text = isObject(error) ? error.message : error;
  return typeof text === 'string' ? text : messageOf(JSON.stringify(error));
}

/** Less than the limit for the start, so that the error is the one of the program. */
const HELLO_MS = 50_000;
const REQUEST_MS = 60_000;
const MAX_INVALID = 1_000;
