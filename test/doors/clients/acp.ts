import { spawn } from 'node:child_process';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import type { PodEvent } from '../../../src/pod/index.ts';
import { MAIN } from '../../cli/polypod.ts';
import { type DoorLine, deltaLine, doorLine } from '../door-line.ts';
import { textIn } from '../expected/pod.ts';
import { connectLines, type JsonLine, LineLink } from '../lines.ts';
import { withinTime } from '../within-time.ts';
import {
  type ClientOptions,
  type DoorClient,
  type LineSequence,
  type Outcome,
  outcomeOf,
  type Prompt,
} from './client.ts';

/** A prompt, and its answer. */
interface SentPrompt {
  readonly text: string;
  readonly sequence: LineSequence;
  /** Whether it was cancelled before an answer was received. */
  isCancelled: boolean;
  answer?: JsonLine;
  /** How many lines came before the answer. */
  linesBefore: number;
}

/**
 * An editor: over the pipes of `polypod acp`, or over the daemon's socket to which the program forwards bytes. It asks for the
 * numbers of events.
 */
export class AcpClient implements DoorClient {
  readonly wire: 'acp' | 'acp stdio';
  readonly sequences: LineSequence[] = [];
  readonly problems: string[] = [];
  connections = 0;
  readonly #options: ClientOptions;
  readonly #asked = new Map<unknown, string>();
  /** The prompts of all connections, by id: ids are never used again. */
  readonly #prompts = new Map<unknown, SentPrompt>();
  #link: LineLink | undefined;
  #sequence: LineSequence | undefined;
  #own = new Set<string>();
  #ids = 0;

  constructor(wire: 'acp' | 'acp stdio', options: ClientOptions) {
    [this.wire, this.#options] = [wire, options];
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
      own: (this.#own = new Set()),
    };
    this.sequences.push(sequence);
    this.#sequence = sequence;
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
  prompt = ({ text }: Pick<Prompt, 'text'>): Promise<Outcome> =>
    outcomeOf(async () => {
      const { daemon, pod } = this.#options;
      const link = this.#connected();
      const from = (await daemon.log(pod)).length;
      const [message, sent] = this.#newPrompt(text);
      link.send(message);
      return withinTime('the prompt is accepted', async () => {
        if (sent.answer !== undefined) return sent.answer.error === undefined;
        if (link.isClosed) throw new Error('the connection was closed');
        return (await daemon.log(pod)).slice(from).some((event) => isPrompt(event, text)) ? true : undefined;
      });
    });
  queue = this.prompt;

  /** An answer that the prompt was cancelled is final: a prompt that has not reached the log by then never does. */
  promptAndCancel = ({ text }: Prompt, choice: number): Promise<Outcome> =>
    outcomeOf(async () => {
      const { daemon, pod } = this.#options;
      const link = this.#connected();
      const [message, sent] = this.#newPrompt(text);
      const cancel =
        choice % 2 === 0
          ? { method: 'session/cancel', params: { sessionId: pod } }
          : { method: '$/cancel_request', params: { requestId: message.id } };
      sent.isCancelled = true;
      if (choice % 2 === 0) this.#cancelAll();
      link.sendText(`${JSON.stringify(message)}\n${JSON.stringify({ jsonrpc: '2.0', ...cancel })}\n`);
      const answer = await withinTime('the cancelled prompt is answered', () => {
        if (sent.answer === undefined && link.isClosed) throw new Error('the connection was closed');
        return sent.answer;
      });
      if (objectOf(answer.result).stopReason !== 'cancelled')
        this.#problem(`${cancel.method} after ${text}, which was answered with ${JSON.stringify(answer)}`);
      return (await daemon.log(pod)).some((event) => isPrompt(event, text));
    });

  hasCancelled = ({ text }: Prompt): boolean =>
    [...this.#prompts.values()].some((sent) => sent.text === text && sent.isCancelled);

  cancel = (): Promise<Outcome> =>
    outcomeOf(async () => {
      const { daemon, pod } = this.#options;
      const { state } = await daemon.state(pod);
      this.#connected();
      this.#cancelAll();
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
        this.#problem(`${bad} was refused with ${JSON.stringify(line)}`);
      await this.#barrier();
      return false;
    });
  }

  /** The approvals that it is still asked for, and the prompts of this connection that are not answered. */
  unfinished = async (): Promise<readonly string[]> => [
    ...this.#asked.values(),
    ...[...this.#prompts.values()]
      .filter(({ sequence, answer }) => sequence === this.#sequence && answer === undefined)
      .map(({ text }) => text),
  ];

  /** Each answer is that of the prompt's run, and comes after all updates of the run. */
  further = async (log: readonly PodEvent[]): Promise<readonly string[]> =>
    [...this.#prompts.values()].flatMap((sent) => answerProblems(sent, log));

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
    const link = this.wire === 'acp' ? await this.#dial() : this.#spawn();
    await this.#request(link, 'initialize', {
      protocolVersion: 1,
      clientCapabilities: { _meta: { polypod: { eventNumbers: true } } },
    });
    return link;
  }

  async #dial(): Promise<LineLink> {
    const { daemon, name } = this.#options;
    const link = await connectLines(daemon.acp);
    link.send({ by: name, setup: { command: 'polypod', args: [] } });
    await link.next(({ open }) => open === true);
    return link;
  }

  #spawn(): LineLink {
    const { env, project } = this.#options.daemon;
    const child = spawn(process.execPath, [MAIN, 'acp'], { cwd: project, env });
    child.stderr.resume();
    return new LineLink(child.stdout, child.stdin, () => void child.kill('SIGKILL'));
  }

  #newPrompt(text: string): [message: { readonly id: number }, sent: SentPrompt] {
    const id = (this.#ids += 1);
    const params = { sessionId: this.#options.pod, prompt: [{ type: 'text', text }] };
    const { sequences } = this;
    const sequence = sequences.at(-1) ?? { from: { lowest: 0, highest: 0 }, lines: [] };
    const sent: SentPrompt = { text, sequence, isCancelled: false, linesBefore: 0 };
    this.#prompts.set(id, sent);
    this.#own.add(text);
    const message = { jsonrpc: '2.0', id, method: 'session/prompt', params };
    return [message, sent];
  }

  /** The client cancels all prompts that are not answered. */
  #cancelAll(): void {
    for (const sent of this.#prompts.values())
      if (sent.sequence === this.#sequence && sent.answer === undefined) sent.isCancelled = true;
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

  #take(line: JsonLine, sequence: LineSequence): void {
    const { id, method, params } = line;
    const prompt = method === undefined ? this.#prompts.get(id) : undefined;
    if (prompt?.answer !== undefined) this.#problem(`a second answer to ${prompt.text}`);
    if (prompt !== undefined) [prompt.answer, prompt.linesBefore] = [line, sequence.lines.length];
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

  #problem(text: string): void {
    this.problems.push(`${this.wire}: ${text}`);
  }
}

function isPrompt(event: PodEvent, text: string): boolean {
  if (event.type === 'queued') return textIn(event.content) === text;
  return event.type === 'input' && event.item.type === 'message' && textIn(event.item.content) === text;
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  finished: 'end_turn',
  cancelled: 'cancelled',
  interrupted: 'cancelled',
  limited: 'max_turn_requests',
};

function answerProblems(
  { text, answer, isCancelled, sequence, linesBefore }: SentPrompt,
  log: readonly PodEvent[],
): readonly string[] {
  if (answer === undefined) return [];
  const reason = objectOf(answer.result).stopReason;
  const input = log.find((event) => event.type === 'input' && isPrompt(event, text));
  // A prompt that was removed from the queue, or was never sent, was cancelled.
  if (input === undefined)
    return isCancelled && reason === 'cancelled'
      ? []
      : [`${text}, which reached no run, was answered with ${JSON.stringify(answer)}`];
  const run = log.findLast((event) => event.type === 'run-start' && event.seq < input.seq);
  const end = log.find(
    (event) =>
      event.type === 'run-end' &&
      event.seq > input.seq &&
      run?.type === 'run-start' &&
      event.runId === run.runId &&
      event.outcome.status !== 'paused',
  );
  if (end?.type !== 'run-end') return [`${text}, whose run has not ended, was answered`];
  const problems: string[] = [];
  if (reason !== STOP_REASONS[end.outcome.status] && !(isCancelled && reason === 'cancelled'))
    problems.push(`${text}, whose run ${end.outcome.status}, was answered with ${JSON.stringify(answer)}`);
  const late = sequence.lines.slice(linesBefore).find(({ seq }) => seq <= end.seq);
  if (late !== undefined) problems.push(`${text} was answered before the line ${JSON.stringify(late)}`);
  return problems;
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
