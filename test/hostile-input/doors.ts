import { type Check, controlLine, hldLine, podLine, rpcLine, webSocketLine } from './answers.ts';
import { type Connection, LineConnection, WebSocketConnection } from './connections.ts';
import { encoded, type Json, type JsonMap, payload } from './mutate.ts';
import { MAIN } from '../cli/polypod.ts';
import { acp } from './acp-door.ts';
import { http } from './http-door.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

/** A door as the fuzz test sees it. */
export interface Door {
  readonly name: string;
  readonly open: (target: Target, pod: Pod) => Promise<Connection>;
  /** Returns the bytes of one message, mutated or not; `tag` marks it as this connection's. */
  readonly message: (random: Random, tag: string, pod: Pod) => Uint8Array;
  /** The last message of a batch may end or take over the connection. */
  readonly last?: (random: Random, tag: string, pod: Pod) => Uint8Array;
  readonly probe: (tag: string) => Uint8Array;
  readonly isProbed: (text: string, tag: string) => boolean;
  readonly check: Check;
  /**
   * Whether a message before the last may end the connection: because the pod is closed, or because of the
   * framing.
   */
  readonly mayClose?: boolean;
  /** Counts the answers to all messages of a batch, if the protocol answers each request. */
  readonly answers?: {
    readonly isAnswer: (line: unknown) => boolean;
    readonly due: (bytes: Uint8Array) => { readonly least: number; readonly most: number };
  };
  /** Returns the tag in an answer, if it has one. */
  readonly tagOf: (line: unknown) => unknown;
}

/** The session that the current connections use. */
export interface Pod {
  readonly id: string;
  readonly socket: string;
  /** Its directory. */
  readonly project: string;
}

const NOTHING: ReadonlySet<string> = new Set();
const text = (value: Json): Uint8Array => Buffer.from(encoded(value));

interface Template {
  readonly method: string;
  readonly params?: JsonMap;
  /** Changes or creates something: sent unmutated only occasionally, to limit the work. */
  readonly acts?: boolean;
  /** Never sent unmutated: it would run a command, ask a person or stop the daemon. */
  readonly never?: boolean;
}

function chosen(random: Random, templates: readonly Template[]): { template: Template; isBroken: boolean } {
  const template = random.pick(templates);
  const isBroken = template.never === true || (template.acts === true && !random.chance(0.02));
  return { template, isBroken };
}

/** Parameters that are always invalid, whatever else is mutated. */
const REFUSED: JsonMap = { no_such_parameter: [] };

const pod: Door = {
  name: 'pod',
  open: (_, { socket }) => LineConnection.unix(socket),
  message: (random, tag) => {
    const { template, isBroken } = chosen(random, POD);
    const { method, params } = template;
    return payload(
      random,
      {
        method,
        ...(params !== undefined || isBroken
          ? { params: isBroken ? { ...params, ...REFUSED } : (params ?? {}) }
          : {}),
        ...(random.chance(0.8) && { request_id: `${tag}-${random.below(1_000)}` }),
        ...(random.chance(0.05) && { idempotency_key: `k${random.below(50)}` }),
      },
      isBroken ? new Set(['no_such_parameter', 'params']) : NOTHING,
    );
  },
  probe: (tag) => text({ method: 'get_status', request_id: `${tag}-probe` }),
  isProbed: (line, tag) => line.includes(`"request_id":"${tag}-probe"`),
  check: podLine,
  mayClose: true,
  tagOf: (line) => (line as { request_id?: unknown }).request_id,
};

const POD: readonly Template[] = [
  { method: 'get_status' },
  { method: 'get_history' },
  { method: 'get_status', params: {} },
  { method: 'subscribe', params: { after: 0, name: 'fuzz' } },
  { method: 'run', params: { input: 'hello', when_busy: 'queue', task_id: 't1' }, acts: true },
  {
    method: 'run',
    params: {
      input: 'x',
      images: [{ media_type: 'image/png', data: 'iVBORw0KGgo=' }],
      overrides: { max_turns: 1, mode: 'read-only' },
    },
    acts: true,
  },
  { method: 'resume' },
  { method: 'cancel' },
  { method: 'pause' },
  { method: 'steer', params: { input: 'left' }, acts: true },
  { method: 'follow_up', params: { input: 'then' }, acts: true },
  { method: 'clear_queue', params: { queue_ids: ['q1', 'q2'] } },
  { method: 'abort_retry' },
  {
    method: 'decide',
    params: {
      approval_id: 'a1',
      decision: 'approve',
      comment: 'ok',
      updated_arguments: '{}',
      remember: 'once',
    },
  },
  {
    method: 'ask',
    params: {
      tool: 'bash',
      arguments: '{}',
      title: 't',
      reason: 'r',
      deadline: '2030-01-01T00:00:00Z',
      fallback: 'deny',
    },
    never: true,
  },
  {
    method: 'configure',
    params: {
      set: { thinking: 'low', name: 'pod', annotations: { a: 1 }, paths: ['/tmp'] },
      clear: ['name'],
    },
  },
  {
    method: 'configure',
    params: {
      set: {
        rules: [{ action: 'ask', tool: 'bash', command: 'rm *' }],
        client_tools: [{ name: 't', description: '', parameters: { type: 'object' } }],
      },
    },
  },
  { method: 'compact', params: { instructions: 'short' }, acts: true },
  { method: 'branch', params: { entry_id: 'e1' } },
  { method: 'shell', params: { command: ['not', 'text'], private: true }, never: true },
  { method: 'abort_shell', params: { shell_id: 's1' } },
  { method: 'end_background', params: { id: 'b1' } },
  { method: 'set_todos', params: { items: [{ id: '1', content: 'a', status: 'pending' }] } },
  { method: 'tool_result', params: { call_id: 'c1', output: 'x', is_error: false } },
  { method: 'tool_update', params: { call_id: 'c1', text: 'x' } },
  { method: 'close', acts: true },
  { method: 'no_such_method', params: {} },
];

const rpcMessage: Door['message'] = (random, tag) => {
  const { template, isBroken } = chosen(random, RPC);
  const { method: type, params } = template;
  return payload(
    random,
    {
      ...(random.chance(0.8) && { id: `${tag}-${random.below(1_000)}` }),
      type: isBroken ? `${type}_` : type,
      ...params,
    },
    isBroken ? new Set(['type']) : NOTHING,
  );
};

const RPC: readonly Template[] = [
  { method: 'get_state' },
  { method: 'get_messages' },
  { method: 'get_session_stats' },
  { method: 'get_available_models' },
  { method: 'get_commands' },
  { method: 'get_branch_messages' },
  { method: 'get_last_assistant_text' },
  { method: 'get_entries' },
  { method: 'get_tree' },
  { method: 'get_available_thinking_levels' },
  { method: 'get_integrations' },
  {
    method: 'prompt',
    params: {
      message: 'hello',
      images: [{ data: 'iVBORw0KGgo=', mimeType: 'image/png' }],
      streamingBehavior: 'followUp',
    },
    acts: true,
  },
  { method: 'steer', params: { message: 'left' }, acts: true },
  { method: 'follow_up', params: { message: 'then' }, acts: true },
  { method: 'abort' },
  { method: 'abort_and_prompt', params: { message: 'instead' }, acts: true },
  { method: 'new_session', params: { parentSession: 'p' }, acts: true },
  {
    method: 'set_todos',
    params: { phases: [{ id: '1', name: 'a', tasks: [{ id: '2', content: 'b', status: 'pending' }] }] },
  },
  {
    method: 'set_host_tools',
    params: {
      tools: [{ name: 't', label: 't', description: 'd', parameters: { type: 'object', properties: {} } }],
    },
  },
  { method: 'set_model', params: { provider: 'anthropic', modelId: 'x' } },
  { method: 'cycle_model' },
  { method: 'set_thinking_level', params: { level: 'low' } },
  { method: 'cycle_thinking_level' },
  { method: 'set_steering_mode', params: { mode: 'all' } },
  { method: 'set_follow_up_mode', params: { mode: 'one-at-a-time' } },
  { method: 'set_interrupt_mode', params: { mode: 'wait' } },
  { method: 'compact', params: { customInstructions: 'short' }, acts: true },
  { method: 'set_auto_compaction', params: { enabled: true } },
  { method: 'set_auto_retry', params: { enabled: true } },
  { method: 'abort_retry' },
  { method: 'bash', params: { command: ['not', 'text'] }, never: true },
  { method: 'abort_bash' },
  { method: 'switch_session', params: { sessionPath: 'other.jsonl' } },
  { method: 'branch', params: { entryId: 'e1' } },
  { method: 'fork', params: { entryId: 'e1' } },
  { method: 'clone', acts: true },
  { method: 'set_session_name', params: { name: 'a name' } },
  { method: 'set_locale', params: { locale: 'en' } },
  { method: 'clear_queue' },
  { method: 'extension_ui_response', params: { id: 'u1', value: 'x', confirmed: true, cancelled: false } },
  {
    method: 'host_tool_result',
    params: { id: 'h1', result: { content: [{ type: 'text', text: 'x' }] }, isError: false },
  },
  { method: 'host_tool_update', params: { id: 'h1', partialResult: { content: [] } } },
];

const rpc: Door = {
  name: 'rpc',
  open: async ({ rpc: path, project }) => {
    const connection = await LineConnection.unix(path);
    const header = text({ cwd: project, by: 'fuzz' });
    await connection.send(connection.frame(header));
    // The greeting is not a protocol line.
    await new Promise<void>((resolve) => {
      connection.onClose = resolve;
      connection.onMessage = (line) => {
        if (line.includes('"type":"ready"')) resolve();
      };
    });
    return connection;
  },
  message: rpcMessage,
  probe: (tag) => text({ id: `${tag}-probe`, type: 'get_state' }),
  isProbed: (line, tag) => line.includes(`"id":"${tag}-probe"`),
  check: rpcLine,
  tagOf: (line) => (line as { id?: unknown }).id,
};

/** Without a daemon: the process itself is the door. */
const stdio: Door = {
  ...rpc,
  name: 'rpc stdio',
  open: async ({ env, project }) => {
    const args = [MAIN, '--mode', 'rpc', '--no-session', '--model', 'sim/offline'];
    return LineConnection.process(process.execPath, args, { ...env }, project);
  },
};

const HLD: readonly Template[] = [
  { method: 'health' },
  { method: 'listSessions' },
  { method: 'getSessionLeaves', params: { filter: 'normal' } },
  { method: 'getSessionState', params: { session_id: 's1' } },
  { method: 'getConversation', params: { session_id: 's1', claude_session_id: 'c1' } },
  { method: 'getSessionSnapshots', params: { session_id: 's1' } },
  { method: 'getRecentPaths', params: { limit: 20 } },
  { method: 'fetchApprovals', params: { session_id: 's1' } },
  { method: 'getApproval', params: { approval_id: 'a1' } },
  {
    method: 'createApproval',
    params: { run_id: 'r1', tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 't1' },
  },
  { method: 'sendDecision', params: { approval_id: 'a1', decision: 'deny', comment: 'no' } },
  { method: 'interruptSession', params: { session_id: 's1' } },
  {
    method: 'updateSessionSettings',
    params: {
      session_id: '$pod',
      auto_accept_edits: true,
      dangerously_skip_permissions: true,
      dangerously_skip_permissions_timeout_ms: 1000,
    },
  },
  { method: 'updateSessionTitle', params: { session_id: '$pod', title: 't' } },
  { method: 'archiveSession', params: { session_id: '$pod', archived: false } },
  { method: 'bulkArchiveSessions', params: { session_ids: ['s1', 's2'], archived: true } },
  { method: 'getSessionState', params: { session_id: '$pod' } },
  { method: 'getConversation', params: { session_id: '$pod' } },
  {
    method: 'launchSession',
    params: {
      query: 'hello',
      title: 't',
      model: 'sonnet',
      working_dir: '/no/such/directory',
      max_turns: 1,
      allowed_tools: ['read'],
      mcp_config: { mcpServers: {} },
      permission_prompt_tool: 'x',
    },
  },
  { method: 'continueSession', params: { session_id: 's1', query: 'more', mcp_config: '{}' } },
  { method: 'noSuchMethod', params: {} },
];

const hldSubscribe: JsonMap = { event_types: ['new_approval'], session_id: 's1', run_id: 'r1' };

const hld: Door = {
  name: 'hld',
  open: ({ hld: path }) => LineConnection.unix(path),
  message: (random, tag, { id }) => {
    const { method, params } = random.pick(HLD);
    const own = params?.session_id === '$pod' ? { ...params, session_id: id } : params;
    const call = {
      jsonrpc: '2.0',
      method,
      ...(own !== undefined && { params: own }),
      ...(random.chance(0.9) && { id: `${tag}-${random.below(1_000)}` }),
    };
    const bytes = payload(random, call, NOTHING);
    return random.chance(0.03)
      ? Buffer.concat([Buffer.from('['), bytes, Buffer.from(','), text(call), Buffer.from(']')])
      : bytes;
  },
  last: (random, tag) =>
    payload(random, { jsonrpc: '2.0', method: 'Subscribe', params: hldSubscribe, id: `${tag}-s` }, NOTHING),
  probe: (tag) => text({ jsonrpc: '2.0', method: 'health', id: `${tag}-probe` }),
  isProbed: (line, tag) => line.includes(`"id":"${tag}-probe"`),
  check: hldLine,
  tagOf: (line) => (line as { id?: unknown }).id,
};

const CONTROL: readonly Template[] = [
  { method: 'status' },
  { method: 'metrics' },
  { method: 'ls', params: { search: 'hello' } },
  { method: 'ls', params: {} },
  { method: 'approvals' },
  {
    method: 'new',
    params: {
      cwd: '/tmp',
      name: 'n',
      model: 'm',
      mode: 'read-only',
      thinking: 'low',
      appendSystem: 's',
      no: 1,
    },
    never: true,
  },
  { method: 'fork', params: { pod: 'p1', entryId: 'e1', name: 'n' } },
  { method: 'rm', params: { pod: 'p1-none' } },
  { method: 'model', params: { reference: 'sonnet' } },
  {
    method: 'command',
    params: {
      pod: '$pod',
      by: 'fuzz',
      command: { type: 'configure', set: { thinking: 'low', annotations: { a: 1 } } },
      key: 'k',
    },
  },
  {
    method: 'command',
    params: { pod: '$pod', by: 'fuzz', command: { type: 'clear-queue', queueIds: ['q'] } },
  },
  {
    method: 'command',
    params: { pod: '$pod', by: 'fuzz', command: { type: 'decide', approvalId: 'a', decision: 'deny' } },
  },
  {
    method: 'command',
    params: {
      pod: '$pod',
      by: 'fuzz',
      command: { type: 'set-todos', items: [{ id: '1', content: 'a', status: 'pending' }] },
    },
  },
  {
    method: 'command',
    params: {
      pod: '$pod',
      by: 'fuzz',
      command: { type: 'tool-result', callId: 'c', content: [{ type: 'text', text: 'x' }] },
    },
  },
  { method: 'agent-stop', params: { name: 'nobody-is-called-so' } },
  { method: 'agent-start', params: { cwd: 1 }, never: true },
  { method: 'no-such-method', params: {} },
];

/** Never contains commands that affect the whole daemon or files. */
const FIXED_CONTROL: ReadonlySet<string> = new Set(['method', 'type']);

const control: Door = {
  name: 'control',
  open: ({ control: path }) => LineConnection.unix(path),
  message: (random, _, { id }) => {
    const { template, isBroken } = chosen(random, CONTROL);
    const { method, params = {} } = template;
    const own = params.pod === '$pod' ? { ...params, pod: id } : params;
    return payload(
      random,
      { method, params: isBroken ? { ...own, ...REFUSED } : own },
      isBroken
        ? new Set([...FIXED_CONTROL, 'params', 'no_such_parameter'])
        : random.chance(0.9)
          ? FIXED_CONTROL
          : NOTHING,
    );
  },
  last: (random, _, { id }) =>
    payload(
      random,
      { method: random.pick(['watch', 'watch-approvals', 'attach']), params: { pod: id, after: 0 } },
      NOTHING,
    ),
  // The protocol has no ids: answers arrive in order, and no other client requests a session with this name.
  probe: (tag) => text({ method: 'fork', params: { pod: `no-${tag}-probe` } }),
  isProbed: (line, tag) => line.includes(`no-${tag}-probe`),
  check: controlLine,
  tagOf: (line) => /no-(fuzz\w+-probe)/.exec(JSON.stringify((line as { error?: unknown }).error ?? ''))?.[1],
};

const WEB_SOCKET: readonly Template[] = [
  { method: 'subscribe', params: { sessionId: 's1', after: 0 } },
  { method: 'unsubscribe', params: { sessionId: 's1' } },
  { method: 'status', params: { taskId: 't1' } },
  { method: 'cancel', params: { taskId: 't1' } },
  {
    method: 'decide',
    params: { approvalId: 'a1', decision: 'approve', comment: 'c', updatedArguments: '{}', remember: 'once' },
  },
  {
    method: 'prompt',
    params: {
      sessionId: 's1',
      userPrompt: 'hello',
      taskType: 'chat',
      context: { workingDirectory: '/tmp', maxTurns: 1, budget: 1, allowedPaths: ['/tmp'], files: ['a'] },
    },
    acts: true,
  },
  { method: 'no_such_method' },
];

const webSocket: Door = {
  name: 'tasks WebSocket',
  open: ({ url, key }) => WebSocketConnection.open(url, key),
  message: (random, tag) => {
    const { template, isBroken } = chosen(random, WEB_SOCKET);
    const { method, params } = template;
    const bytes = payload(
      random,
      {
        method,
        ...(params !== undefined && { params: isBroken ? { ...params, taskType: 'none' } : params }),
        ...(random.chance(0.8) && { request_id: `${tag}-${random.below(1_000)}` }),
      },
      isBroken ? new Set(['params', 'taskType']) : NOTHING,
    );
    // Text that is not UTF-8 ends a WebSocket connection, so it is sent last.
    return isUtf8(bytes) ? bytes : Buffer.from(Buffer.from(bytes).toString('latin1'));
  },
  probe: (tag) => text({ method: 'unsubscribe', params: { sessionId: 'none' }, request_id: `${tag}-probe` }),
  isProbed: (line, tag) => line.includes(`"request_id":"${tag}-probe"`),
  mayClose: true,
  check: webSocketLine,
  tagOf: (line) => (line as { request_id?: unknown }).request_id,
};

function isUtf8(bytes: Uint8Array): boolean {
  return Buffer.compare(Buffer.from(Buffer.from(bytes).toString('utf8')), bytes) === 0;
}

export const DOORS: Readonly<Record<string, Door>> = {
  ...{ pod, rpc, stdio, hld, acp, control, webSocket, http },
};
