import { resolve } from 'node:path';
import { asPolypodError, type JsonObject, objectOf, PolypodError, stringOf } from '../../../base/index.ts';
import {
  OWN_BACKEND,
  PERMISSION_MODES,
  type Pod,
  type PodEventOf,
  type Row,
  type SettingsChange,
  THINKING_LEVELS,
} from '../../../pod/index.ts';
import { DEFAULT_THINKING } from '../encode/options.ts';
import { textOf } from '../encode/session-updates.ts';
import type { Content } from '../encode/tool-call.ts';
import { invalidParam, invalidRequest, isAuthRequired, rpcErrorOf, unknownSession } from '../errors.ts';
import type { AcpParts } from '../parts.ts';
import { promptContent } from '../prompt-content.ts';
import { AcpSession, type Beginning } from '../sessions/acp-session.ts';
import type { PromptEnd } from '../sessions/own-prompts.ts';
import {
  ACP_CODES,
  type ClientCapabilities,
  PROTOCOL_VERSION,
  type SessionInfo,
  type StopReason,
} from '../wire.ts';
import { authMethods, SETUP_METHOD } from './auth-methods.ts';
import { Peer, type PeerHandlers } from '../peer.ts';
import {
  backendParam,
  directoriesParam,
  directoryParam,
  existingDirectoryParam,
  type NamedServers,
  readCapabilities,
  serversParam,
  textParam,
} from './read-params.ts';

type Failure = Extract<PodEventOf<'run-end'>['outcome'], { readonly status: 'failed' }>['failure'];
type Method = (params: JsonObject, signal: AbortSignal) => Promise<object>;

/** The number of sessions on one page of `session/list`. */
const PAGE = 50;

/** A connection to one editor: the methods of the protocol, and the sessions that the editor has open. */
export class Connection {
  readonly peer: Peer;
  readonly #parts: AcpParts;
  readonly #sessions = new Map<string, AcpSession>();
  #capabilities: ClientCapabilities | undefined;
  /** A prompt has failed because of its account. The next request reads the configuration again. */
  #isAccountRejected = false;
  #isClosed = false;

  readonly #methods: Readonly<Record<string, Method>> = {
    initialize: (params) => this.#initialize(params),
    authenticate: (params) => this.#authenticate(params),
    'session/new': (params) => this.#new(params),
    'session/load': (params) => this.#open(params, 'history'),
    'session/resume': (params) => this.#open(params, 'progress'),
    'session/list': (params) => this.#list(params),
    'session/close': (params) => this.#close(params),
    'session/delete': (params) => this.#delete(params),
    'session/set_mode': (params) => this.#setMode(params),
    'session/set_config_option': (params) => this.#setOption(params),
    'session/prompt': (params, signal) => this.#prompt(params, signal),
  };

  constructor(output: ConstructorParameters<typeof Peer>[0], parts: AcpParts) {
    this.#parts = parts;
    const handlers: PeerHandlers = {
      request: async (method, params, signal) => this.#request(method, objectOf(params), signal),
      notification: (method, params) => this.#notification(method, objectOf(params)),
      toRpcError: rpcErrorOf,
    };
    this.peer = new Peer(output, handlers);
  }

  /** The client has disconnected. Sessions of a daemon continue; others end with their process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.peer.close();
    const how = this.#parts.survivesClient ? 'leave' : 'cancel';
    await Promise.all([...this.#sessions.values()].map((session) => this.#leave(session, how)));
    this.#sessions.clear();
  }

  async #request(method: string, params: JsonObject, signal: AbortSignal): Promise<object> {
    const perform = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
    if (perform === undefined) throw new PolypodError('unknown-method', `there is no method ${method}`);
    if (this.#capabilities === undefined && method !== 'initialize')
      throw invalidRequest('send initialize first');
    return perform(params, signal);
  }

  #notification(method: string, params: JsonObject): void {
    if (method !== 'session/cancel') return;
    const session = this.#sessions.get(stringOf(params.sessionId));
    // A notification has no answer; the prompts of the session report the result.
    void session?.cancel().catch(() => {});
  }

  async #initialize({ protocolVersion, clientCapabilities }: JsonObject): Promise<object> {
    if (!Number.isInteger(protocolVersion))
      throw invalidParam('protocolVersion', `must be a whole number: this agent speaks ${PROTOCOL_VERSION}`);
    this.#capabilities = readCapabilities(clientCapabilities);
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
      },
      agentInfo: { name: 'polypod', title: 'Polypod', version: this.#parts.version },
      authMethods: authMethods(this.#capabilities, this.#parts.setup),
    };
  }

  /** There is nothing to sign in to: an account is ready once it is configured, by the set-up in a terminal for example. */
  async #authenticate(params: JsonObject): Promise<object> {
    const methodId = textParam(params, 'methodId');
    if (methodId !== SETUP_METHOD) throw invalidParam('methodId', `must be ${SETUP_METHOD}`);
    await this.#reload();
    await this.#parts.requireModel();
    return {};
  }

  async #new(params: JsonObject): Promise<object> {
    const cwd = await existingDirectoryParam(params);
    const [paths, servers] = [directoriesParam(params), serversParam(params)];
    const { host } = this.#parts;
    const backend = host.backendFor(backendParam(params) ?? this.#parts.settings?.backend);
    // Another agent has its own account.
    if (backend === undefined) await this.#requireModel();
    const settings: SettingsChange = {
      autoTitle: true,
      ...this.#parts.settings,
      backend: backend ?? OWN_BACKEND,
      ...(paths.length > 0 && { paths: [...paths] }),
      ...(servers?.settings && { editorServers: servers.settings }),
    };
    const pod = await host.create({ cwd, settings, lazy: true });
    if (this.#isClosed) await host.discard(pod.id);
    else if (servers !== undefined) host.editorServerValues.set(pod.id, servers.values);
    const session = this.#add(pod, cwd);
    const options = await session.options();
    // Zed drops updates of a session whose id it has not received yet.
    setImmediate(() => void this.#begin(session));
    return { sessionId: session.id, ...options };
  }

  async #begin(session: AcpSession): Promise<void> {
    await session.open('progress').catch(() => {});
    await session.sendCommands().catch(() => {});
  }

  async #open(params: JsonObject, beginning: Beginning): Promise<object> {
    const sessionId = textParam(params, 'sessionId');
    const cwd = directoryParam(params);
    const [paths, servers] = [directoriesParam(params), serversParam(params)];
    const row = await this.#row(sessionId);
    if (resolve(row.cwd) !== cwd)
      throw invalidParam('cwd', `must be ${row.cwd}, the directory of the session`);
    const pod = this.#parts.host.pod(sessionId);
    const before = this.#sessions.get(sessionId);
    // Replaced at once: another request for the same session closes this one, even if it is not open yet.
    const session = this.#add(pod, cwd);
    await before?.close('leave');
    try {
      if (paths.length > 0) await session.handle({ type: 'configure', set: { paths: [...paths] } });
      if (servers !== undefined) await this.#nameServers(session, pod, servers);
      await session.open(beginning);
    } catch (thrown) {
      if (this.#sessions.get(sessionId) === session) this.#sessions.delete(sessionId);
      await session.close('leave');
      throw thrown;
    }
    const options = await session.options();
    setImmediate(() => void session.sendCommands().catch(() => {}));
    return options;
  }

  /** The request names all MCP servers of the editor: others that it named before are disconnected. */
  async #nameServers(session: AcpSession, pod: Pod, { settings, values }: NamedServers): Promise<void> {
    this.#parts.host.editorServerValues.set(pod.id, values);
    const { editorServers } = (await pod.snapshot()).settings;
    if (JSON.stringify(editorServers) === JSON.stringify(settings)) return;
    await session.handle(
      settings === undefined
        ? { type: 'configure', clear: ['editorServers'] }
        : { type: 'configure', set: { editorServers: settings } },
    );
  }

  async #list(params: JsonObject): Promise<object> {
    const cwd = params.cwd === undefined || params.cwd === null ? undefined : directoryParam(params);
    const cursor = stringOf(params.cursor);
    const [updatedAt, id] = cursor.split(' ');
    if (cursor !== '' && (updatedAt === undefined || id === undefined))
      throw invalidParam('cursor', 'must be the nextCursor of an earlier page');
    const rows = await this.#parts.host.sessions.list({
      limit: PAGE + 1,
      archived: false,
      ...(cwd !== undefined && { cwd }),
      ...(updatedAt !== undefined && id !== undefined && cursor !== '' && { before: { updatedAt, id } }),
    });
    const page = rows.slice(0, PAGE);
    const last = page.at(-1);
    return {
      sessions: page.filter(({ spawned }) => spawned !== true).map(infoOf),
      ...(rows.length > PAGE && last && { nextCursor: `${last.updatedAt} ${last.id}` }),
    };
  }

  async #close(params: JsonObject): Promise<object> {
    const session = this.#session(params);
    this.#sessions.delete(session.id);
    await session.close('cancel');
    // Without a daemon, another process can open the session only if this one has closed it.
    if (!this.#parts.survivesClient) await session.handle({ type: 'close' });
    await this.#parts.host.discard(session.id);
    return {};
  }

  async #delete(params: JsonObject): Promise<object> {
    const sessionId = textParam(params, 'sessionId');
    const { id } = await this.#row(sessionId);
    await this.#sessions.get(id)?.close('cancel');
    this.#sessions.delete(id);
    await this.#parts.host.delete(id);
    return {};
  }

  async #setMode(params: JsonObject): Promise<object> {
    const session = this.#session(params);
    const modeId = textParam(params, 'modeId');
    const mode = PERMISSION_MODES.find((known) => known === modeId);
    if (mode === undefined) throw invalidParam('modeId', `must be one of ${PERMISSION_MODES.join(', ')}`);
    await this.#configure(session, { mode });
    return {};
  }

  async #setOption(params: JsonObject): Promise<object> {
    const session = this.#session(params);
    const configId = textParam(params, 'configId');
    const value = textParam(params, 'value');
    const change = await this.#changeOf(configId, value);
    if (change === 'default-thinking')
      await session.reached((await session.handle({ type: 'configure', clear: ['thinking'] })).seq);
    else await this.#configure(session, change);
    const { configOptions } = await session.options();
    return { configOptions };
  }

  async #changeOf(configId: string, value: string): Promise<SettingsChange | 'default-thinking'> {
    switch (configId) {
      case 'mode': {
        const mode = PERMISSION_MODES.find((known) => known === value);
        if (mode === undefined) throw invalidParam('value', `must be one of ${PERMISSION_MODES.join(', ')}`);
        return { mode };
      }
      case 'thinking': {
        if (value === DEFAULT_THINKING) return 'default-thinking';
        const thinking = THINKING_LEVELS.find((known) => known === value);
        if (thinking === undefined)
          throw invalidParam('value', `must be ${DEFAULT_THINKING} or one of ${THINKING_LEVELS.join(', ')}`);
        return { thinking };
      }
      case 'model': {
        const models = await this.#parts.models();
        const model = models.find(({ provider, id }) => `${provider}/${id}` === value);
        if (model === undefined)
          throw invalidParam('value', `${value} is not available: choose one of the options of the model`);
        return { model: { provider: model.provider, modelId: model.id } };
      }
      default:
        throw invalidParam('configId', 'must be mode, model or thinking');
    }
  }

  async #configure(session: AcpSession, set: SettingsChange): Promise<void> {
    const { seq } = await session.handle({ type: 'configure', set });
    await session.reached(seq);
  }

  async #prompt(params: JsonObject, signal: AbortSignal): Promise<object> {
    const session = this.#session(params);
    const content = promptContent(params.prompt);
    const text = textOf(content);
    try {
      if (/^\/compact(?:\s|$)/.test(text))
        return await this.#compact(session, text.slice('/compact'.length).trim(), signal);
      const end = await session.prompt(() => this.#expanded(session, content, text), signal);
      return { stopReason: stopReasonOf(end) };
    } catch (thrown) {
      this.#isAccountRejected ||= isAuthRequired(asPolypodError(thrown));
      throw thrown;
    }
  }

  /** Prepares the content of a prompt. A slash command becomes the prompt of its file. */
  async #expanded(session: AcpSession, content: Content, text: string): Promise<Content> {
    await this.#requireModelOf(session);
    const expanded = text.startsWith('/') ? await this.#parts.expand(session.cwd, text) : undefined;
    if (expanded === undefined) return content;
    return [{ type: 'text', text: expanded }, ...content.filter(({ type }) => type === 'image')];
  }

  async #compact(session: AcpSession, instructions: string, signal: AbortSignal): Promise<object> {
    await this.#requireModelOf(session);
    const end = await session.compact(instructions, signal);
    if (end?.status === 'failed') throw runFailed(end.failure);
    // Editors that do not know compactions show nothing else of it.
    if (end?.status === 'compacted' && this.#capabilities?.compaction === false)
      session.say(`The conversation was compacted: ${end.tokensBefore} → ${end.tokensAfter} tokens.`);
    if (end?.status === 'skipped') session.say('There is nothing to compact yet.');
    const isOver = end === undefined || end.status === 'cancelled';
    return { stopReason: (isOver ? 'cancelled' : 'end_turn') satisfies StopReason };
  }

  /** Editors whose terminal ran the set-up send no `authenticate`, so the configuration may be older than the account. */
  async #requireModel(): Promise<void> {
    if (this.#isAccountRejected) await this.#reload();
    try {
      await this.#parts.requireModel();
    } catch (thrown) {
      if (!isAuthRequired(asPolypodError(thrown))) throw thrown;
      await this.#reload();
      await this.#parts.requireModel();
    }
  }

  /** A loaded session may have been created with an account that is missing now. The simulated model must not answer instead. */
  async #requireModelOf({ usesDefaultModel }: AcpSession): Promise<void> {
    if (usesDefaultModel) await this.#requireModel();
    else if (this.#isAccountRejected) await this.#reload();
  }

  async #reload(): Promise<void> {
    await this.#parts.reload();
    this.#isAccountRejected = false;
  }

  /** Closes a session, and removes it if it was never prompted. */
  async #leave(session: AcpSession, how: 'cancel' | 'leave'): Promise<void> {
    await session.close(how);
    await this.#parts.host.discard(session.id);
  }

  #add(pod: Pod, cwd: string): AcpSession {
    const { peer } = this;
    // Nothing would close the session.
    if (this.#isClosed) throw new PolypodError('unreachable', 'the client has disconnected');
    const capabilities = this.#capabilities ?? readCapabilities(undefined);
    const session = new AcpSession({ peer, pod, cwd, capabilities, parts: this.#parts });
    this.#sessions.set(session.id, session);
    return session;
  }

  #session(params: JsonObject): AcpSession {
    const sessionId = textParam(params, 'sessionId');
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw unknownSession(sessionId);
    return session;
  }

  async #row(sessionId: string): Promise<Row> {
    const { sessions } = this.#parts.host;
    const row = sessions.get(sessionId) ?? (await sessions.list()).find(({ id }) => id === sessionId);
    if (row === undefined) throw unknownSession(sessionId);
    return row;
  }
}

function infoOf({ id, cwd, name, title: written, firstPrompt, updatedAt }: Row): SessionInfo {
  const title = name ?? written ?? firstPrompt;
  return { sessionId: id, cwd, updatedAt, ...(title !== undefined && { title }) };
}

/** The answer to a prompt. A run that failed is an error. */
function stopReasonOf(end: PromptEnd): StopReason {
  if (end.type === 'cancelled') return 'cancelled';
  if (end.type === 'lost') throw new PolypodError('unreachable', end.message);
  const { outcome, stop } = end;
  switch (outcome.status) {
    case 'finished':
    case 'paused':
      return (stop && ANSWER_ENDS[stop]) ?? 'end_turn';
    case 'cancelled':
    case 'interrupted':
      return 'cancelled';
    case 'limited':
      return 'max_turn_requests';
    case 'failed':
      throw runFailed(outcome.failure);
  }
}

/** The answers that the model did not complete. A rejected call is not among them: editors remove a refused prompt. */
const ANSWER_ENDS: Readonly<Record<string, StopReason>> = {
  refusal: 'refusal',
  'content-filter': 'refusal',
  'max-tokens': 'max_tokens',
  'context-full': 'max_tokens',
};

function runFailed({ kind, message }: Failure): PolypodError {
  return new PolypodError('provider-failed', message, {
    cause: kind === 'auth' ? { acpCode: ACP_CODES.authRequired } : undefined,
  });
}
