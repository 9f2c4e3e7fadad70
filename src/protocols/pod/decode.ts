import {
  TODO_STATUSES,
  BASE64,
  MEDIA_TYPE,
  type PodCommand,
  readCommand,
  DEADLINE_FALLBACKS,
  DECISIONS,
  REMEMBER_OPTIONS,
  type ValidCommand,
} from '../../pod/index.ts';
import {
  asPolypodError,
  isObject,
  type JsonObject,
  nearestMatch,
  PolypodError,
  readMessage,
  shape,
  withoutUndefined,
  ellipsize,
} from '../../base/index.ts';
import { decodeSettingNames, decodeSettings, wireProblem } from './encode/settings.ts';
import type { RequestId } from './wire.ts';

/** A parsed request. */
export type Request =
  | { readonly type: 'command'; readonly command: ValidCommand }
  | { readonly type: 'get-status' }
  | { readonly type: 'get-history' }
  | { readonly type: 'subscribe'; readonly after?: number; readonly name?: string };

/** A decoded line: the request, or the error. */
export interface Decoded {
  readonly method?: string;
  readonly requestId?: RequestId;
  readonly key?: string;
  readonly request: Request | PolypodError;
}

/** Decodes a line. Never throws: errors are returned for the sender. */
export function decode(line: string): Decoded {
  const read = readMessage(line);
  if ('problem' in read && read.problem === 'too-deep')
    return { request: badRequest(`the line ${beginning(line)} is nested too deep: ${read.reason}`) };
  if (!('value' in read) || !isObject(read.value))
    return { request: badRequest(`the line ${beginning(line)} is not a JSON object`) };
  return decodeObject(read.value);
}

/** Decodes a request object of a program in this process. */
export function decodeObject(value: JsonObject): Decoded {
  const { method, params, request_id: requestId, idempotency_key: key } = value;
  const named = {
    ...(typeof method === 'string' ? { method } : {}),
    ...(isRequestId(requestId) ? { requestId } : {}),
    ...(typeof key === 'string' ? { key } : {}),
  };
  try {
    // Without a valid request id, the answer would go to every client.
    if (requestId !== undefined && requestId !== null && !isRequestId(requestId))
      throw badRequest(`request_id must be a number, or text of at most ${LONGEST_ID} characters`);
    // If an invalid key were ignored, the sender would wrongly rely on it to prevent duplicates.
    if (key !== undefined && key !== null && (typeof key !== 'string' || key.length > LONGEST_ID))
      throw badRequest(`idempotency_key must be text of at most ${LONGEST_ID} characters`);
    return { ...named, request: requestIn(method, params) };
  } catch (thrown) {
    return { ...named, request: asPolypodError(thrown) };
  }
}

function requestIn(method: unknown, params: unknown): Request {
  if (typeof method !== 'string') throw badRequest('a line needs a "method", which is text');
  const read = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (read === undefined) throw unknownMethod(method);
  return read(method, params ?? {});
}

type ReadParams = (method: string, params: unknown) => Request;

const text = shape.text();
const none = shape.fields({}, {});
const image = shape.withUnknownKeys(shape.fields({ media_type: MEDIA_TYPE, data: BASE64 }, {}));
const todo = shape.withUnknownKeys(shape.fields({ content: text, status: shape.choice(TODO_STATUSES) }, {}));
/** The text, and its images. */
const message = { input: text } as const;
const pictures = { images: shape.listOf(image) } as const;

const METHODS: Readonly<Record<string, ReadParams>> = {
  run: withParams(
    shape.fields(message, {
      ...pictures,
      when_busy: shape.choice(['refuse', 'queue', 'steer', 'follow_up']),
      overrides: shape.anyObject,
      task_id: text,
    }),
    ({ when_busy, overrides, task_id, ...input }) =>
      command('prompt', {
        content: contentOf(input),
        ...(when_busy && { whenBusy: when_busy === 'follow_up' ? 'follow-up' : when_busy }),
        ...(overrides && { overrides: decodeSettings(overrides, 'overrides') }),
        ...(task_id && { taskId: task_id }),
      }),
  ),
  resume: withParams(none, () => command('resume', {})),
  cancel: withParams(none, () => command('cancel', {})),
  get_status: withParams(none, () => ({ type: 'get-status' })),
  get_history: withParams(none, () => ({ type: 'get-history' })),

  subscribe: withParams(
    shape.fields(
      {},
      { after: shape.integerFrom(0), name: shape.text('a name of at most 200 characters', isShort) },
    ),
    (params) => ({ type: 'subscribe', ...params }),
  ),
  pause: withParams(none, () => command('pause', {})),
  steer: withParams(shape.fields(message, pictures), (input) =>
    command('steer', { content: contentOf(input) }),
  ),
  follow_up: withParams(shape.fields(message, pictures), (input) =>
    command('follow-up', { content: contentOf(input) }),
  ),
  clear_queue: withParams(shape.fields({}, { queue_ids: shape.listOf(text) }), ({ queue_ids }) =>
    command('clear-queue', withoutUndefined({ queueIds: queue_ids })),
  ),
  abort_retry: withParams(none, () => command('abort-retry', {})),
  decide: withParams(
    shape.fields(
      { approval_id: text, decision: shape.choice(DECISIONS) },
      {
        comment: shape.anyText,
        updated_arguments: text,
        remember: shape.choice(REMEMBER_OPTIONS),
      },
    ),
    ({ approval_id, updated_arguments, ...rest }) =>
      command('decide', {
        approvalId: approval_id,
        ...(updated_arguments && { updatedArguments: updated_arguments }),
        ...rest,
      }),
  ),
  ask: withParams(
    shape.fields(
      { tool: text, arguments: text },
      {
        title: text,
        reason: shape.anyText,
        call_id: text,
        deadline: text,
        fallback: shape.choice(DEADLINE_FALLBACKS),
      },
    ),
    ({ call_id, ...rest }) => command('ask', { ...(call_id && { callId: call_id }), ...rest }),
  ),
  configure: withParams(
    shape.fields({}, { set: shape.anyObject, clear: shape.listOf(text) }),
    ({ set, clear }) =>
      command('configure', {
        ...(set && { set: decodeSettings(set, 'set') }),
        ...(clear && { clear: decodeSettingNames(clear, 'clear') }),
      }),
  ),
  compact: withParams(shape.fields({}, { instructions: shape.anyText }), (params) =>
    command('compact', params),
  ),
  branch: withParams(shape.fields({ entry_id: text }, {}), ({ entry_id }) =>
    command('branch', { entryId: entry_id }),
  ),
  shell: withParams(shape.fields({ command: text }, { private: shape.boolean }), (params) =>
    command('shell', params),
  ),
  end_background: withParams(shape.fields({}, { id: text }), ({ id }) =>
    command('end-background', withoutUndefined({ id })),
  ),
  abort_shell: withParams(shape.fields({}, { shell_id: text }), ({ shell_id }) =>
    command('abort-shell', { ...(shell_id && { shellId: shell_id }) }),
  ),
  set_todos: withParams(shape.fields({ items: shape.listOf(todo) }, {}), (params) =>
    command('set-todos', params),
  ),
  tool_result: withParams(
    shape.fields({ call_id: text, output: shape.anyText }, { is_error: shape.boolean }),
    ({ call_id, output, is_error }) =>
      command('tool-result', {
        callId: call_id,
        content: [{ type: 'text', text: output }],
        ...withoutUndefined({ isError: is_error }),
      }),
  ),
  tool_update: withParams(
    shape.fields({ call_id: text, text: shape.anyText }, {}),
    ({ call_id, text: update }) => command('tool-update', { callId: call_id, text: update }),
  ),
  close: withParams(none, () => command('close', {})),
};

/** Unknown keys are ignored. The pod validates the contents of `set` and `overrides` and refuses unknown settings. */
function withParams<T>(params: shape.Shape<T>, make: (params: T) => Request): ReadParams {
  const known = shape.withUnknownKeys(params);
  return (method, value) => {
    const problems: shape.Problem[] = [];
    const read = known.read(value, [], (problem) => problems.push(problem));
    if (read === undefined) throw badRequest(shape.problemsMessage(`params of ${method}`, problems));
    return make(read);
  };
}

/** The pod validates commands, so that every door refuses the same ones. */
function command(type: PodCommand['type'], fields: JsonObject): Request {
  return { type: 'command', command: readCommand({ type, ...fields }, wireProblem) };
}

function contentOf({ input, images = [] }: PromptFields): readonly JsonObject[] {
  const pictured = images.map(({ media_type, data }) => ({ type: 'image', mediaType: media_type, data }));
  return [{ type: 'text', text: input }, ...pictured];
}

interface PromptFields {
  readonly input: string;
  readonly images?: readonly shape.ValueOf<typeof image>[];
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' ? id.length <= LONGEST_ID : typeof id === 'number' && Number.isFinite(id);
}

const LONGEST_ID = 1_024;

function isShort(name: string): boolean {
  return name.length <= 200;
}

function unknownMethod(method: string): PolypodError {
  const known = Object.keys(METHODS);
  const guess = nearestMatch(method, known);
  const hint = guess === undefined ? `there are ${known.join(', ')}` : `did you mean "${guess}"?`;
  return new PolypodError('unknown-method', `there is no method ${beginning(method)}: ${hint}`);
}

function badRequest(problem: string): PolypodError {
  return new PolypodError('bad-request', problem);
}

function beginning(line: string): string {
  return JSON.stringify(ellipsize(line, 60));
}
