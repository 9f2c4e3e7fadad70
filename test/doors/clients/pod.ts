import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { connectLines, type JsonLine, type LineLink } from '../lines.ts';
import {
  type ClientOptions,
  type DoorClient,
  outcomeOf,
  type Outcome,
  type Prompt,
  type LineSequence,
} from './client.ts';
import { parsePodLine } from './pod-lines.ts';

/** A client of the Pod Protocol: with `subscribe`, which resumes by number, or plain, as in the seed. */
export class PodClient implements DoorClient {
  readonly wire: 'pod' | 'pod plain';
  readonly sequences: LineSequence[] = [];
  readonly problems: string[] = [];
  connections = 0;
  readonly #options: ClientOptions;
  #link: LineLink | undefined;
  #requests = 0;
  /** The number of the last line and how many of its lines came: a connection may break between two of them. */
  #last: { readonly seq: number; lines: number } | undefined;
  #again = 0;
  #isSubscribed = false;
  readonly #open = new Set<string>();

  constructor(wire: 'pod' | 'pod plain', options: ClientOptions) {
    this.wire = wire;
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#link?.isClosed === false;
  }

  get #isPlain(): boolean {
    return this.wire === 'pod plain';
  }

  async connect(): Promise<void> {
    this.cut();
    this.connections += 1;
    const { daemon, pod, fromStart, name } = this.#options;
    const link = await this.#dial();
    this.#link = link;
    this.#isSubscribed = false;
    link.onLine = (line) => this.#take(link, line);
    if (this.#isPlain) {
      // Sent in the same order as everything else: events after the response are received.
      const sequence: LineSequence = { from: { lowest: 0, highest: Infinity }, lines: [] };
      this.sequences.push(sequence);
      link.send({ method: 'get_status', request_id: 'joined' });
      await link.next((line) => line.request_id === 'joined');
      sequence.from.highest = await daemon.lastNumber(pod);
      return;
    }
    const after = this.#last === undefined ? (fromStart ? 0 : undefined) : this.#last.seq - 1;
    this.#again = this.#last?.lines ?? 0;
    link.send({ method: 'subscribe', params: { name, ...(after === undefined ? {} : { after }) } });
    const line = await link.next(({ event }) => event === 'subscribed' || event === 'snapshot');
    if (line.event === 'subscribed' && this.sequences.length === 0)
      this.#problem(`subscribed without a beginning: ${JSON.stringify(line)}`);
  }

  cut(): void {
    this.#link?.close();
  }

  pauseReading(): void {
    this.#link?.pause();
  }

  resumeReading(): void {
    this.#link?.resume();
  }

  get repeats(): boolean {
    return !this.#isPlain;
  }

  prompt = ({ text, key }: Prompt): Promise<Outcome> => this.#ask('run', { input: text }, key);
  queue = ({ text, key }: Prompt): Promise<Outcome> =>
    this.#ask('run', { input: text, when_busy: 'queue' }, key);
  steer = (text: string): Promise<Outcome> => this.#ask('steer', { input: text });
  cancel = (): Promise<Outcome> => this.#ask('cancel', {});

  /** A plain connection receives no approvals. */
  get decide(): ((decision: 'approve' | 'deny') => Promise<Outcome>) | undefined {
    return this.#isPlain ? undefined : (decision) => this.#decide(decision);
  }

  async sendMalformed(choice: number): Promise<Outcome> {
    return outcomeOf(async () => {
      const link = this.#connected();
      const bad = MALFORMED[choice % MALFORMED.length] ?? '';
      const from = link.received.length;
      link.sendText(`${bad}\n`);
      const line = await link.next(({ event, seq }) => event === 'error' && seq === undefined, from);
      const { code } = objectOf(line.data);
      if (code !== (this.#isPlain ? 'internal' : 'invalid_request'))
        this.#problem(`${bad} was refused with ${JSON.stringify(line)}`);
      return false;
    });
  }

  conversation = async (): Promise<readonly string[]> => {
    const link = this.#connected();
    const id = this.#nextId();
    link.send({ method: 'get_history', request_id: id });
    const { data } = await link.next(({ request_id }) => request_id === id, 0);
    return arrayOf(objectOf(data).items).map(historyLine);
  };

  async #decide(decision: 'approve' | 'deny'): Promise<Outcome> {
    const [approval] = this.#open;
    if (approval === undefined) return 'refused';
    return this.#ask('decide', {
      approval_id: approval,
      decision,
      ...(decision === 'deny' && { comment: 'not here' }),
    });
  }

  async #ask(method: string, params: object, key?: string): Promise<Outcome> {
    return outcomeOf(async () => {
      const id = this.#nextId();
      const link = this.#connected();
      const isOnce = key !== undefined && !this.#isPlain;
      link.send({ method, params, request_id: id, ...(isOnce && { idempotency_key: key }) });
      if (!this.#isPlain)
        return (await link.next(({ request_id }) => request_id === id, 0)).event === 'accepted';
      // A plain connection receives only errors. Its lines are processed in order: the next response comes after this one.
      const fence = this.#nextId();
      link.send({ method: 'get_status', request_id: fence });
      const answer = await link.next(({ request_id }) => request_id === id || request_id === fence, 0);
      return answer.request_id === fence;
    });
  }

  #nextId(): number {
    return (this.#requests += 1);
  }

  #connected(): LineLink {
    if (this.#link === undefined || this.#link.isClosed) throw new Error('the client is not connected');
    return this.#link;
  }

  /** The pod's own socket if it listens, otherwise the daemon's, which loads the pod. */
  async #dial(): Promise<LineLink> {
    const { daemon, pod } = this.#options;
    const path = join(daemon.env.POLYPOD_RUNTIME_DIR ?? '', 'pods', `${pod}.sock`);
    const own = existsSync(path) ? await connectLines(path).catch(() => undefined) : undefined;
    if (own !== undefined) return own;
    const link = await connectLines(daemon.control);
    link.send({ method: 'attach', params: { pod } });
    return link;
  }

  #take(link: LineLink, line: JsonLine): void {
    // Data that arrives on an abandoned connection is ignored.
    if (link !== this.#link) return;
    if (line.event === 'snapshot') this.#joined(line);
    if (line.event === 'subscribed' && this.sequences.length === 0)
      this.sequences.push({ from: { lowest: 0, highest: 0 }, lines: [] });
    if (line.event === 'snapshot' || line.event === 'subscribed') this.#isSubscribed = true;
    if (line.event === 'snapshot' || line.seq === undefined || line.request_id !== undefined) return;
    // Until the daemon has read the subscription, the connection is a plain one: its events are sent again.
    if (!this.#isPlain && !this.#isSubscribed) return;
    if (!this.#isNew(Number(line.seq))) return;
    const parsed = parsePodLine(line, this.#isPlain ? 'plain' : 'extended');
    if (parsed === undefined) this.#problem(`a line that this link does not get: ${JSON.stringify(line)}`);
    else this.sequences.at(-1)?.lines.push(parsed);
    const { approval_id: approval } = objectOf(line.data);
    if (line.event === 'approval_request') this.#open.add(stringOf(approval));
    if (line.event === 'approval_resolved') this.#open.delete(stringOf(approval));
  }

  #joined(line: JsonLine): void {
    const data = objectOf(line.data);
    if (data.reason === 'gap') this.#problem(`a gap: ${JSON.stringify(line).slice(0, 300)}`);
    const seq = Number(line.seq);
    this.sequences.push({ from: { lowest: seq, highest: seq }, lines: [], snapshot: data });
    this.#last = undefined;
    this.#open.clear();
    for (const approval of arrayOf(data.approvals)) this.#open.add(stringOf(objectOf(approval).approval_id));
  }

  #isNew(seq: number): boolean {
    if (this.#isPlain) return true;
    if (this.#last?.seq !== seq) {
      this.#last = { seq, lines: 1 };
      this.#again = 0;
      return true;
    }
    if (this.#again > 0) {
      this.#again -= 1;
      return false;
    }
    this.#last.lines += 1;
    return true;
  }

  #problem(text: string): void {
    this.problems.push(`${this.wire}: ${text}`);
  }
}

const MALFORMED: readonly string[] = [
  'hello',
  '{"method":"rum"}',
  '{"method":"run","params":{"input":["x"]}}',
  '{"params":{}}',
  '[1,2]',
  '{"method":"run"',
  '\u0000',
];

function historyLine(value: unknown): string {
  const item = objectOf(value);
  const text = arrayOf(item.content)
    .map((part) => stringOf(objectOf(part).text))
    .join('\n');
  switch (item.type) {
    case 'message':
      return `${stringOf(item.role)}: ${text}`;
    case 'reasoning':
      return `thinking: ${stringOf(item.text)}`;
    case 'tool_call':
      return `call ${stringOf(item.call_id)}: ${stringOf(item.name)} ${stringOf(item.arguments)}`;
    default:
      return `result ${stringOf(item.call_id)}: ${stringOf(item.output)}`;
  }
}
