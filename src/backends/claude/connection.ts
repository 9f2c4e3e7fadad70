import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type JsonObject,
  messageOf,
  objectOf,
  parseFrame,
  PolypodError,
  stringOf,
} from '../../base/index.ts';
import type { ClientAnswer } from '../../tools/index.ts';
import type { CompactionRequest } from '../../worker/index.ts';
import type { AgentCall, AgentEvent, AgentInput, PermissionReply } from '../agent-event.ts';
import { AgentProcess } from '../agent-process.ts';
import type {
  AgentConnection,
  AgentEnd,
  AgentSettings,
  ConnectOptions,
  SessionStart,
} from '../agent-program.ts';
import { agentCall, inputFrom } from './calls.ts';
import { homeOf, launchEnv, MCP_FILE, sessionArgs, startSettings } from './launch.ts';
import { questionResponse } from './questions.ts';
import {
  cancelAnswered,
  type ClaudeState,
  initialState,
  messageSent,
  type OpenRequest,
  type Sent,
  step,
  type Stepped,
  takeRequest,
} from './step.ts';
import { isSupported, MIN_VERSION } from './version.ts';

/** Starts Claude Code and opens a session. */
export async function connectClaude(options: ConnectOptions): Promise<AgentConnection> {
  const connection = new ClaudeConnection(options);
  await connection.start(options.start);
  return connection;
}

/** One process of Claude Code with one session. */
class ClaudeConnection implements AgentConnection {
  readonly #options: ConnectOptions;
  readonly #asked = new Map<string, Asked>();
  #settings: AgentSettings;
  #state: ClaudeState;
  #process: AgentProcess | undefined;
  /** What the running process was started with, to start it again with other settings. */
  #start: SessionStart;
  #isOpen = false;
  #nextRequest = 1;
  #invalidLines = 0;
  #cancelTimer: NodeJS.Timeout | undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#start = options.start;
    this.#state = initialState({ cwd: options.cwd, home: homeOf(options.env) });
  }

  /** Starts the program; rejects with the reason if the session cannot be opened. */
  async start(start: SessionStart): Promise<void> {
    const { command, env, record, cwd } = this.#options;
    const sessionId = start.type === 'resume' ? start.sessionId : randomUUID();
    this.#start = start;
    this.#state = initialState(this.#state.paths);
    this.#process = await AgentProcess.start({
      command,
      env: launchEnv(env),
      record,
      signal: this.#options.signal,
      cwd,
      args: await sessionArgs(this.#options, this.#settings, start, sessionId),
      onLines: (lines) => this.#read(lines),
      onEnd: (end) => this.#ended(end),
    });
    try {
      checkStart(await this.#ask({ subtype: 'initialize' }, START_MS));
    } catch (thrown) {
      const { stderr } = this.#process;
      await this.#process.close();
      const reason = messageOf(thrown);
      throw new PolypodError(
        'unreachable',
        `Claude Code did not start: ${reason}${stderr && `\n${stderr}`}`,
        {
          cause: thrown,
        },
      );
    }
    this.#isOpen = true;
  }

  prompt(input: AgentInput): void {
    this.#say(contentBlocks(input), 'prompt');
  }

  steer(input: AgentInput): void {
    const { isRunning, calls, requests } = this.#state;
    // In an answer, a message would wait for its end; in a call, `now` would end the call.
    const isInAnswer = isRunning && calls.size === 0 && requests.size === 0;
    this.#say(contentBlocks(input), 'steer', isInAnswer ? { priority: 'now' } : {});
  }

  compact({ instructions = '' }: CompactionRequest): void {
    this.#state = { ...this.#state, isCompacting: true };
    this.#say([{ type: 'text', text: `/compact ${instructions}`.trim() }], 'prompt');
  }

  cancel(): void {
    if (!this.#state.isActive || this.#state.isCancelling) return;
    this.#state = { ...this.#state, isCancelling: true };
    this.#cancelTimer = setTimeout(() => {
      this.#process?.fail(`it did not end the turn within ${CANCEL_MS / 1_000} seconds after a cancel`);
    }, CANCEL_MS).unref();
    // The answer is handled in `#read`, in the order of the frames.
    this.#ask({ subtype: 'interrupt', cancel_queued: true }, CANCEL_MS, cancelAnswered).catch(() => {});
  }

  changeCall({ callId, name }: AgentCall, args: string): AgentCall {
    return agentCall({ callId, name, input: inputFrom(name, args) ?? {} }, this.#state.paths);
  }

  answer(requestId: string, reply: PermissionReply): void {
    const request = this.#take(requestId);
    if (request !== undefined) this.#respond(requestId, permissionResponse(request, reply));
  }

  reply(requestId: string, answer: ClientAnswer): void {
    const request = this.#take(requestId);
    if (request === undefined) return;
    const kind = request.type === 'elicitation' ? 'elicitation' : 'tool';
    this.#respond(requestId, questionResponse(kind, request.input, answer));
  }

  async configure(settings: AgentSettings): Promise<void> {
    const before = this.#settings;
    if (startSettings(settings) !== startSettings(before)) {
      if (this.#state.isActive)
        throw new PolypodError(
          'conflict',
          'Claude Code reads these settings when it starts. Change them after the turn has ended.',
        );
      this.#settings = settings;
      await this.#restart();
    } else if (settings.model !== before.model) {
      await this.#ask({ subtype: 'set_model', model: settings.model ?? 'default' }, REQUEST_MS);
      this.#settings = settings;
    } else this.#settings = settings;
  }

  async close(): Promise<void> {
    clearTimeout(this.#cancelTimer);
    await this.#process?.close();
    // It may contain keys, and is written again for the next process.
    await rm(join(this.#options.directory, MCP_FILE), { force: true }).catch(() => {});
    this.#rejectAsked('the connection was closed');
  }

  async #restart(): Promise<void> {
    const { sessionId } = this.#state;
    this.#isOpen = false;
    await this.#process?.close();
    try {
      // Without a turn, there is no session to resume yet.
      await this.start(sessionId === '' ? this.#start : { type: 'resume', sessionId });
    } catch (thrown) {
      this.#options.onEnd({ message: messageOf(thrown), stderr: '' });
      throw thrown;
    }
  }

  #say(content: readonly object[], sent: Sent, extra: object = {}): void {
    const uuid = randomUUID();
    this.#state = messageSent(this.#state, uuid, sent);
    const message = { role: 'user', content };
    this.#process?.send({ type: 'user', message, parent_tool_use_id: null, session_id: '', uuid, ...extra });
  }

  /** Sends a request. `onAnswer` is applied when the answer is read, before later frames. */
  #ask(request: object, limitMs: number, onAnswer: Asked['onAnswer'] = stay): Promise<JsonObject> {
    const requestId = `polypod-${this.#nextRequest}`;
    this.#nextRequest += 1;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#asked.delete(requestId);
        reject(new Error(`it did not answer within ${limitMs / 1_000} seconds`));
      }, limitMs).unref();
      this.#asked.set(requestId, { resolve, reject, timer, onAnswer });
      this.#process?.send({ type: 'control_request', request_id: requestId, request });
    });
  }

  #respond(requestId: string, response: object): void {
    this.#process?.send({
      type: 'control_response',
      response: { subtype: 'success', request_id: requestId, response },
    });
  }

  #take(requestId: string): OpenRequest | undefined {
    const taken = takeRequest(this.#state, requestId);
    if (taken !== undefined) this.#state = taken.state;
    return taken?.request;
  }

  async #read(lines: readonly string[]): Promise<void> {
    const events: AgentEvent[] = [];
    for (const line of lines) {
      if (line.trim() === '') continue;
      const frame = parseFrame(line);
      if (frame === undefined) {
        this.#invalidLines += 1;
        if (this.#invalidLines <= MAX_INVALID_LINES) continue;
        this.#process?.fail(`it wrote more than ${MAX_INVALID_LINES} lines that are not JSON`);
        return;
      }
      const next = frame.type === 'control_response' ? this.#answered(frame) : step(this.#state, frame);
      this.#state = next.state;
      events.push(...next.events);
      for (const { requestId, error } of next.refused)
        this.#process?.send({
          type: 'control_response',
          response: { subtype: 'error', request_id: requestId, error },
        });
    }
    if (!this.#state.isActive) clearTimeout(this.#cancelTimer);
    if (events.length > 0) await this.#options.onEvents(events);
  }

  #answered(frame: JsonObject): Stepped {
    const response = objectOf(frame.response);
    const requestId = stringOf(response.request_id);
    const asked = this.#asked.get(requestId);
    if (asked === undefined) return stay(this.#state);
    this.#asked.delete(requestId);
    clearTimeout(asked.timer);
    if (response.subtype !== 'error') {
      asked.resolve(objectOf(response.response));
      return asked.onAnswer(this.#state);
    }
    asked.reject(new Error(stringOf(response.error) || 'it refused the request'));
    return stay(this.#state);
  }

  #ended(end: AgentEnd): void {
    clearTimeout(this.#cancelTimer);
    this.#rejectAsked(end.message);
    if (this.#isOpen) this.#options.onEnd(end);
  }

  #rejectAsked(reason: string): void {
    for (const { reject, timer } of this.#asked.values()) {
      clearTimeout(timer);
      reject(new Error(reason));
    }
    this.#asked.clear();
  }
}

interface Asked {
  readonly resolve: (response: JsonObject) => void;
  readonly reject: (reason: Error) => void;
  readonly timer: NodeJS.Timeout;
  readonly onAnswer: (state: ClaudeState) => Stepped;
}

function stay(state: ClaudeState): Stepped {
  return { state, events: [], refused: [] };
}

/** Throws if the program is too old, or would not ask for permission. */
function checkStart(response: JsonObject): void {
  const version = stringOf(response.claude_code_version);
  if (!isSupported(version))
    throw new Error(
      `version ${version || 'unknown'} is not supported. Update it to ${MIN_VERSION} or newer with "claude update"`,
    );
  const mode = stringOf(response.current_permission_mode);
  if (mode !== 'default')
    throw new Error(
      `its permission mode is ${mode || 'unknown'} instead of default. Check the managed settings of Claude Code`,
    );
}

function permissionResponse({ name }: OpenRequest, reply: PermissionReply): object {
  if (reply.decision === 'cancel')
    return { behavior: 'deny', message: 'The run was cancelled.', interrupt: true };
  if (reply.decision === 'deny') return { behavior: 'deny', message: reply.reason || 'The call was denied.' };
  if (reply.arguments === undefined) return { behavior: 'allow' };
  const input = inputFrom(name, reply.arguments);
  if (input === undefined || Object.keys(input).length === 0)
    return { behavior: 'deny', message: 'The changed arguments are not a JSON object with fields.' };
  return { behavior: 'allow', updatedInput: input };
}

/** Claude Code runs its own command for a text that starts with a slash; a prompt is for the model. */
function contentBlocks(input: AgentInput): readonly object[] {
  return input.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text.startsWith('/') ? ` ${part.text}` : part.text }
      : { type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } },
  );
}

const START_MS = 60_000;
const REQUEST_MS = 10_000;
const CANCEL_MS = 20_000;
const MAX_INVALID_LINES = 1_000;
