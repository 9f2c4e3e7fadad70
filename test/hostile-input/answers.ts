import { EVENT_TYPES } from '../../src/protocols/hld/wire.ts';

/** Returns how an answer violates its door's schema; undefined if it does not. */
export type Check = (line: unknown) => string | undefined;

type Map = { readonly [key: string]: unknown };

function isMap(value: unknown): value is Map {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const POD_EVENTS: ReadonlySet<unknown> = new Set([
  ...[
    'turn_start',
    'turn_end',
    'text_delta',
    'text_done',
    'thinking_delta',
    'thinking_done',
    'tool_call_start',
  ],
  ...['tool_call_args_delta', 'tool_call_done', 'tool_result', 'status', 'history', 'usage', 'error'],
  ...[
    'subscribed',
    'snapshot',
    'accepted',
    'run_start',
    'run_end',
    'user_message',
    'block_aborted',
    'tool_start',
  ],
  ...[
    'tool_update',
    'retry',
    'retry_end',
    'compact_start',
    'compact_end',
    'queued',
    'unqueued',
    'approval_request',
  ],
  ...[
    'approval_resolved',
    'settings',
    'todos',
    'branched',
    'shell_start',
    'shell_update',
    'shell_end',
    'closed',
    ...['commanded', 'client_call', 'client_cancel', 'recovered'],
    ...['title', 'rewound', 'background_start', 'background_end'],
  ],
]);
const POD_CODES: ReadonlySet<unknown> = new Set([
  ...['already_running', 'not_running', 'not_paused', 'provider_error', 'tool_error', 'internal'],
  ...['invalid_request', 'not_found', 'conflict', 'denied', 'overloaded'],
]);

export const podLine: Check = (line) => {
  if (!isMap(line) || !isMap(line.data)) return 'no object with data';
  if (!POD_EVENTS.has(line.event)) return `unknown event ${String(line.event)}`;
  if (line.seq !== undefined && !Number.isSafeInteger(line.seq)) return 'seq is no number';
  if (
    line.request_id !== undefined &&
    typeof line.request_id !== 'string' &&
    typeof line.request_id !== 'number'
  )
    return 'request_id is neither text nor a number';
  if (line.event !== 'error') return undefined;
  if (!POD_CODES.has(line.data.code)) return `unknown code ${String(line.data.code)}`;
  return typeof line.data.message === 'string'
    ? errorMessageProblem(line.data.message)
    : 'an error without a message';
};

const RPC_CODES: ReadonlySet<unknown> = new Set([-32700, -32600, -32601, -32602, -32603]);

export const hldLine: Check = (line) => {
  if (Array.isArray(line))
    return line.length === 0 ? 'an empty batch' : line.map(hldLine).find((problem) => problem !== undefined);
  if (!isMap(line) || line.jsonrpc !== '2.0') return 'not JSON-RPC 2.0';
  if (!('id' in line)) return 'no id';
  if ('result' in line === 'error' in line) return 'neither result nor error, or both';
  if (Object.keys(line).some((key) => !['jsonrpc', 'id', 'result', 'error'].includes(key)))
    return 'an unknown key';
  if (!('error' in line))
    return isMap(line.result) && isMap(line.result.event) ? hldEvent(line.result.event) : undefined;
  const { error } = line;
  if (!isMap(error) || !RPC_CODES.has(error.code)) return `unknown code in ${JSON.stringify(error)}`;
  return typeof error.message === 'string'
    ? errorMessageProblem(error.message)
    : 'an error without a message';
};

function hldEvent({ type }: Map): string | undefined {
  return EVENT_TYPES.some((known) => known === type) ? undefined : `unknown event ${String(type)}`;
}

const RPC_EVENTS: ReadonlySet<unknown> = new Set([
  ...[
    'ready',
    'agent_start',
    'turn_start',
    'todo_auto_clear',
    'agent_end',
    'agent_settled',
    'turn_end',
    'message_start',
  ],
  ...['message_end', 'message_update', 'tool_execution_start', 'tool_execution_update', 'tool_execution_end'],
  ...['auto_compaction_start', 'auto_compaction_end', 'auto_retry_start', 'auto_retry_end', 'ttsr_triggered'],
  ...[
    'session_info_changed',
    'todo_reminder',
    'extension_error',
    'host_tool_call',
    'host_tool_cancel',
    'extension_ui_request',
  ],
]);

export const rpcLine: Check = (line) => {
  if (!isMap(line)) return 'no object';
  if (line.type !== 'response')
    return RPC_EVENTS.has(line.type) ? undefined : `unknown type ${String(line.type)}`;
  if (line.command !== undefined && typeof line.command !== 'string') return 'command is no text';
  if (line.success === true) return undefined;
  if (line.success !== false) return 'success is neither true nor false';
  if (typeof line.error !== 'string') return 'an error without a text';
  const [, unexpected] = /^Failed to parse command: (.*)/s.exec(line.error) ?? [];
  // The protocol reports exceptions like invalid lines; our messages always mention JSON or a limit.
  if (unexpected !== undefined && !/JSON|levels deep|longer than|null is not an object/.test(unexpected))
    return `an unexpected exception: ${unexpected}`;
  return errorMessageProblem(line.error);
};

const CONTROL_CODES: ReadonlySet<unknown> = new Set([
  ...[
    'bad-request',
    'unknown-method',
    'not-found',
    'conflict',
    'denied',
    'overloaded',
    'unreachable',
    'provider-failed',
    'tool-failed',
  ],
]);

export const controlLine: Check = (line) => {
  if (!isMap(line)) return 'no object';
  const [only, ...others] = Object.keys(line);
  if (others.length > 0) return 'more than one key';
  if (only === 'result' || only === 'watched') return isMap(line[only]) ? undefined : `${only} is no object`;
  if (only !== 'error' || !isMap(line.error)) return 'no result and no error';
  if (!CONTROL_CODES.has(line.error.code))
    return `code ${String(line.error.code)}: ${String(line.error.message)}`;
  return typeof line.error.message === 'string'
    ? errorMessageProblem(line.error.message)
    : 'an error without a message';
};

export const webSocketLine: Check = (line) => {
  if (!isMap(line) || !isMap(line.data)) return 'no object with data';
  if (!POD_EVENTS.has(line.event)) return `unknown event ${String(line.event)}`;
  if (
    line.request_id !== undefined &&
    typeof line.request_id !== 'string' &&
    typeof line.request_id !== 'number'
  )
    return 'request_id is neither text nor a number';
  if (line.event !== 'error') return undefined;
  const { code, message } = line.data;
  if (typeof code !== 'string' || code === 'internal') return `code ${String(code)}: ${String(message)}`;
  return typeof message === 'string' ? errorMessageProblem(message) : 'an error without a message';
};

/** Text that only an unexpected exception contains. */
export function errorMessageProblem(message: string): string | undefined {
  if (message.length > 20_000) return `a message of ${message.length} characters`;
  return BUGS.test(message) ? `an unexpected exception: ${message.slice(0, 300)}` : undefined;
}

const BUGS =
  /Maximum call stack|is not a function|is not iterable|Cannot read prop|Cannot convert|properties of (?:undefined|null)|Invalid time value|ERR_|null bytes|Invalid string length|circular structure/;
