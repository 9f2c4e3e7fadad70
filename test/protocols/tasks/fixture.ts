import { mkdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { auditFiles, AuditLog, listAuditFiles, readEntry } from '../../../src/audit/index.ts';
import { type JsonObject, createLog, redactor } from '../../../src/base/index.ts';
import { COMMAND_MODEL, commandModel, isCommandModel } from '../../../src/setup/models/command-model.ts';
import { connect } from '../../../src/llm/index.ts';
import type { Host } from '../../../src/pod/index.ts';
import { podLines } from '../../../src/protocols/index.ts';
import {
  createKey,
  type NewKey,
  type OpenTasks,
  type TasksSettings,
} from '../../../src/protocols/tasks/index.ts';
import { startTasks } from '../../../src/protocols/tasks/listener.ts';
import { providerNamed } from '../../../src/registry.ts';
import type { SimAnswer, Script } from '../../../src/sim/index.ts';
import { killedCopy } from '../../pod/resume/resume-fixture.ts';
import { MODEL, scratch, type HostFixture, hostFixture } from '../../pod/fixture.ts';

export interface TasksFixture extends HostFixture {
  readonly door: () => OpenTasks;
  readonly keyFile: string;
  /** The audit log, once it is written completely. */
  readonly audited: () => Promise<readonly JsonObject[]>;
  /** Creates a key. */
  readonly key: (overrides?: Partial<NewKey>) => string;
  /** A client with its own key, with all permissions of ada. */
  readonly client: (overrides?: Partial<NewKey>) => Client;
  readonly bare: (key?: string) => Client;
  /** Closes the door and the host, and opens both again on the same files. */
  readonly restart: (how?: 'shutdown' | 'kill') => Promise<Host>;
  readonly logged: string[];
  /** The settings of the door, to open another one. */
  readonly settings: () => TasksSettings;
}

export async function tasksFixture(
  script: Script,
  options: Parameters<typeof hostFixture>[1] & {
    readonly tasks?: Partial<TasksSettings>;
    readonly withoutCommands?: boolean;
  } = {},
): Promise<TasksFixture> {
  const { tasks = {}, withoutCommands = false, agent, ...rest } = options;
  let simUrl = '';
  const base = await hostFixture(script, {
    ...rest,
    agent: {
      model: async (choice) =>
        isCommandModel(choice)
          ? commandModel()
          : {
              llm: connect(providerNamed('anthropic'), {
                name: 'sim',
                api: 'anthropic',
                baseUrl: simUrl,
                apiKey: 'any',
              }),
              model: { ...MODEL, id: choice.modelId },
            },
      ...agent,
    },
  });
  simUrl = base.sim.url;
  const keyFile = join(scratch(), 'keys.json');
  const files = auditFiles(scratch());
  const audit = new AuditLog({
    files,
    makeDirectory: (path) => void mkdirSync(path, { recursive: true }),
  });
  onTestFinished(() => void audit.close());
  const audited = async (): Promise<readonly JsonObject[]> => {
    await audit.close();
    return listAuditFiles(files)
      .flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n'))
      .map((line) => ({ ...readEntry(line) }))
      .filter(({ event }) => event !== 'audit.started');
  };
  const logged: string[] = [];
  const log = createLog({
    sinks: [(entry) => logged.push(JSON.stringify(entry))],
    level: () => 'debug',
    redact: () => redactor([]),
  });
  const project = await podLines(100_000);
  const settingsFor = (host: Host): TasksSettings => ({
    host,
    version: '0.1.0',
    log,
    port: 0,
    keyFile,
    audit: audit.record,
    cwd: base.cwd,
    modelNamed: async (word) => (word === 'nothing' ? undefined : { provider: 'sim', modelId: word }),
    ...(!withoutCommands && {
      command: { model: COMMAND_MODEL, tool: 'bash' },
    }),
    project,
    ...tasks,
  });
  const open = (host: Host): Promise<OpenTasks> => startTasks(settingsFor(host));
  let { host } = base;
  let door = await open(host);
  onTestFinished(() => door.close().catch(() => {}));
  const key = (overrides: Partial<NewKey> = {}): string =>
    createKey(keyFile, { owner: 'ada', scopes: ['submit', 'read', 'approve'], ...overrides }).key;
  const bare = (text?: string): Client => new Client(() => door.url, text);
  return {
    ...base,
    door: () => door,
    keyFile,
    audited,
    key,
    bare,
    client: (overrides) => bare(key(overrides)),
    restart: async (how = 'shutdown') => {
      const killed = how === 'kill' ? killedCopy(base.directory) : undefined;
      await door.close();
      await host.shutdown();
      host = await base.reopen(killed === undefined ? {} : { directory: killed });
      await host.recover();
      door = await open(host);
      return host;
    },
    logged,
    settings: () => settingsFor(host),
  };
}

export interface Answered<T = JsonObject> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
}

export class Client {
  readonly #url: () => string;
  readonly key: string | undefined;

  constructor(url: () => string, key: string | undefined) {
    this.#url = url;
    this.key = key;
  }

  get url(): string {
    return this.#url();
  }

  get headers(): Record<string, string> {
    return this.key === undefined ? {} : { authorization: `Bearer ${this.key}` };
  }

  async get<T = JsonObject>(path: string, headers: Record<string, string> = {}): Promise<Answered<T>> {
    return read(await fetch(`${this.url}${path}`, { headers: { ...this.headers, ...headers } }));
  }

  async post<T = JsonObject>(
    path: string,
    body: unknown = {},
    headers: Record<string, string> = {},
  ): Promise<Answered<T>> {
    const all = { 'content-type': 'application/json', ...this.headers, ...headers };
    const text =
      typeof body === 'string' || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body);
    return read(await fetch(`${this.url}${path}`, { method: 'POST', headers: all, body: text }));
  }

  async submit(more: JsonObject = {}, headers: Record<string, string> = {}): Promise<string> {
    const { status, body } = await this.post('/submit_task', task(more), headers);
    if (status !== 200 || body.status !== 'accepted') throw new Error(`${status} ${JSON.stringify(body)}`);
    return String(body.taskId);
  }

  /** Polls until the task has this state. */
  async until(taskId: string, state: string): Promise<JsonObject> {
    for (;;) {
      const { body } = await this.get(`/tasks/${taskId}/status`);
      if (body.state === state) return body;
      if (body.error !== undefined || isOver(body)) throw new Error(JSON.stringify(body));
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
  }

  async done(taskId: string): Promise<JsonObject> {
    return this.until(taskId, 'succeeded');
  }

  /** Opens a stream of events. */
  async events(path: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const response = await fetch(`${this.url}${path}`, {
      headers: { ...this.headers, ...headers },
      signal: stop.signal,
    });
    return new EventReader(response, stop);
  }
}

function isOver({ status }: JsonObject): boolean {
  return status === 'completed' || status === 'failed';
}

async function read<T>(response: Response): Promise<Answered<T>> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    body: (isJson ? JSON.parse(text) : { text }) as T,
    headers: response.headers,
  };
}

export interface ReceivedEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly line: { readonly event: string; readonly data: JsonObject; readonly seq?: number };
}

/** Everything that a stream has sent so far. */
export class EventReader {
  readonly status: number;
  readonly response: Response;
  readonly received: ReceivedEvent[] = [];
  readonly comments: string[] = [];
  readonly #stop: AbortController;
  readonly ended: Promise<void>;
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(response: Response, stop: AbortController) {
    this.status = response.status;
    this.response = response;
    this.#stop = stop;
    this.ended = this.#read().finally(() => {
      this.#isOver = true;
      this.#wake();
    });
  }

  get lastId(): string {
    return this.received.findLast(({ id }) => id !== undefined)?.id ?? '';
  }

  get names(): readonly string[] {
    return this.received.map(({ event }) => event);
  }

  async waitFor(matches: string | ((event: ReceivedEvent) => boolean)): Promise<ReceivedEvent> {
    const isIt = typeof matches === 'string' ? ({ event }: ReceivedEvent) => event === matches : matches;
    for (;;) {
      const found = this.received.find(isIt);
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`the stream ended; received ${this.names.join(' ')}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  cut(): void {
    this.#stop.abort();
  }

  async #read(): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    try {
      for await (const bytes of this.response.body ?? []) {
        const parts = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) this.#take(part);
        this.#wake();
      }
    } catch {
      // Closed by either side.
    }
  }

  #take(part: string): void {
    if (part.startsWith(':')) this.comments.push(part);
    const field = (name: string): string | undefined =>
      part
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const data = field('data');
    if (data === undefined) return;
    this.received.push({
      id: field('id'),
      event: field('event') ?? '',
      line: JSON.parse(data) as ReceivedEvent['line'],
    });
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

export const task = (more: JsonObject = {}): JsonObject => ({
  sessionId: 's1',
  userPrompt: 'Say hello.',
  taskType: 'chat',
  ...more,
});

export const textAnswer = (text: string): SimAnswer => ({ parts: [{ text }] });

export const calls = (name: string, args: Record<string, unknown>): SimAnswer => ({
  parts: [{ toolCall: { name, arguments: args } }],
});

/** An answer that does not end by itself. */
export const STALLS: SimAnswer = { parts: [{ text: 'I begin' }], fault: { kind: 'stall', after: 1 } };

/** The response of the server to raw bytes. */
export async function raw(url: string, text: string, rest?: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket: Socket = connectTcp(Number(port), hostname);
  onTestFinished(() => {
    socket.destroy();
  });
  let answer = '';
  socket.setEncoding('utf8');
  socket.on('data', (piece: string) => {
    answer += piece;
  });
  socket.on('error', () => {});
  socket.write(text);
  if (rest !== undefined) socket.write(rest);
  await new Promise((resolve) => {
    socket.on('close', resolve);
  });
  return answer;
}

/** A request with headers that fetch would not send. */
export function oddRequest(
  url: string,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<{ readonly status: number; readonly body: string; readonly headers: JsonObject }> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { headers, method }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        body += piece;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body, headers: response.headers }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}
