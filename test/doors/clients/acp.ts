import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { type DoorLine, deltaLine, doorLine } from '../door-line.ts';
import { connectLines, type JsonLine, type LineLink } from '../lines.ts';
import { withinTime } from '../within-time.ts';
import { type ClientOptions, type DoorClient, type LineSequence, type Outcome, outcomeOf } from './client.ts';

let editors = 0;

/** An editor, over the daemon's socket to which `polypod acp` forwards bytes. It asks for the numbers of events. */
export class AcpClient implements DoorClient {
  readonly wire = 'acp';
  readonly sequences: LineSequence[] = [];
  readonly problems: string[] = [];
  connections = 0;
  /** Its prompts are recognized by this name. */
  readonly by = `editor-${(editors += 1)}`;
  readonly #options: ClientOptions;
  readonly #asked = new Map<unknown, string>();
  #link: LineLink | undefined;
  #ids = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#link?.isClosed === false;
  }

  async connect(): Promise<void> {
    this.cut();
    this.connections += 1;
    const { daemon, pod } = this.#options;
    this.#asked.clear();
    const lowest = await daemon.lastNumber(pod);
    const sequence: LineSequence = {
      from: { lowest, highest: Infinity },
      lines: [],
      approvalRequests: [],
      withdrawn: 0,
    };
    this.sequences.push(sequence);
    const link = await this.#open();
    link.onLine = (line) => {
      if (link === this.#link) this.#take(line, sequence);
    };
    this.#link = link;
    await this.#load(link);
    sequence.from.highest = await daemon.lastNumber(pod);
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

  /** The answer comes at the end of the run; the log shows that the prompt was accepted. */
  prompt = ({ text }: { readonly text: string }): Promise<Outcome> =>
    outcomeOf(async () => {
      const { daemon, pod } = this.#options;
      const link = this.#connected();
      const id = (this.#ids += 1);
      const params = { sessionId: pod, prompt: [{ type: 'text', text }] };
      const from = (await daemon.log(pod)).length;
      link.send({ jsonrpc: '2.0', id, method: 'session/prompt', params });
      return withinTime('the prompt is accepted', async () => {
        const answer = link.received.find((line) => line.id === id && line.method === undefined);
        if (answer !== undefined) return answer.error === undefined;
        if (link.isClosed) throw new Error('the connection was closed');
        const isIn = (await daemon.log(pod))
          .slice(from)
          .some((event) => (event.type === 'input' || event.type === 'queued') && event.by === this.by);
        return isIn ? true : undefined;
      });
    });
  queue = this.prompt;

  cancel = (): Promise<Outcome> =>
    outcomeOf(async () => {
      const { daemon, pod } = this.#options;
      const { state } = await daemon.state(pod);
      this.#connected().send({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: pod } });
      await this.#barrier();
      return state !== 'idle';
    });

  decide = async (decision: 'approve' | 'deny'): Promise<Outcome> => {
    const [id] = this.#asked.keys();
    if (id === undefined) return 'refused';
    this.#asked.delete(id);
    return outcomeOf(async () => {
      const optionId = decision === 'approve' ? 'allow-once' : 'reject';
      this.#connected().send({ jsonrpc: '2.0', id, result: { outcome: { outcome: 'selected', optionId } } });
      await this.#barrier();
      return true;
    });
  };

  async sendMalformed(choice: number): Promise<Outcome> {
    return outcomeOf(async () => {
      const link = this.#connected();
      const from = link.received.length;
      const [bad, code] = MALFORMED[choice % MALFORMED.length] ?? ['', 0];
      link.sendText(`${bad}\n`);
      const line = await link.next(({ error }) => error !== undefined, from);
      if (objectOf(line.error).code !== code)
        this.problems.push(`acp: ${bad} was refused with ${JSON.stringify(line)}`);
      await this.#barrier();
      return false;
    });
  }

  unfinished = async (): Promise<readonly string[]> => [...this.#asked.values()];

  /** What another editor receives that loads the session. */
  conversation = async (): Promise<readonly string[]> => {
    const updates: JsonLine[] = [];
    const link = await this.#open();
    link.onLine = ({ method, params }) => {
      if (method === 'session/update') updates.push(objectOf(objectOf(params).update));
    };
    await this.#load(link);
    link.close();
    return rowsOf(updates);
  };

  async #open(): Promise<LineLink> {
    const link = await connectLines(this.#options.daemon.acp);
    link.send({ by: this.by, setup: { command: 'polypod', args: [] } });
    await link.next(({ open }) => open === true);
    await this.#request(link, 'initialize', {
      protocolVersion: 1,
      clientCapabilities: { _meta: { polypod: { eventNumbers: true } } },
    });
    return link;
  }

  #load(link: LineLink): Promise<JsonLine> {
    const { daemon, pod } = this.#options;
    return this.#request(link, 'session/load', { sessionId: pod, cwd: daemon.project, mcpServers: [] });
  }

  /** Requests are started in order: when this one is answered, the earlier ones have been started. */
  async #barrier(): Promise<void> {
    await this.#request(this.#connected(), 'session/list', { cwd: '/nowhere' });
  }

  async #request(link: LineLink, method: string, params: object): Promise<JsonLine> {
    const id = (this.#ids += 1);
    link.send({ jsonrpc: '2.0', id, method, params });
    const line = await link.next((one) => one.id === id && one.method === undefined, 0);
    if (line.error !== undefined) throw new Error(`${method}: ${JSON.stringify(line.error)}`);
    return objectOf(line.result);
  }

  #connected(): LineLink {
    if (this.#link === undefined || this.#link.isClosed) throw new Error('the client is not connected');
    return this.#link;
  }

  #take({ id, method, params }: JsonLine, sequence: LineSequence): void {
    const { update, toolCall, requestId, _meta } = objectOf(params);
    if (method === 'session/request_permission') {
      const title = stringOf(objectOf(toolCall).title);
      this.#asked.set(id, title);
      sequence.approvalRequests?.push(title);
    }
    if (method === '$/cancel_request') {
      this.#asked.delete(requestId);
      sequence.withdrawn = (sequence.withdrawn ?? 0) + 1;
    }
    const { seq } = objectOf(objectOf(_meta).polypod);
    // What has no number is the history, or the state when the client joined.
    if (method === 'session/update' && typeof seq === 'number')
      sequence.lines.push(lineOf(seq, objectOf(update)));
  }
}

const MALFORMED: readonly (readonly [line: string, code: number])[] = [
  ['hello', -32700],
  ['[]', -32600],
  ['{"jsonrpc":"2.0","method":"nope","id":"x"}', -32601],
  ['{"jsonrpc":"2.0","method":"session/new","params":{},"id":"x"}', -32602],
  ['{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"x","prompt":[]},"id":"x"}', -32002],
  ['{"method":5}', -32600],
];

function lineOf(seq: number, update: JsonLine): DoorLine {
  const name = stringOf(update.sessionUpdate);
  const { toolCallId: id, status } = update;
  if (name === 'tool_call') return doorLine(seq, name, { id, name: update.name, status });
  if (name === 'tool_call_update') return doorLine(seq, name, { id, status, text: contentText(update) });
  const text = stringOf(objectOf(update.content).text);
  if (name === 'user_message_chunk') return doorLine(seq, name, { text });
  return deltaLine(seq, name, text);
}

function contentText({ content }: JsonLine): string | undefined {
  if (content === undefined) return undefined;
  return arrayOf(content)
    .map((part) => stringOf(objectOf(objectOf(part).content).text))
    .join('\n');
}

/** The rows of a replayed conversation, as the log adds up to them. */
function rowsOf(updates: readonly JsonLine[]): readonly string[] {
  return updates.flatMap((update) => {
    const text = stringOf(objectOf(update.content).text);
    switch (update.sessionUpdate) {
      case 'user_message_chunk':
        return [`user: ${text}`];
      case 'agent_message_chunk':
        return [`assistant: ${text}`];
      case 'agent_thought_chunk':
        return [`thinking: ${text}`];
      case 'tool_call':
        return [
          `call ${stringOf(update.toolCallId)}: ${stringOf(update.name)} ${JSON.stringify(update.rawInput ?? {})}`,
        ];
      case 'tool_call_update':
        return update.content === undefined
          ? []
          : [`result ${stringOf(update.toolCallId)}: ${contentText(update)}`];
      default:
        return [];
    }
  });
}
