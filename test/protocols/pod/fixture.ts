import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Pod } from '../../../src/pod/index.ts';
import {
  type DuplexOptions,
  PodDoor,
  type PodListener,
  PodSockets,
  type WireEvent,
} from '../../../src/protocols/pod/index.ts';
import type { Script } from '../../../src/sim/index.ts';
import { scratch, type HostFixture, hostFixture } from '../../pod/fixture.ts';

export type Line = WireEvent;

/** One client, however it is connected: its received lines, and how it sends. */
export interface Client {
  readonly received: readonly Line[];
  /** Sends a line without its newline. A refusal is received as an event. */
  send(line: string): Promise<void>;
  sendRequest(method: string, params?: object, extras?: object): Promise<void>;
  /** Waits for the first line that matches, past or future, from an index on. */
  waitFor(matches: (line: Line) => boolean, from?: number): Promise<Line>;
  close(): void;
}

export interface PodFixture extends HostFixture {
  readonly pod: Pod;
  readonly door: PodDoor;
  readonly sockets: PodSockets;
  readonly path: string;
  socketClient(): Promise<SocketClient>;
  processClient(): Promise<Client>;
}

export async function podFixture(
  script: Script,
  options: Parameters<typeof hostFixture>[1] & {
    readonly duplex?: Partial<DuplexOptions>;
    readonly name?: string;
  } = {},
): Promise<PodFixture> {
  const { duplex, name = 'hello-pod', ...rest } = options;
  const opened = await hostFixture(script, rest);
  const pod = await opened.host.create({ cwd: opened.cwd, settings: { name } });
  const door = new PodDoor();
  const sockets = new PodSockets(door, { directory: join(scratch(), 'run'), ...duplex });
  onTestFinished(() => sockets.closeAll());
  const path = await sockets.open(pod);
  return {
    ...opened,
    pod,
    door,
    sockets,
    path,
    socketClient: () => SocketClient.connect(path),
    processClient: () => ProcessClient.join(door, pod),
  };
}

class LineRecorder {
  readonly received: Line[] = [];
  readonly #wakers = new Set<() => void>();

  take(line: Line): void {
    this.received.push(line);
    for (const wake of this.#wakers) wake();
  }

  async waitFor(matches: (line: Line) => boolean, from = 0): Promise<Line> {
    for (;;) {
      const found = this.received.slice(from).find(matches);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#wakers.delete(wake);
          resolve();
        };
        this.#wakers.add(wake);
      });
    }
  }
}

/** A client on a real socket, which sends bytes. */
export class SocketClient implements Client {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #recorder = new LineRecorder();
  #rest = '';

  static async connect(path: string): Promise<SocketClient> {
    const socket = connect({ path, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    const client = new SocketClient(socket);
    onTestFinished(() => client.close());
    // The link is subscribed once it has answered.
    await client.sendRequest('get_status', undefined, { request_id: 'hello' });
    await client.waitFor((line) => line.request_id === 'hello');
    client.#recorder.received.length = 0;
    return client;
  }

  constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    socket.setEncoding('utf8');
    socket.on('data', (text) => this.#take(String(text)));
    // Both sides have ended.
    socket.on('end', () => socket.end());
  }

  get received(): readonly Line[] {
    return this.#recorder.received;
  }

  async send(line: string | Uint8Array): Promise<void> {
    this.socket.write(line);
    this.socket.write('\n');
  }

  sendRequest(method: string, params?: object, extras: object = {}): Promise<void> {
    return this.send(JSON.stringify({ method, ...(params && { params }), ...extras }));
  }

  waitFor(matches: (line: Line) => boolean, from?: number): Promise<Line> {
    return this.#recorder.waitFor(matches, from);
  }

  close(): void {
    this.socket.destroy();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#recorder.take(JSON.parse(line) as Line);
  }
}

/** A client in the same process: a function that is called with events. */
export class ProcessClient implements Client {
  readonly #listener: PodListener;
  readonly #recorder: LineRecorder;

  static async join(door: Pick<PodDoor, 'listen'>, pod: Pod): Promise<ProcessClient> {
    const recorder = new LineRecorder();
    const listener = await door.listen(pod, (event) => recorder.take(event), { name: 'client' });
    onTestFinished(() => listener.close());
    return new ProcessClient(listener, recorder);
  }

  private constructor(listener: PodListener, recorder: LineRecorder) {
    this.#listener = listener;
    this.#recorder = recorder;
  }

  get received(): readonly Line[] {
    return this.#recorder.received;
  }

  async send(line: string): Promise<void> {
    await this.#listener.request(JSON.parse(line) as { method: string }).catch(() => {});
  }

  sendRequest(method: string, params?: object, extras: object = {}): Promise<void> {
    return this.send(JSON.stringify({ method, ...(params && { params }), ...extras }));
  }

  waitFor(matches: (line: Line) => boolean, from?: number): Promise<Line> {
    return this.#recorder.waitFor(matches, from);
  }

  close(): void {
    this.#listener.close();
  }
}

/** The compared part of a line: the event and its data. */
export function eventData(lines: readonly Line[]): readonly unknown[] {
  return lines.map(({ event, data }) => [event, data]);
}

export const isState = (state: string) => (line: Line) =>
  line.event === 'status' && line.data.state === state;
