import { type Static, type TSchema, Type } from 'typebox';
import { type JsonObject, withoutUndefined } from '../../base/index.ts';
import { DECISIONS, PERMISSION_MODES, REMEMBER_OPTIONS } from '../../pod/index.ts';

/**
 * The messages of the protocol as JSON Schemas. Requests are validated and responses are serialized with them, the OpenAPI document
 * contains them, and the types below are derived from them. A description that begins with "A", "An" or "Text" completes the
 * sentence "must be" in an error message.
 */

/** The value of a schema, as its readers see it. */
type ReadonlyDeep<T> = T extends readonly (infer U)[]
  ? readonly ReadonlyDeep<U>[]
  : T extends object
    ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> }
    : T;
type ValueOf<S extends TSchema> = ReadonlyDeep<Static<S>>;

const text = Type.String();
const amount = Type.Number({ minimum: 0 });
const time = Type.String({ format: 'date-time' });
/** Text that is not blank. */
const filledText = Type.String({ pattern: '\\S' });

/** One of a list of words. */
export function choice<const T extends string>(words: readonly T[], description?: string) {
  return Type.Unsafe<T>({ type: 'string', enum: [...words], ...withoutUndefined({ description }) });
}

/** An object with any other keys: clients may send more than this version knows, and they are ignored. */
const OPEN = { additionalProperties: true };
const anyObject = Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true });

export const TASK_TYPES = ['chat', 'command_execution', 'file_operation', 'complex_task'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';
const PRINTED = `[^${CONTROL}]`;
const MOST_PATHS = 100;

const path = Type.String({
  description: 'An absolute path of at most 4096 characters, without null characters.',
  pattern: '^/[^\\u0000]*$',
  maxLength: 4_096,
});

/** The keys of `context` that are used. */
const WireContext = Type.Object(
  {
    workingDirectory: Type.Optional(path),
    model: Type.Optional(
      Type.String({
        description: 'A model reference such as openai/gpt-5.',
        pattern: '\\S',
        maxLength: 200,
      }),
    ),
    permissionMode: Type.Optional(choice(PERMISSION_MODES)),
    /** Paths in addition to the working directory. */
    allowedPaths: Type.Optional(Type.Array(path, { maxItems: MOST_PATHS })),
    /** Files that the task refers to. */
    files: Type.Optional(Type.Array(filledText, { maxItems: MOST_PATHS })),
    maxTurns: Type.Optional(
      Type.Integer({
        description: 'A whole number from 1 on.',
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
    ),
    /** For a new session. */
    backend: Type.Optional(
      Type.String({
        description: 'The agent that does the work of a new session; by default the configured one.',
        pattern: '^[\\w-]{1,64}$',
      }),
    ),
    /** In USD. */
    budget: Type.Optional(Type.Number({ description: 'An amount of 0 or more, in USD.', minimum: 0 })),
  },
  OPEN,
);
export type WireContext = ValueOf<typeof WireContext>;

/** The body of `POST /submit_task`. */
export const SubmitRequest = Type.Object(
  {
    /** A name that the client chooses. It is stored in the header of the session and shown to people. */
    sessionId: Type.String({
      description: 'Text of at most 200 characters, none of them a control character.',
      pattern: `^${PRINTED}*[^\\s${CONTROL}]${PRINTED}*$`,
      maxLength: 200,
    }),
    userPrompt: filledText,
    taskType: choice(TASK_TYPES),
    context: Type.Optional(WireContext),
  },
  OPEN,
);
export type SubmitRequest = ValueOf<typeof SubmitRequest>;

/** A rejected task has an id too, but it cannot be looked up. */
export const SubmitReply = Type.Object({
  taskId: text,
  status: choice(['accepted', 'rejected']),
  message: Type.Optional(text),
});
export type SubmitReply = ValueOf<typeof SubmitReply>;

/** Distinguishes states that share one of the four statuses. */
const TASK_STATES = [
  'pending',
  'running',
  'waiting_approval',
  'paused',
  'succeeded',
  'failed',
  'cancelled',
  /** Its command was denied. */
  'denied',
  'interrupted',
  'limited',
] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const STATUSES = ['pending', 'in_progress', 'completed', 'failed'] as const;
const status = choice(STATUSES);
const state = choice(TASK_STATES);

export const TaskStatus = Type.Object({
  taskId: text,
  status,
  progress: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  /** `{text, usage}`, `{stdout, stderr, exitCode}` or `{text, changes}`, depending on the type of the task. */
  result: Type.Optional(anyObject),
  errorMessage: Type.Optional(text),
  state,
  sessionId: text,
});
export type TaskStatusReply = ValueOf<typeof TaskStatus>;

/** A changed file in the result of a `file_operation`. */
export interface WireChange {
  readonly path: string;
  readonly tool: string;
  readonly diff?: string;
}

const Usage = Type.Object({
  inputTokens: amount,
  outputTokens: amount,
  turns: amount,
  toolCalls: amount,
  /** In USD; absent if a model's price is unknown. */
  cost: Type.Optional(amount),
});
export type WireUsage = ValueOf<typeof Usage>;

const TaskLine = Type.Object({
  taskId: text,
  sessionId: text,
  status,
  state,
  updatedAt: time,
  /** Absent for tasks of earlier versions. */
  userPrompt: Type.Optional(Type.String({ description: 'The prompt, truncated if it is long.' })),
  agentName: Type.Optional(Type.String({ description: 'The agent that it was submitted to.' })),
});
export type TaskLine = ValueOf<typeof TaskLine>;
export const TaskList = Type.Object({ tasks: Type.Array(TaskLine) });

export const Session = Type.Object({
  sessionId: text,
  /** The pod id, which other doors use. */
  podId: text,
  state: choice(['idle', 'running', 'waiting', 'paused']),
  workingDirectory: text,
  createdAt: time,
  updatedAt: time,
  queued: amount,
  usage: Usage,
});
export type SessionLine = ValueOf<typeof Session>;
export const SessionList = Type.Object({ sessions: Type.Array(Session) });

const ApprovalLine = Type.Object({
  approvalId: text,
  sessionId: text,
  tool: text,
  /** The decision applies to the arguments. */
  title: Type.String({ description: 'The call in one line, which may be truncated.' }),
  /** Absent while another process has the session open, which then decides. */
  arguments: Type.Optional(Type.String({ description: 'All arguments of the call, as JSON text.' })),
  subagent: Type.Optional(
    Type.String({ description: 'What the sub-agent that makes the call was asked to do.' }),
  ),
  /** Why the approval is requested. */
  reason: Type.Optional(text),
  requestedAt: time,
  deadline: Type.Optional(time),
});
export type ApprovalLine = ValueOf<typeof ApprovalLine>;
export const ApprovalList = Type.Object({ approvals: Type.Array(ApprovalLine) });

/** The body of `POST /approvals/{approvalId}/decide`. */
export const Decision = Type.Object(
  {
    decision: choice(DECISIONS),
    comment: Type.Optional(text),
    updatedArguments: Type.Optional(filledText),
    remember: Type.Optional(choice(REMEMBER_OPTIONS)),
    sessionId: Type.Optional(filledText),
  },
  OPEN,
);
export type Decision = ValueOf<typeof Decision>;
export const Decided = Type.Object({ approvalId: text, decision: choice(DECISIONS) });

/** The body of `POST /stream_tickets`: a task or a session. */
export const TicketRequest = Type.Object(
  { taskId: Type.Optional(filledText), sessionId: Type.Optional(filledText) },
  { ...OPEN, oneOf: [{ required: ['taskId'] }, { required: ['sessionId'] }] },
);
export type TicketRequest = ValueOf<typeof TicketRequest>;
export const StreamTicket = Type.Object({
  ticket: text,
  url: Type.String({ description: 'The URL of the stream with the ticket, relative to the agent.' }),
  expiresAt: time,
});

export const UsageReply = Type.Object({
  total: Usage,
  sessions: Type.Array(Type.Object({ sessionId: text, usage: Usage })),
});

export const AgentStatus = Type.Object({
  agentName: text,
  role: text,
  status: choice(['idle', 'busy', 'error']),
  currentTask: Type.Optional(text),
  version: text,
  running: amount,
  pending: amount,
});

export const Health = Type.Object({ status: choice(['ok', 'draining']) });

export const OpenApiDocument = Type.Object({ openapi: text }, OPEN);

export const ErrorReply = Type.Object({
  error: Type.Object({
    code: text,
    message: text,
    /** `field` names the invalid field; `fields` lists all of them. */
    details: Type.Optional(anyObject),
  }),
});
export type ErrorReply = ValueOf<typeof ErrorReply>;

/** The `params` of messages over WebSocket. */
export const TaskParams = Type.Object({ taskId: filledText }, OPEN);
export const ApprovalParams = Type.Object({ approvalId: filledText }, OPEN);
export const SubscribeParams = Type.Object(
  {
    sessionId: filledText,
    after: Type.Optional(
      Type.Unsafe<string | number>({
        description: 'A number of an event, such as 12 or "12.1".',
        type: ['string', 'number'],
      }),
    ),
  },
  OPEN,
);

/** An event of a session: a line of the extended Pod Protocol. */
export interface StreamLine {
  readonly event: string;
  readonly data: object;
  /** The number of the last event that it covers; responses have none. */
  readonly seq?: number;
}
