import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { ClientAnswer, ClientQuestion } from '../../tools/index.ts';
import type { AgentCall, PermissionReply } from '../agent-event.ts';
import { callOf, commandCall, foreignCall, inputCall } from './calls.ts';

/** A request of Codex that waits for an answer of ours. */
export interface OpenRequest {
  /** The id of the request in Codex's own numbering. */
  readonly id: number | string;
  readonly method: string;
  readonly params: JsonObject;
  /** Absent for a question. */
  readonly callId?: string;
}

/** What a request asks for; undefined if it is unknown. */
export type Asked =
  | { readonly type: 'permission'; readonly call: AgentCall }
  | { readonly type: 'question'; readonly question: ClientQuestion };

/** A call that Codex has reported with an item, as far as requests need it. */
export interface KnownCall {
  readonly item: JsonObject;
  readonly call: AgentCall;
  /** Whether a request for it has been received. */
  readonly isAsked: boolean;
}

export interface RequestContext {
  readonly cwd: string;
  readonly calls: ReadonlyMap<string, KnownCall>;
}

export function askedBy(method: string, params: JsonObject, context: RequestContext): Asked | undefined {
  const callId = stringOf(params.itemId);
  const known = context.calls.get(callId);
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return { type: 'permission', call: commandApproval(callId, params, known, context.cwd) };
    case 'item/fileChange/requestApproval':
      // The changes are only in the item. Without it, nothing is known about the patch.
      return { type: 'permission', call: known?.call ?? foreignCall(callId, 'apply_patch', {}) };
    case 'item/permissions/requestApproval':
      return { type: 'permission', call: permissionsApproval(callId, params) };
    case 'mcpServer/elicitation/request':
      return elicitation(params, context);
    case 'item/tool/requestUserInput':
      return { type: 'question', question: userInput(params) };
    default:
      return undefined;
  }
}

function commandApproval(
  callId: string,
  params: JsonObject,
  known: KnownCall | undefined,
  cwd: string,
): AgentCall {
  const line = stringOf(params.command);
  if (params.kind === 'writeStdin') return inputCall(callId, line || stringOf(known?.item.command));
  const { host } = objectOf(params.networkApprovalContext);
  if (typeof host === 'string' && host !== '') {
    const call = known?.call ?? foreignCall(callId, 'exec_command', { host });
    return {
      ...call,
      title: `${call.title} (connects to ${host})`,
      access: [{ type: 'web', host: host.toLowerCase() }],
    };
  }
  if (line === '') return known?.call ?? foreignCall(callId, 'exec_command', {});
  return commandCall(callId, line, stringOf(params.cwd) || cwd, cwd);
}

function permissionsApproval(callId: string, params: JsonObject): AgentCall {
  const { permissions, reason } = params;
  const title = `more permissions${typeof reason === 'string' ? `: ${reason}` : ''}`;
  return foreignCall(callId, 'request_permissions', { permissions, reason }, title);
}

/** Codex asks for the approval of an MCP server's tool in the form of an elicitation, without the id of the item. */
function elicitation(params: JsonObject, { cwd, calls }: RequestContext): Asked | undefined {
  const { _meta: about } = params;
  const meta = objectOf(about);
  const message = stringOf(params.message);
  if (meta.codex_approval_kind !== undefined) {
    const found = [...calls.values()].find(
      ({ item, isAsked }) =>
        !isAsked &&
        item.type === 'mcpToolCall' &&
        item.server === params.serverName &&
        item.tool === meta.tool_name &&
        JSON.stringify(objectOf(item.arguments)) === JSON.stringify(objectOf(meta.tool_params)),
    );
    if (found !== undefined) return { type: 'permission', call: found.call };
    const item = {
      type: 'mcpToolCall',
      id: `elicitation ${stringOf(params.serverName)} ${stringOf(meta.tool_name)} ${stringOf(params.turnId)}`,
      server: params.serverName,
      tool: stringOf(meta.tool_name) || message,
      arguments: meta.tool_params,
    };
    const call = callOf(item, cwd);
    return call === undefined ? undefined : { type: 'permission', call };
  }
  if (params.mode === 'url')
    return {
      type: 'question',
      question: { message: `${message}\n${stringOf(params.url)}`, schema: EMPTY_FORM },
    };
  if (params.mode !== 'form' || !isObject(params.requestedSchema)) return undefined;
  return { type: 'question', question: { message, schema: params.requestedSchema } };
}

const EMPTY_FORM: JsonObject = { type: 'object', properties: {} };

function userInput(params: JsonObject): ClientQuestion {
  const questions = arrayOf(params.questions).map(objectOf);
  const properties = questions.map((question): [string, JsonObject] => {
    const options = arrayOf(question.options).map(objectOf);
    const lines = options.map(({ label, description }) => `${stringOf(label)}: ${stringOf(description)}`);
    const isFree = question.isOther === true || options.length === 0;
    return [
      stringOf(question.id),
      {
        type: 'string',
        title: stringOf(question.header),
        description: [stringOf(question.question), ...lines].join('\n'),
        ...(isFree ? {} : { enum: options.map(({ label }) => stringOf(label)) }),
      },
    ];
  });
  return {
    message: questions.map(({ question }) => stringOf(question)).join('\n'),
    schema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: properties.map(([id]) => id),
    },
  };
}

/** The answer to a request for permission. */
export function permissionResult({ method, params }: OpenRequest, { decision }: PermissionReply): JsonObject {
  const isAllowed = decision === 'allow';
  switch (method) {
    case 'mcpServer/elicitation/request':
      return { action: ACTIONS[decision], content: isAllowed ? {} : null, _meta: null };
    case 'item/permissions/requestApproval':
      return { permissions: isAllowed ? objectOf(params.permissions) : {}, scope: 'turn' };
    default:
      return { decision: DECISIONS[decision] };
  }
}

const ACTIONS = { allow: 'accept', deny: 'decline', cancel: 'cancel' } as const;
const DECISIONS = { allow: 'accept', deny: 'decline', cancel: 'cancel' } as const;

/** The answer to a question. */
export function questionResult({ method }: OpenRequest, answer: ClientAnswer): JsonObject {
  const content = answer.action === 'accept' ? answer.content : {};
  if (method === 'mcpServer/elicitation/request')
    return { action: answer.action, content: answer.action === 'accept' ? content : null, _meta: null };
  const answers = Object.entries(content).map(([id, value]) => [id, { answers: [String(value)] }]);
  return { answers: Object.fromEntries(answers) };
}
