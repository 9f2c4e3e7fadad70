import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { MAIN } from '../../cli/polypod.ts';
import { connectLines, type JsonLine, LineLink } from '../lines.ts';
import { type ClientOptions, type DoorClient, outcomeOf, type Outcome, type LineSequence } from './client.ts';
import { parseRpcLine } from './rpc-lines.ts';

/**
 * A host of RPC mode: over the pipes of `polypod --mode rpc`, or over the daemon's socket to which the program forwards bytes.
 */
export class RpcClient implements DoorClient {
  readonly wire: 'rpc' | 'rpc stdio';
  readonly sequences: LineSequence[] = [];
  readonly problems: string[] = [];
  connections = 0;
  readonly #options: ClientOptions;
  #link: LineLink | undefined;
  #requests = 0;
  readonly #dialogs = new Map<string, string>();

  /** Starts the program with these arguments, which creates a session. */
  static async create(
    options: Omit<ClientOptions, 'pod'>,
    args: readonly string[],
  ): Promise<{ readonly client: RpcClient; readonly pod: string }> {
    const client = new RpcClient('rpc stdio', { ...options, pod: '' });
    const sequence = client.#receive(client.#spawn(args), 0);
    await client.#link?.next(({ type }) => type === 'ready');
    // Other clients find a session from its first setting or prompt on.
    await client.#request('set_follow_up_mode', { mode: 'one-at-a-time' });
    const { data } = await client.#request('get_state', {});
    const pod = stringOf(objectOf(data).sessionId);
    sequence.from.highest = await options.daemon.lastNumber(pod);
    return { client, pod };
  }

  constructor(wire: 'rpc' | 'rpc stdio', options: ClientOptions) {
    this.wire = wire;
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#link?.isClosed === false;
  }

  async connect(): Promise<void> {
    this.cut();
    this.connections += 1;
    const { daemon, pod } = this.#options;
    const lowest = await daemon.lastNumber(pod);
    this.#dialogs.clear();
    const link = this.wire === 'rpc' ? await this.#dial() : this.#spawn(['--session', pod]);
    const sequence = this.#receive(link, lowest);
    await link.next(({ type }) => type === 'ready');
    await this.#request('get_state', {});
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

  prompt = ({ text }: { readonly text: string }): Promise<Outcome> => this.#act('prompt', { message: text });
  queue = ({ text }: { readonly text: string }): Promise<Outcome> =>
    this.#act('prompt', { message: text, streamingBehavior: 'followUp' });
  steer = (text: string): Promise<Outcome> => this.#act('steer', { message: text });
  cancel = (): Promise<Outcome> => this.#act('abort', {});

  decide = async (decision: 'approve' | 'deny'): Promise<Outcome> => {
    const [dialog] = this.#dialogs;
    if (dialog === undefined) return 'refused';
    const [id, method] = dialog;
    this.#dialogs.delete(id);
    const isAllowed = decision === 'approve';
    const reply =
      method === 'confirm' ? { confirmed: isAllowed } : { value: isAllowed ? 'Allow once' : 'Deny' };
    return outcomeOf(async () => {
      this.#connected().send({ type: 'extension_ui_response', id, ...reply });
      // A decision has no response; the next command has one, after the decision was processed.
      await this.#request('get_session_stats', {});
      return true;
    });
  };

  async sendMalformed(choice: number): Promise<Outcome> {
    return outcomeOf(async () => {
      const link = this.#connected();
      const from = link.received.length;
      const bad = MALFORMED[choice % MALFORMED.length] ?? '';
      link.sendText(`${bad}\n`);
      const line = await link.next(({ type, success }) => type === 'response' && success === false, from);
      if (stringOf(line.error) === '') this.#problem(`${bad} was refused with ${JSON.stringify(line)}`);
      await this.#request('get_state', {});
      return false;
    });
  }

  /** Approvals that are still shown although nothing waits for a decision. */
  unfinished = async (): Promise<readonly string[]> => [...this.#dialogs.keys()];

  conversation = async (): Promise<readonly string[]> => {
    const { data } = await this.#request('get_messages', {});
    return arrayOf(objectOf(data).messages).flatMap(messageLines);
  };

  /**
   * A prompt is acknowledged before it takes effect, and may be rejected later. Commands are processed in order: the response to
   * the next one settles it.
   */
  async #act(type: string, fields: object): Promise<Outcome> {
    return outcomeOf(async () => {
      const { id, success } = await this.#request(type, fields);
      if (type !== 'prompt' || success !== true) return success === true;
      await this.#request('get_session_stats', {});
      return !this.#connected().received.some((line) => line.id === id && line.success === false);
    });
  }

  async #request(type: string, fields: object): Promise<JsonLine> {
    const link = this.#connected();
    const id = `r${(this.#requests += 1)}`;
    link.send({ id, type, ...fields });
    return link.next((line) => line.id === id, 0);
  }

  #connected(): LineLink {
    if (this.#link === undefined || this.#link.isClosed) throw new Error('the client is not connected');
    return this.#link;
  }

  #take(line: JsonLine, sequence: LineSequence): void {
    const { type, id, method } = line;
    if (type === 'extension_ui_request') this.#question(stringOf(id), stringOf(method), line, sequence);
    if (type === 'response' || type === 'ready' || type === 'extension_ui_request' || 'open' in line) return;
    const parsed = parseRpcLine(line);
    if (parsed === undefined)
      this.#problem(`a line that is not in the protocol: ${JSON.stringify(line).slice(0, 500)}`);
    else if (parsed !== 'not of the log') sequence.lines.push(parsed);
  }

  #question(id: string, method: string, line: JsonLine, sequence: LineSequence): void {
    if (method === 'select' || method === 'confirm') {
      this.#dialogs.set(id, method);
      sequence.approvalRequests?.push(`${stringOf(line.title)} ${stringOf(line.message)}`);
    }
    // Somebody else has decided: nothing waits for a decision any more.
    if (method === 'cancel' && this.#dialogs.delete(stringOf(line.targetId)))
      sequence.withdrawn = (sequence.withdrawn ?? 0) + 1;
  }

  #receive(link: LineLink, lowest: number): LineSequence {
    this.#link = link;
    const sequence: LineSequence = { from: { lowest, highest: Infinity }, lines: [], approvalRequests: [] };
    this.sequences.push(sequence);
    link.onLine = (line) => {
      if (link === this.#link) this.#take(line, sequence);
    };
    return sequence;
  }

  async #dial(): Promise<LineLink> {
    const { daemon, pod, name } = this.#options;
    const link = await connectLines(daemon.rpc);
    link.send({ cwd: daemon.project, by: name, resume: pod, isAsking: true });
    return link;
  }

  #spawn(args: readonly string[]): LineLink {
    const { daemon } = this.#options;
    const child: ChildProcessWithoutNullStreams = spawn(
      process.execPath,
      [MAIN, '--mode', 'rpc', '--ask', ...args],
      { cwd: daemon.project, env: daemon.env },
    );
    child.stderr.resume();
    return new LineLink(child.stdout, child.stdin, () => void child.kill('SIGKILL'));
  }

  #problem(text: string): void {
    this.problems.push(`${this.wire}: ${text}`);
  }
}

const MALFORMED: readonly string[] = [
  'hello',
  '{"id":"x","type":"no_such_command"}',
  '{"type":"prompt"}',
  '[]',
  '{"type":"steer","message":5}',
  '{"type":"prompt"',
  '{"id":"x"}',
];

function messageLines(value: unknown): readonly string[] {
  const { role, content, toolCallId } = objectOf(value);
  const parts =
    typeof content === 'string' ? [{ type: 'text', text: content }] : arrayOf(content).map(objectOf);
  if (role === 'toolResult')
    return [`result ${stringOf(toolCallId)}: ${parts.map((part) => stringOf(part.text)).join('\n')}`];
  return parts.map((part) => {
    if (part.type === 'thinking') return `thinking: ${stringOf(part.thinking)}`;
    if (part.type === 'toolCall')
      return `call ${stringOf(part.id)}: ${stringOf(part.name)} ${JSON.stringify(part.arguments)}`;
    return `${stringOf(role)}: ${stringOf(part.text)}`;
  });
}
