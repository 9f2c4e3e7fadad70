import { PolypodError, shape } from '../base/index.ts';
import type { Content } from '../llm/index.ts';
import { PERMISSION_MODES, TODO_STATUSES } from '../tools/index.ts';
import { DEADLINE_FALLBACKS, DECISIONS, REMEMBER_OPTIONS } from './decision.ts';
import { REWIND_PARTS } from './rewind-parts.ts';
import { CLEARABLE, MODEL_CHOICE, PATH, SETTINGS_CHANGE, TIME } from './settings.ts';

const text = shape.text();

export const MEDIA_TYPE = shape.text('a media type such as image/png', (type) =>
  /^image\/[\w.+-]+$/.test(type),
);
export const BASE64 = shape.text('base64', (data) => /^[A-Za-z0-9+/]+={0,2}$/.test(data));

export const CONTENT: shape.Shape<readonly Content[]> = shape.refined(
  shape.listOf(
    shape.tagged('type', {
      text: shape.fields({ text: shape.anyText }, {}),
      image: shape.fields({ mediaType: MEDIA_TYPE, data: BASE64 }, {}),
    }),
  ),
  (content) => (content.length === 0 ? 'must not be empty' : undefined),
);

/** The sender's maximum permissions. Neither the session's settings nor the agent's can extend them. */
export const LIMIT = shape.fields(
  {},
  {
    mode: shape.choice(PERMISSION_MODES),
    /** Absolute paths. Files elsewhere are out of scope, even if a rule allows them. */
    directories: shape.listOf(PATH),
  },
);
export type Limit = shape.ValueOf<typeof LIMIT>;

/** The key with which a task was submitted. */
const SUBMITTER = shape.fields(
  { keyId: text, owner: text },
  {
    /** Whether the key's owner is barred from approving the task's calls. */
    fourEyes: shape.boolean,
    /** The agent that the task was submitted to. */
    agent: text,
  },
);
export type Submitter = shape.ValueOf<typeof SUBMITTER>;

/** Overrides for a single run. */
export const OVERRIDES = shape.fields(
  {},
  {
    model: MODEL_CHOICE,
    mode: shape.choice(PERMISSION_MODES),
    tools: shape.listOf(text),
    /** Additional paths besides the working directory. */
    paths: shape.listOf(PATH),
    system: shape.anyText,
    appendSystem: shape.anyText,
    maxTurns: shape.integerFrom(1),
    /** In USD. */
    budget: shape.number('an amount of 0 or more', (amount) => amount >= 0),
    limit: LIMIT,
    submitter: SUBMITTER,
  },
);
export type Overrides = shape.ValueOf<typeof OVERRIDES>;

export const TODO = shape.fields({ content: text, status: shape.choice(TODO_STATUSES) }, {});

const RUN_ID = shape.text('a UUID', (id) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id));

const FALLBACK = shape.choice(DEADLINE_FALLBACKS);

const COMMAND = shape.tagged('type', {
  /** Starts a run. While another run is active, the prompt is rejected unless it may be queued. */
  prompt: shape.fields(
    { content: CONTENT },
    {
      overrides: OVERRIDES,
      taskId: text,
      /** The id of the run, for a caller that must know it in advance. Not for a prompt that is queued. */
      runId: RUN_ID,
      whenBusy: shape.choice(['refuse', 'queue', 'steer', 'follow-up']),
      /**
       * The kind of program that wrote the prompt, such as `todo-reminder`. The session then records it as a custom message, not
       * a user message.
       */
      customType: text,
    },
  ),
  /** Sent to the model between two turns. */
  steer: shape.fields({ content: CONTENT }, {}),
  /** Sent to the model when it is done. */
  'follow-up': shape.fields({ content: CONTENT }, {}),
  'clear-queue': shape.fields({}, { queueIds: shape.listOf(text) }),
  cancel: shape.fields({}, {}),
  pause: shape.fields({}, {}),
  resume: shape.fields({}, {}),
  'abort-retry': shape.fields({}, {}),
  decide: shape.fields(
    { approvalId: text, decision: shape.choice(DECISIONS) },
    {
      comment: shape.anyText,
      /** JSON text of the arguments that replace the model's. */
      updatedArguments: text,
      remember: shape.choice(REMEMBER_OPTIONS),
      /** What the decider may allow. */
      limit: LIMIT,
    },
  ),
  /** An approval request of a client. */
  ask: shape.fields(
    { tool: text, arguments: text },
    { title: text, reason: shape.anyText, callId: text, deadline: TIME, fallback: FALLBACK },
  ),
  configure: shape.fields({}, { set: SETTINGS_CHANGE, clear: shape.listOf(shape.choice(CLEARABLE)) }),
  compact: shape.fields({}, { instructions: shape.anyText, mayGrow: shape.boolean }),
  /** Moves the leaf back to an entry, or with `root` to before the first. Later entries stay in the file. */
  branch: shape.fields({ entryId: text }, {}),
  /**
   * Returns files or the conversation, or both, to the point before a prompt, or undoes an earlier rewind. Files that
   * somebody else changed since are skipped, except those in `overwrite`.
   */
  rewind: shape.fields(
    { entryId: text },
    { parts: shape.choice(REWIND_PARTS), overwrite: shape.listOf(PATH) },
  ),
  /** A person's own shell command. It needs no approval, and the model receives its output unless it is private. */
  shell: shape.fields({ command: text }, { private: shape.boolean }),
  'abort-shell': shape.fields({}, { shellId: text }),
  /** Ends a background command of the agent, or all of them. */
  'end-background': shape.fields({}, { id: text }),
  'set-todos': shape.fields({ items: shape.listOf(TODO) }, {}),
  /** The result of a client's tool. */
  'tool-result': shape.fields(
    { callId: text, content: CONTENT },
    { isError: shape.boolean, details: shape.anyObject },
  ),
  'tool-update': shape.fields({ callId: text, text: shape.anyText }, {}),
  close: shape.fields({}, {}),
});

/** A request to a pod. The pod accepts it with a receipt, or rejects it. */
export type PodCommand = shape.ValueOf<typeof COMMAND>;
export type PodCommandOf<T extends PodCommand['type']> = Extract<PodCommand, { readonly type: T }>;

declare const validated: unique symbol;

/** A command that `readCommand` returned. Pods perform only these, and do not validate them again. */
export type ValidCommand = PodCommand & { readonly [validated]: true };
export type ValidCommandOf<T extends PodCommand['type']> = PodCommandOf<T> & { readonly [validated]: true };

/** JSON Schema of all commands, for doors and their documentation. */
export const commandSchema = COMMAND.schema;

/** Validates a command. Throws `bad-request` with every invalid field, spelled as `spelled` returns it. */
export function readCommand(
  value: unknown,
  spelled: (problem: shape.Problem) => shape.Problem = (problem) => problem,
): ValidCommand {
  const problems: shape.Problem[] = [];
  const command = COMMAND.read(value, [], (problem) => problems.push(problem));
  // The only place that marks a command as valid.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  if (command !== undefined) return command as ValidCommand;
  throw new PolypodError('bad-request', shape.problemsMessage('the command', problems.map(spelled)));
}

/** The sender of a command. */
export interface Caller {
  /** The name of a person or program, as shown to others. */
  readonly by: string;
  /** The protocol that the command came through. */
  readonly door: string;
  /** The owner of the API key that the sender used, if any. */
  readonly owner?: string;
  /** An idempotency key. The same key with the same command returns the same receipt and has no second effect. */
  readonly key?: string;
}

/** The result of an accepted command, by its type. */
export type Receipt = {
  readonly accepted: true;
  /** The number of the last event when the command was accepted. */
  readonly seq: number;
  readonly runId?: string;
  readonly queueId?: string;
  readonly approvalId?: string;
  readonly shellId?: string;
  readonly entryId?: string;
};
