import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { asPolypodError } from '../../base/index.ts';
import { endGroup, type ServerProgram, startGroup } from './process-group.ts';
import type { Sdk } from './sdk.ts';
import { Tail } from './tail.ts';

/** How much stderr output is kept for error messages. */
const MAX_STDERR = 8_192;

/**
 * Runs a server as a child process with one JSON message per line. The SDK's transport starts the server in our
 * process group, so its children cannot be ended with it, and it reports neither exit code nor signal.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];

  /** The last stderr output of the server. */
  readonly stderr = new Tail(MAX_STDERR);

  readonly #sdk: Sdk;
  readonly #program: ServerProgram;
  readonly #graceMs: number;
  readonly #onEnd: () => void;
  #child: ChildProcessWithoutNullStreams | undefined;
  #ending: string | undefined;
  #ended: Promise<void> | undefined;

  /** `onEnd` is called after the process has ended, and before the client is notified. */
  constructor(sdk: Sdk, program: ServerProgram, graceMs: number, onEnd: () => void) {
    this.#sdk = sdk;
    this.#program = program;
    this.#graceMs = graceMs;
    this.#onEnd = onEnd;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How the process ended: `it ended with exit code 1`. */
  get ending(): string | undefined {
    return this.#ending;
  }

  async start(): Promise<void> {
    const child = startGroup(this.#program);
    this.#child = child;
    this.#listen(child);
    await once(child, 'spawn');
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || !stdin.writable) throw new Error('the server has closed its input');
    await new Promise<void>((resolve, reject) => {
      stdin.write(this.#sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Ends the process and its group. Further calls wait for the same end. */
  close(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child?.pid !== undefined) {
      const drained = once(child, 'close');
      await endGroup(child, this.#graceMs);
      // An answer sent just before the end still counts; but a process that left the group may hold the streams
      // open forever.
      await Promise.race([drained, sleep(this.#graceMs, undefined, { ref: false })]);
      for (const stream of child.stdio) stream?.destroy();
    }
    this.#onEnd();
    this.onclose?.();
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    const buffer = new this.#sdk.ReadBuffer();
    const report = (error: Error): void => this.onerror?.(error);
    child.stdout.on('data', (chunk: Buffer) => this.#receive(buffer, chunk));
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.stderr.add(text));
    for (const stream of [child, child.stdin, child.stdout, child.stderr]) stream.on('error', report);
    child.once('exit', (code, signal) => {
      this.#ending ??= signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
      void this.close();
    });
  }

  #receive(buffer: InstanceType<Sdk['ReadBuffer']>, chunk: Buffer): void {
    try {
      buffer.append(chunk);
    } catch {
      // Without a line end, the stream cannot be resynchronized.
      this.#ending ??= `it sent a line of more than ${this.#sdk.STDIO_DEFAULT_MAX_BUFFER_SIZE} bytes`;
      void this.close();
      return;
    }
    while (this.#deliver(buffer)) continue;
  }

  /** Delivers one message; returns whether there may be another. The buffer skips lines that are not JSON. */
  #deliver(buffer: InstanceType<Sdk['ReadBuffer']>): boolean {
    try {
      const message = buffer.readMessage();
      if (message !== null) this.onmessage?.(message);
      return message !== null;
    } catch (thrown) {
      this.onerror?.(asPolypodError(thrown));
      return true;
    }
  }
}
