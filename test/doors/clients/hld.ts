import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { isStatus } from '../expected/hld.ts';
import { connectLines, type JsonLine, type LineLink } from '../lines.ts';
import { type DoorLine, doorLine } from '../door-line.ts';
import { type ClientOptions, type DoorClient, outcomeOf, type Outcome, type LineSequence } from './client.ts';

/** A client of the HLD door: one connection for requests, one with a subscription to the session. */
export class HldClient implements DoorClient {
  readonly wire = 'hld';
  #pod: string;
  readonly sequences: LineSequence[] = [];
  readonly problems: string[] = [];
  connections = 0;
  readonly #options: ClientOptions;
  #requests: LineLink | undefined;
  #events: LineLink | undefined;
  #ids = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#pod = options.pod;
  }

  /** Subscribes to all sessions, then launches one, to receive its events from the first on. */
  static async launch(options: Omit<ClientOptions, 'pod'>, query: string): Promise<HldClient> {
    const client = new HldClient({ ...options, pod: '' });
    const sequence: LineSequence = { from: { lowest: 0, highest: 0 }, lines: [] };
    const early: JsonLine[] = [];
    const { events } = await client.#open((line) => early.push(line));
    events.send({ jsonrpc: '2.0', id: 1, method: 'Subscribe', params: {} });
    await events.next((line) => 'subscription_id' in objectOf(line.result));
    const params = { query, working_dir: options.daemon.project };
    const { result, error } = await client.#request('launchSession', params);
    if (error !== undefined) throw new Error(`launchSession: ${JSON.stringify(error)}`);
    client.#pod = stringOf(objectOf(result).session_id);
    client.sequences.push(sequence);
    for (const line of early) client.#take(line, sequence);
    events.onLine = (line) => client.#take(line, sequence);
    return client;
  }

  get pod(): string {
    return this.#pod;
  }

  get isConnected(): boolean {
    return this.#requests?.isClosed === false && this.#events?.isClosed === false;
  }

  async connect(): Promise<void> {
    this.cut();
    this.connections += 1;
    const { daemon } = this.#options;
    const pod = this.#pod;
    const sequence: LineSequence = { from: { lowest: 0, highest: Infinity }, lines: [] };
    const { events } = await this.#open((line) => this.#take(line, sequence));
    this.sequences.push(sequence);
    events.send({ jsonrpc: '2.0', id: 1, method: 'Subscribe', params: { session_id: pod } });
    await events.next((line) => 'subscription_id' in objectOf(line.result));
    sequence.from.highest = await daemon.lastNumber(pod);
  }

  cut(): void {
    this.#requests?.close();
    this.#events?.close();
  }

  pauseReading(): void {
    this.#events?.pause();
  }

  resumeReading(): void {
    this.#events?.resume();
  }

  cancel = (): Promise<Outcome> =>
    outcomeOf(async () => 'result' in (await this.#request('interruptSession', { session_id: this.#pod })));

  decide = async (decision: 'approve' | 'deny'): Promise<Outcome> =>
    outcomeOf(async () => {
      const pending = await this.#request('fetchApprovals', { session_id: this.#pod });
      const [approval] = arrayOf(objectOf(pending.result).approvals).map(objectOf);
      if (approval === undefined) return false;
      const params = {
        approval_id: approval.id,
        decision,
        ...(decision === 'deny' && { comment: 'not here' }),
      };
      const { result } = await this.#request('sendDecision', params);
      return objectOf(result).success === true;
    });

  async sendMalformed(choice: number): Promise<Outcome> {
    return outcomeOf(async () => {
      const link = this.#connected();
      const from = link.received.length;
      const [bad, code] = MALFORMED[choice % MALFORMED.length] ?? ['', 0];
      link.sendText(`${bad}\n`);
      const line = await link.next(({ error }) => error !== undefined, from);
      if (objectOf(line.error).code !== code)
        this.#problem(`${bad} was refused with ${JSON.stringify(line)}`);
      await this.#request('health', {});
      return false;
    });
  }

  conversation = async (): Promise<readonly string[]> => {
    const { result } = await this.#request('getConversation', { session_id: this.#pod });
    return arrayOf(objectOf(result).events).map(rowLine);
  };

  unfinished = async (): Promise<readonly string[]> => {
    const { result } = await this.#request('getSessionState', { session_id: this.#pod });
    const { status, detail } = objectOf(objectOf(result).session);
    // A draft has no prompt.
    const isOver = status === 'completed' || status === 'failed' || detail === 'draft';
    return isOver ? [] : [`${this.#pod}: ${stringOf(status)} ${stringOf(detail)}`];
  };

  async #request(method: string, params: object): Promise<JsonLine> {
    const link = this.#connected();
    const id = (this.#ids += 1);
    link.send({ jsonrpc: '2.0', id, method, params });
    return link.next((line) => line.id === id, 0);
  }

  async #open(onLine: (line: JsonLine) => void): Promise<{ readonly events: LineLink }> {
    const { daemon } = this.#options;
    const [requests, events] = [await connectLines(daemon.hld), await connectLines(daemon.hld)];
    [this.#requests, this.#events] = [requests, events];
    events.onLine = (line) => {
      if (events === this.#events) onLine(line);
    };
    return { events };
  }

  #connected(): LineLink {
    if (this.#requests === undefined || this.#requests.isClosed)
      throw new Error('the client is not connected');
    return this.#requests;
  }

  #take(line: JsonLine, sequence: LineSequence): void {
    const { event } = objectOf(line.result);
    if (event === undefined || objectOf(objectOf(event).data).session_id !== this.#pod) return;
    const parsed = parseEvent(objectOf(event));
    if (parsed === undefined) this.#problem(`an event that is not in the protocol: ${JSON.stringify(line)}`);
    else sequence.lines.push(...parsed);
  }

  #problem(text: string): void {
    this.problems.push(`${this.wire}: ${text}`);
  }
}

const MALFORMED: readonly (readonly [line: string, code: number])[] = [
  ['hello', -32700],
  ['{"jsonrpc":"2.0","method":"nope","id":"x"}', -32601],
  ['{"jsonrpc":"2.0","method":"launchSession","params":{},"id":"x"}', -32602],
  ['{"jsonrpc":"2.0","method":"getSessionState","params":{"session_id":"x"},"id":"x"}', -32603],
  ['{"method":5}', -32600],
];

function parseEvent(event: JsonLine): readonly DoorLine[] | undefined {
  const data = objectOf(event.data);
  const seq = Number(event.seq);
  const type = stringOf(event.type);
  switch (type) {
    case 'session_status_changed':
      return parseStatus(seq, data);
    case 'conversation_updated':
      return [doorLine(seq, type, rowGist(data))];
    case 'new_approval':
      return [doorLine(seq, type, { approval_id: data.approval_id, tool_name: data.tool_name })];
    case 'approval_resolved':
      return [
        doorLine(seq, type, {
          approval_id: data.approval_id,
          approved: data.approved,
          response_text: data.response_text,
        }),
      ];
    case 'session_settings_changed':
      return [];
    default:
      return undefined;
  }
}

function parseStatus(seq: number, data: JsonLine): readonly DoorLine[] | undefined {
  if ('title' in data) return [];
  if (!isStatus(data.old_status) || !isStatus(data.new_status)) return undefined;
  if (data.reason === 'token_update')
    return [doorLine(seq, 'session_status_changed', { reason: 'token_update' })];
  const { old_status: old, new_status: now, detail } = data;
  return [doorLine(seq, 'session_status_changed', { old, new: now, detail })];
}

function rowGist(data: JsonLine): Readonly<Record<string, unknown>> {
  const type = stringOf(data.event_type);
  switch (type) {
    case 'message':
      return { type, role: data.role, content: data.content };
    case 'tool_call':
      return { type, id: data.tool_id, name: data.tool_name };
    case 'tool_result':
      return { type, id: data.tool_result_for_id, content: data.tool_result_content };
    default:
      return { type, content: data.content };
  }
}

function rowLine(value: unknown): string {
  const row = objectOf(value);
  switch (row.event_type) {
    case 'message':
      return `${stringOf(row.role)}: ${stringOf(row.content)}`;
    case 'tool_call':
      return `call ${stringOf(row.tool_id)}: ${stringOf(row.tool_name)} ${stringOf(row.tool_input_json)}`;
    case 'tool_result':
      return `result ${stringOf(row.tool_result_for_id)}: ${stringOf(row.tool_result_content)}`;
    default:
      return `${stringOf(row.event_type)}: ${stringOf(row.content)}`;
  }
}
