import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { createParser } from 'eventsource-parser';
import { WebSocket } from 'ws';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import type { PodEvent } from '../../../src/pod/index.ts';
import { expectedTaskLines } from '../expected/pod.ts';
import type { JsonLine } from '../lines.ts';
import { difference, type DoorLine } from '../door-line.ts';
import { withinTime } from '../within-time.ts';
import {
  type ClientOptions,
  type DoorClient,
  outcomeOf,
  type Outcome,
  type Prompt,
  type LineSequence,
} from './client.ts';
import { parsePodLine } from './pod-lines.ts';

interface HttpAnswer {
  readonly status: number;
  readonly body: JsonLine;
}

/** The common part of both clients of the tasks door: requests over HTTP, lines with ids. */
abstract class TasksClient implements DoorClient {
  abstract readonly wire: 'tasks SSE' | 'tasks WebSocket';
  readonly sequences: LineSequence[] = [];
  readonly problems: string[] = [];
  connections = 0;
  /** Accepted tasks. */
  readonly tasks: string[] = [];
  protected readonly options: ClientOptions;
  /** The id of the last line, to resume after. */
  protected lastId: string | undefined;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  abstract get isConnected(): boolean;
  abstract connect(): Promise<void>;
  abstract cut(): void;
  abstract pauseReading(): void;
  abstract resumeReading(): void;

  prompt = (prompt: Prompt): Promise<Outcome> => this.queue(prompt);

  queue = (prompt: Prompt): Promise<Outcome> =>
    outcomeOf(async () => {
      const reply = await this.submit(
        {
          sessionId: this.options.pod,
          userPrompt: prompt.text,
          taskType: prompt.hasTools ? 'complex_task' : 'chat',
        },
        prompt.key,
      );
      if (reply.status !== 'accepted') return false;
      this.tasks.push(stringOf(reply.taskId));
      return true;
    });

  cancel = (): Promise<Outcome> =>
    outcomeOf(async () => {
      const { body } = await this.http('GET', `/tasks?sessionId=${this.options.pod}`);
      const running = arrayOf(body.tasks)
        .map(objectOf)
        .find(({ status }) => status === 'in_progress');
      if (running === undefined) return false;
      return (await this.http('POST', `/tasks/${stringOf(running.taskId)}/cancel`, {})).status === 200;
    });

  decide = (decision: 'approve' | 'deny'): Promise<Outcome> =>
    outcomeOf(async () => {
      const { body } = await this.http('GET', `/approvals?sessionId=${this.options.pod}`);
      const [approval] = arrayOf(body.approvals).map(objectOf);
      if (approval === undefined) return false;
      const decided = await this.http('POST', `/approvals/${stringOf(approval.approvalId)}/decide`, {
        decision,
        ...(decision === 'deny' && { comment: 'not here' }),
      });
      return decided.status === 200;
    });

  async sendMalformed(choice: number): Promise<Outcome> {
    return outcomeOf(async () => {
      const [path, body, status] = MALFORMED[choice % MALFORMED.length] ?? ['/', '', 0];
      const answer = await this.http('POST', path, body);
      if (answer.status !== status || typeof objectOf(answer.body.error).code !== 'string')
        this.problem(`${path} ${body} was answered with ${answer.status} ${JSON.stringify(answer.body)}`);
      return false;
    });
  }

  /** Accepted tasks that the door reports as unfinished. */
  unfinished = async (): Promise<readonly string[]> => {
    const open: string[] = [];
    for (const task of this.tasks) {
      const { body } = await this.http('GET', `/tasks/${task}/status`);
      if (body.status !== 'completed' && body.status !== 'failed')
        open.push(`${task}: ${JSON.stringify(body)}`);
    }
    return open;
  };

  protected async submit(request: object, key?: string): Promise<JsonLine> {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    return (await this.http('POST', '/submit_task', request, headers)).body;
  }

  protected async http(
    method: string,
    path: string,
    body?: object | string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<HttpAnswer> {
    const { daemon } = this.options;
    const response = await send(new URL(path, daemon.url), method, daemon.key, body, headers);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return {
      status: response.statusCode ?? 0,
      body: objectOf(JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')),
    };
  }

  protected take(line: JsonLine, id: string | undefined): void {
    const { event, seq } = line;
    if (event === 'snapshot') this.#joined(line);
    if (id !== undefined) this.lastId = id;
    if (event === 'snapshot' || seq === undefined) return;
    const parsed = parsePodLine(line, 'extended');
    if (parsed === undefined) this.problem(`a line that is not in the protocol: ${JSON.stringify(line)}`);
    else this.sequences.at(-1)?.lines.push(parsed);
  }

  #joined(line: JsonLine): void {
    const data = objectOf(line.data);
    if (data.reason === 'gap') this.problem(`a gap: ${JSON.stringify(line).slice(0, 300)}`);
    const seq = Number(line.seq);
    this.sequences.push({ from: { lowest: seq, highest: seq }, lines: [], snapshot: data });
  }

  /** Where the next connection starts: after the last line, or at the first event if everything is requested. */
  protected begin(): string | undefined {
    if (this.lastId !== undefined) return this.lastId;
    if (!this.options.fromStart) return undefined;
    if (this.sequences.length === 0) this.sequences.push({ from: { lowest: 0, highest: 0 }, lines: [] });
    return '0';
  }

  protected problem(text: string): void {
    this.problems.push(`${this.wire}: ${text}`);
  }
}

/** Watches a session with server-sent events. */
export class TasksSseClient extends TasksClient {
  readonly wire = 'tasks SSE';
  readonly repeats = true;
  #response: IncomingMessage | undefined;
  #isOpen = false;

  get isConnected(): boolean {
    return this.#isOpen;
  }

  async connect(): Promise<void> {
    this.cut();
    this.connections += 1;
    const { daemon, pod } = this.options;
    const after = this.begin();
    const sequences = this.sequences.length;
    const url = new URL(`/sessions/${pod}/events`, daemon.url);
    const headers = after === undefined ? {} : { 'last-event-id': after };
    const response = await send(url, 'GET', daemon.key, undefined, headers);
    if (response.statusCode !== 200) throw new Error(`the stream was answered with ${response.statusCode}`);
    this.#response = response;
    this.#isOpen = true;
    const parser = createParser({
      onEvent: ({ data, id }) => {
        if (this.#response === response) this.take(objectOf(JSON.parse(data)), id);
      },
    });
    response.setEncoding('utf8').on('data', (text: string) => parser.feed(text));
    response.on('error', () => {});
    response.on('close', () => {
      if (this.#response === response) this.#isOpen = false;
    });
    if (after === undefined)
      await withinTime('the stream begins with a snapshot', () =>
        this.sequences.length > sequences || !this.#isOpen ? true : undefined,
      );
  }

  /** The stream of each accepted task: exactly the events of its run, up to the last one, with which it ends. */
  further = async (log: readonly PodEvent[]): Promise<readonly string[]> => {
    const { daemon } = this.options;
    const problems: string[] = [];
    for (const task of this.tasks) {
      const response = await send(new URL(`/tasks/${task}/events`, daemon.url), 'GET', daemon.key);
      const received: DoorLine[] = [];
      const parser = createParser({
        onEvent: ({ data }) => {
          const line = objectOf(JSON.parse(data));
          const parsed = line.seq === undefined ? undefined : parsePodLine(line, 'extended');
          if (parsed !== undefined) received.push(parsed);
        },
      });
      response.setEncoding('utf8');
      for await (const text of response) parser.feed(text as string);
      const problem = difference(expectedTaskLines(log, task), received, { isComplete: true });
      if (problem !== undefined) problems.push(`the stream of ${task}: ${problem}`);
    }
    return problems;
  };

  cut(): void {
    this.#response?.destroy();
    this.#response = undefined;
    this.#isOpen = false;
  }

  pauseReading(): void {
    this.#response?.pause();
  }

  resumeReading(): void {
    this.#response?.resume();
  }
}

/** Watches a session, and acts, over a WebSocket. */
export class TasksWebSocketClient extends TasksClient {
  readonly wire = 'tasks WebSocket';
  #socket: WebSocket | undefined;
  #isOpen = false;
  #requests = 0;
  readonly #answers = new Map<number, JsonLine>();

  get isConnected(): boolean {
    return this.#isOpen;
  }

  async connect(): Promise<void> {
    this.cut();
    this.connections += 1;
    const { daemon, pod } = this.options;
    const after = this.begin();
    const address = daemon.url.replace('http', 'ws');
    const socket = new WebSocket(`${address}/ws`, ['polypod', `bearer.${daemon.key}`]);
    socket.on('error', () => {});
    await new Promise<void>((resolve, reject) => {
      socket.on('open', resolve);
      socket.on('close', () => reject(new Error('the connection was closed')));
    });
    this.#socket = socket;
    this.#isOpen = true;
    socket.on('close', () => {
      if (this.#socket === socket) this.#isOpen = false;
    });
    socket.on('message', (data: Buffer) => {
      if (this.#socket === socket) this.#receive(objectOf(JSON.parse(data.toString('utf8'))));
    });
    const { event, data } = await this.#ask('subscribe', {
      sessionId: pod,
      ...(after === undefined ? {} : { after }),
    });
    if (event !== 'accepted') throw new Error(`subscribe: ${JSON.stringify(data)}`);
  }

  cut(): void {
    this.#socket?.terminate();
    this.#socket = undefined;
    this.#isOpen = false;
  }

  pauseReading(): void {
    if (this.isConnected) this.#socket?.pause();
  }

  resumeReading(): void {
    this.#socket?.resume();
  }

  protected override async submit(request: object): Promise<JsonLine> {
    const { event, data } = await this.#ask('prompt', request);
    return event === 'accepted' ? objectOf(data) : { status: 'rejected' };
  }

  override async sendMalformed(choice: number): Promise<Outcome> {
    return outcomeOf(async () => {
      const socket = this.#connected();
      const id = (this.#requests += 1);
      const bad = [
        { method: 'rum', request_id: id },
        { method: 'prompt', params: { taskType: 'none' }, request_id: id },
        { method: 'status', params: { taskId: 5 }, request_id: id },
      ][choice % 3];
      socket.send(JSON.stringify(bad));
      const { event } = await this.#answer(id);
      if (event !== 'error') this.problem(`${JSON.stringify(bad)} was answered with ${String(event)}`);
      return false;
    });
  }

  #receive(line: JsonLine): void {
    if (typeof line.request_id === 'number') this.#answers.set(line.request_id, line);
    else this.take(line, typeof line.id === 'string' ? line.id : undefined);
  }

  async #ask(method: string, params: object): Promise<JsonLine> {
    const id = (this.#requests += 1);
    this.#connected().send(JSON.stringify({ method, params, request_id: id }));
    return this.#answer(id);
  }

  async #answer(id: number): Promise<JsonLine> {
    return withinTime(`no answer to WebSocket request ${id}`, () => {
      const line = this.#answers.get(id);
      if (line === undefined && !this.isConnected) closed();
      return line;
    });
  }

  #connected(): WebSocket {
    if (this.#socket === undefined || !this.isConnected) closed();
    return this.#socket;
  }
}

function closed(): never {
  throw new Error('the connection was closed');
}

const MALFORMED: readonly (readonly [path: string, body: string, status: number])[] = [
  ['/submit_task', 'hello', 400],
  ['/submit_task', '{"userPrompt":5}', 400],
  ['/approvals/none/decide', '{"decision":"approve"}', 404],
  ['/nowhere', '{}', 404],
  ['/tasks/none/cancel', '', 404],
];

async function send(
  url: URL,
  method: string,
  key: string,
  body?: object | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const sent = httpRequest(url, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...headers,
    },
  });
  sent.end(text);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // A connection that breaks later ends the response.
  sent.on('error', () => {});
  return response;
}
