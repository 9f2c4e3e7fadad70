import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  arrayOf,
  type JsonObject,
  createLog,
  objectOf,
  redactor,
  stringOf,
} from '../../../src/base/index.ts';
import type { Host } from '../../../src/pod/index.ts';
import { type HldSettings, type OpenHld, startHld } from '../../../src/protocols/hld/index.ts';
import type { SimAnswer, Script } from '../../../src/sim/index.ts';
import { killedCopy } from '../../pod/resume/resume-fixture.ts';
import { scratch, type HostFixture, hostFixture } from '../../pod/fixture.ts';

export interface HldFixture extends HostFixture {
  readonly path: string;
  readonly door: OpenHld;
  readonly client: () => Promise<Client>;
  /** A subscribed client. The confirmation is its first line. */
  readonly subscribe: (params?: JsonObject) => Promise<Client>;
  /** Closes the door and the host, and opens both again on the same files. */
  readonly restart: (how?: 'shutdown' | 'kill') => Promise<Host>;
}

export async function hldFixture(
  script: Script,
  options: Parameters<typeof hostFixture>[1] & { readonly hld?: Partial<HldSettings> } = {},
): Promise<HldFixture> {
  const { hld = {}, ...rest } = options;
  const base = await hostFixture(script, rest);
  const path = hld.socketPath ?? join(scratch(), 'daemon.sock');
  let door = await openDoor(base.host, path, base.cwd, hld);
  let { host } = base;
  onTestFinished(() => door.close().catch(() => {}));
  const client = (): Promise<Client> => Client.open(path);
  return {
    ...base,
    path,
    door,
    client,
    subscribe: async (params = {}) => {
      const opened = await client();
      opened.send({ jsonrpc: '2.0', method: 'Subscribe', params, id: 'sub' });
      await opened.line(0);
      return opened;
    },
    restart: async (how = 'shutdown') => {
      const killed = how === 'kill' ? killedCopy(base.directory) : undefined;
      await door.close();
      await host.shutdown();
      host = await base.reopen(killed === undefined ? {} : { directory: killed });
      await host.recover();
      door = await openDoor(host, path, base.cwd, hld);
      return host;
    },
  };
}

export function openDoor(
  host: Host,
  socketPath: string,
  cwd: string,
  more: Partial<HldSettings> = {},
): Promise<OpenHld> {
  return startHld({
    host,
    socketPath,
    cwd,
    home: cwd,
    version: '0.1.0',
    log: SILENT,
    modelNamed: async (word) => (word === 'nothing' ? undefined : { provider: 'sim', modelId: word }),
    ...more,
  });
}

const SILENT = createLog({ sinks: [], level: () => 'error', redact: () => redactor([]) });

/** One connection, and all lines that it received. */
export class Client {
  readonly lines: string[] = [];
  /** The parsed lines. */
  readonly messages: Message[] = [];
  readonly events: ReceivedEvent[] = [];
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #waiting = new Set<() => void>();
  #rest = '';
  #nextId = 1000;
  #isClosed = false;

  static async open(path: string): Promise<Client> {
    const socket = connect(path);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new Client(socket);
  }

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true;
        resolve();
        this.#wake();
      });
    });
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n');
      this.#rest = parts.pop() ?? '';
      for (const line of parts) this.#take(line);
      this.#wake();
    });
    onTestFinished(() => {
      socket.destroy();
    });
  }

  write(text: string): void {
    this.socket.write(text);
  }

  send(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  /** Waits for the line with this number, past or future. */
  async line(index: number): Promise<string> {
    return this.until(() => this.lines[index]);
  }

  /** Sends a raw line and returns its answer. */
  async exchange(text: string): Promise<string> {
    const index = this.lines.length;
    this.write(`${text}\n`);
    return this.line(index);
  }

  async call(method: string, params?: unknown): Promise<unknown> {
    const reply = await this.reply(method, params);
    if (reply.error !== undefined) throw new Error(`${method}: ${JSON.stringify(reply.error)}`);
    return reply.result;
  }

  async reply(
    method: string,
    params?: unknown,
  ): Promise<{ readonly result?: unknown; readonly error?: JsonObject }> {
    const id = (this.#nextId += 1);
    this.send({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }), id });
    return this.until(() => this.messages.find((reply) => reply.id === id));
  }

  /** Waits for the first event that matches, past or future. */
  waitFor(matches: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent> {
    return this.until(() => this.events.find(matches));
  }

  /** Waits for a status, or for its detail. */
  waitForStatus(sessionId: string, status: string): Promise<ReceivedEvent> {
    return this.waitFor(
      ({ type, data }) =>
        type === 'session_status_changed' &&
        data.session_id === sessionId &&
        data.reason !== 'token_update' &&
        (data.detail ?? data.new_status) === status,
    );
  }

  async until<T>(check: () => T | undefined): Promise<T> {
    for (;;) {
      const found = check();
      if (found !== undefined) return found;
      if (this.#isClosed)
        throw new Error(`the connection was closed; lines so far: ${this.lines.join('\n')}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #take(line: string): void {
    this.lines.push(line);
    const message = JSON.parse(line) as Message & { readonly result?: { readonly event?: ReceivedEvent } };
    this.messages.push(message);
    refuseUnknownStatuses(message.result);
    if (message.result?.event !== undefined) this.events.push(message.result.event);
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

export interface ReceivedEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: ReceivedData;
  readonly seq?: number;
}

interface ReceivedData extends JsonObject {
  readonly session_id: string;
  readonly old_status?: string;
  readonly new_status?: string;
  readonly detail?: string;
  readonly run_id?: string;
  readonly approval_id?: string;
  readonly reason?: string;
  readonly event_type?: string;
  readonly role?: string;
  readonly content?: string;
  readonly title?: string;
}

/** Parses a line: a response, or several. */
interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: JsonObject;
}

/** Checked for every line of every test: strict clients know only the documented statuses. */
function refuseUnknownStatuses(result: unknown): void {
  const { session, sessions, event } = objectOf(result);
  const { old_status, new_status } = objectOf(objectOf(event).data);
  const shown = [session, ...arrayOf(sessions)].map((one) => objectOf(one).status);
  for (const status of [...shown, old_status, new_status])
    if (status !== undefined && !SEED_STATUSES.has(stringOf(status)))
      throw new Error(`no strict client knows the status ${stringOf(status)}: ${JSON.stringify(result)}`);
}

const SEED_STATUSES: ReadonlySet<string> = new Set([
  'starting',
  'running',
  'completed',
  'failed',
  'waiting_input',
]);

export const textAnswer = (text: string): SimAnswer => ({ parts: [{ text }] });

export const calls = (name: string, args: Record<string, unknown>): SimAnswer => ({
  parts: [{ toolCall: { name, arguments: args } }],
});

/** A command that needs approval. */
export const asks = (command = 'node -e 1'): SimAnswer => calls('bash', { command });

/** An answer that does not end by itself. */
export const STALLS: SimAnswer = { parts: [{ text: 'I begin' }], fault: { kind: 'stall', after: 1 } };

export interface Launched {
  readonly session_id: string;
  readonly run_id: string;
}

/** Launches a session and waits until it has this status. */
export async function launch(
  { client, subscribe }: HldFixture,
  params: JsonObject,
  status: string,
): Promise<Launched & { readonly client: Client; readonly subscribe: Client }> {
  const subscriber = await subscribe();
  const caller = await client();
  const launched = (await caller.call('launchSession', params)) as Launched;
  await subscriber.waitForStatus(launched.session_id, status);
  return { ...launched, client: caller, subscribe: subscriber };
}

/** The only pending approval of a session. */
export async function pendingApproval(client: Client, sessionId: string): Promise<string> {
  const { approvals } = (await client.call('fetchApprovals', { session_id: sessionId })) as {
    readonly approvals: readonly { readonly id: string }[];
  };
  return approvals[0]?.id ?? '';
}

export async function statusOf(client: Client, sessionId: string): Promise<unknown> {
  const { session } = (await client.call('getSessionState', { session_id: sessionId })) as {
    readonly session: JsonObject;
  };
  return session.detail ?? session.status;
}

/** The received changes of status, as `from→to`, with the detail if there is one. */
export function changesOf(subscribe: Client, sessionId: string): readonly string[] {
  return subscribe.events.flatMap(({ type, data }) =>
    type === 'session_status_changed' &&
    data.session_id === sessionId &&
    data.new_status !== undefined &&
    data.reason !== 'token_update'
      ? [`${data.old_status}→${data.detail ?? data.new_status}`]
      : [],
  );
}
