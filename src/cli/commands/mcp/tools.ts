import { PolypodError, shape, uuidv7, withoutUndefined } from '../../../base/index.ts';
import { PERMISSION_MODES, type PermissionMode } from '../../../pod/index.ts';
import { searched } from '../../../pod/sessions.ts';
import { textContent } from '../../../llm/index.ts';
import { conversation, sessionRow, waitingApproval } from './encode.ts';
import {
  allowedRows,
  allowedSession,
  COUNT,
  defineTool,
  described,
  type McpTool,
  OBJECTS,
  resultSchema,
  SESSION,
  TEXT,
  type ToolParts,
} from './tool.ts';
import { waitForPod } from './wait.ts';

const DEFAULT_WAIT_SECONDS = 45;
const MAX_WAIT_SECONDS = 600;

function atMost(most: number, description: string): shape.Shape<number> {
  const limited = shape.refined(shape.integerFrom(1), (value) =>
    value > most ? `must be at most ${most}` : undefined,
  );
  return described({ ...limited, schema: { ...limited.schema, maximum: most } }, description);
}

const LIMIT = atMost(100, 'The most rows of the result (default: 20).');

const listSessions = defineTool({
  name: 'list_sessions',
  title: 'List sessions',
  description:
    'Lists the agent sessions of the allowed project directories, the last changed first: id, name, directory, state (idle, running, waiting for approval, paused, interrupted), last text and number of pending approvals.',
  kind: 'read',
  input: shape.fields(
    {},
    {
      search: described(
        shape.text(),
        'Words that the name, title, first prompt, last text or directory must contain.',
      ),
      state: described(
        shape.choice(['idle', 'running', 'waiting', 'paused', 'interrupted']),
        'Only sessions in this state.',
      ),
      limit: LIMIT,
      all: described(shape.boolean, 'Also archived sessions and those of sub-agents.'),
    },
  ),
  outputSchema: resultSchema({ sessions: OBJECTS, total: COUNT }, ['sessions', 'total']),
  run: async ({ search, state, limit = 20, all = false }, { pods, directories, actual }) => {
    const rows = await allowedRows(await pods.rows(), directories);
    const found = search === undefined ? rows : searched(rows, search);
    const listed = found.filter(({ archived, spawned = false }) => all || !(archived || spawned));
    const matching = (await actual(listed)).filter((row) => state === undefined || row.state === state);
    return { sessions: matching.slice(0, limit).map(sessionRow), total: matching.length };
  },
});

const readSession = defineTool({
  name: 'read_session',
  title: 'Read a conversation',
  description:
    'Reads the conversation of a session: prompts, answers, tool calls and their results, long ones truncated. Without after, it returns the last items. To page on, or to read what is new, pass the field next of the last result as after.',
  kind: 'read',
  input: shape.fields(
    { session: SESSION },
    {
      after: described(
        shape.integerFrom(0),
        'The number of items to skip: next of the last result, or 0 for the beginning.',
      ),
      limit: atMost(200, 'The most items of the result (default: 30).'),
    },
  ),
  outputSchema: resultSchema(
    { session: TEXT, items: OBJECTS, first: COUNT, next: COUNT, total: COUNT, has_more: { type: 'boolean' } },
    ['session', 'items', 'next', 'total', 'has_more'],
  ),
  run: async ({ session, after, limit = 30 }, parts) => {
    const row = await allowedSession(session, parts);
    const page = await parts.pods.use(row, (pod) =>
      pod.conversation({ limit, ...withoutUndefined({ after }) }),
    );
    return { session: row.id, ...conversation(page) };
  },
});

const POD_STATE = resultSchema(
  {
    session: TEXT,
    state: { type: 'string', enum: ['idle', 'running', 'waiting', 'paused'] },
    reason: { type: 'string', enum: ['idle', 'approval', 'paused', 'timeout'] },
    outcome: TEXT,
    message: TEXT,
    answer: TEXT,
    approvals: OBJECTS,
    next: TEXT,
  },
  ['session', 'state', 'reason', 'approvals', 'next'],
);

/** The tool that clients with the tasks extension call as a task. */
export const WAIT = 'wait';

const wait = defineTool({
  name: WAIT,
  title: 'Wait for a session',
  description:
    'Waits until the run of a session has ended, a call of it needs approval, or the time is up. Returns the last answer and the pending approvals. Cancelling this call does not stop the run.',
  kind: 'read',
  input: shape.fields(
    { session: SESSION },
    {
      timeout_seconds: atMost(
        MAX_WAIT_SECONDS,
        `How long to wait (default: ${DEFAULT_WAIT_SECONDS}). Many clients end calls after 60 seconds.`,
      ),
    },
  ),
  outputSchema: POD_STATE,
  run: async ({ session, timeout_seconds: seconds = DEFAULT_WAIT_SECONDS }, parts, { signal, progress }) => {
    const row = await allowedSession(session, parts);
    return parts.pods.use(row, (pod) => waitForPod(pod, { timeoutMs: seconds * 1_000, signal, progress }));
  },
});

const prompt = defineTool({
  name: 'prompt',
  title: 'Prompt an agent',
  description:
    'Sends a prompt to an agent: to an existing session, or without session to a new one in a project directory. Returns at once; call wait for the answer. The agent works with the permissions that the user has configured, and asks the user to approve other calls.',
  kind: 'act',
  isDestructive: true,
  input: shape.fields(
    { text: described(shape.text(), 'The prompt.') },
    {
      session: SESSION,
      cwd: described(shape.text(), 'For a new session: its project directory (default: that of the server).'),
      name: described(shape.text(), 'For a new session: its name.'),
      model: described(
        shape.text(),
        'For a new session: its model, as PROVIDER/MODEL (default: as configured).',
      ),
      mode: described(
        shape.choice(PERMISSION_MODES),
        'For a new session: its permission mode; not wider than the configured one.',
      ),
      queue: described(shape.boolean, 'If the session is running: queue the prompt, instead of an error.'),
    },
  ),
  outputSchema: resultSchema({ session: TEXT, run: TEXT, queued: { type: 'boolean' }, next: TEXT }, [
    'session',
    'queued',
    'next',
  ]),
  run: async ({ text, session, queue = false, ...fresh }, parts) => {
    const most = await parts.mode();
    const id = session === undefined ? await newSession(fresh, most, parts) : session;
    if (session !== undefined && Object.keys(fresh).length > 0)
      throw new PolypodError(
        'bad-request',
        `${Object.keys(fresh).join(', ')} are for a new session: leave out session, or these`,
      );
    const row = await allowedSession(id, parts);
    const receipt = await parts.pods.use(row, (pod) =>
      pod.handle(
        {
          type: 'prompt',
          content: textContent(text),
          // The limit also applies to a session that a person gave a wider mode.
          overrides: { limit: { mode: most } },
          whenBusy: queue ? 'queue' : 'refuse',
        },
        { ...parts.caller, key: uuidv7() },
      ),
    );
    const { runId, queueId } = receipt;
    return {
      session: row.id,
      ...withoutUndefined({ run: runId }),
      queued: queueId !== undefined,
      next: 'Call wait with this session.',
    };
  },
});

interface FreshSession {
  readonly cwd?: string;
  readonly name?: string;
  readonly model?: string;
  readonly mode?: PermissionMode;
}

async function newSession(
  { cwd, ...rest }: FreshSession,
  most: PermissionMode,
  parts: ToolParts,
): Promise<string> {
  const { mode } = rest;
  if (mode !== undefined && PERMISSION_MODES.indexOf(mode) > PERMISSION_MODES.indexOf(most))
    throw new PolypodError(
      'denied',
      `the mode ${mode} is wider than the configured one, ${most}: leave it out, or the user changes permissions.mode in config.yaml`,
    );
  return parts.pods.create({ cwd: await parts.directories.resolve(cwd), ...withoutUndefined(rest) });
}

const cancel = defineTool({
  name: 'cancel',
  title: 'Cancel a run',
  description:
    'Cancels the run of a session, and the calls that wait for approval. The conversation is kept.',
  kind: 'act',
  isDestructive: true,
  input: shape.fields({ session: SESSION }, {}),
  outputSchema: resultSchema({ session: TEXT, cancelled: { type: 'boolean' } }, ['session', 'cancelled']),
  run: async ({ session }, parts) => {
    const row = await allowedSession(session, parts);
    await parts.pods.use(row, (pod) => pod.handle({ type: 'cancel' }, parts.caller));
    return { session: row.id, cancelled: true };
  },
});

const listApprovals = defineTool({
  name: 'list_approvals',
  title: 'List pending approvals',
  description:
    'Lists the calls of agents that wait for approval, the oldest first, with their complete arguments. A person decides them, for example with polypod approvals.',
  kind: 'read',
  input: shape.fields({}, { session: SESSION, limit: LIMIT }),
  outputSchema: resultSchema({ approvals: OBJECTS, total: COUNT }, ['approvals', 'total']),
  run: async ({ session, limit = 20 }, parts) => {
    const id = session === undefined ? undefined : (await allowedSession(session, parts)).id;
    const waiting = (await allowedApprovals(parts)).filter(
      (approval) => id === undefined || approval.session === id,
    );
    return { approvals: waiting.slice(0, limit).map(waitingApproval), total: waiting.length };
  },
});

async function allowedApprovals({ pods, directories }: ToolParts) {
  const waiting = await pods.approvals();
  const allowed = await Promise.all(waiting.map(({ cwd }) => directories.allows(cwd)));
  return waiting.filter((_, index) => allowed[index]);
}

const APPROVAL = described(shape.text(), 'The id of the approval, from list_approvals or wait.');
const DECIDED = resultSchema({ approval: TEXT, session: TEXT, decision: TEXT }, [
  'approval',
  'session',
  'decision',
]);

async function decide(
  word: string,
  decision: { readonly decision: 'approve' | 'deny'; readonly comment?: string },
  parts: ToolParts,
) {
  const { resolveApproval } = await import('../approvals/resolve-approval.ts');
  const { id, session } = resolveApproval(await allowedApprovals(parts), word);
  const row = await allowedSession(session, parts);
  await parts.pods.use(row, (pod) =>
    pod.handle({ type: 'decide', approvalId: id, ...decision }, parts.caller),
  );
  return { approval: id, session, decision: decision.decision };
}

const approveCall = defineTool({
  name: 'approve_call',
  title: 'Approve a call',
  description:
    'Lets one call of an agent run that needs approval. Check its complete arguments with list_approvals first, and ask the user if in doubt.',
  kind: 'approve',
  isDestructive: true,
  input: shape.fields(
    { approval: APPROVAL },
    { comment: described(shape.text(), 'The reason, for the record.') },
  ),
  outputSchema: DECIDED,
  run: async ({ approval, comment }, parts) =>
    decide(approval, { decision: 'approve', ...withoutUndefined({ comment }) }, parts),
});

const denyCall = defineTool({
  name: 'deny_call',
  title: 'Deny a call',
  description:
    'Denies one call of an agent that needs approval. The agent receives the reason and continues.',
  kind: 'act',
  input: shape.fields(
    { approval: APPROVAL, comment: described(shape.text(), 'The reason, for the agent.') },
    {},
  ),
  outputSchema: DECIDED,
  run: async ({ approval, comment }, parts) => decide(approval, { decision: 'deny', comment }, parts),
});

const ALL: readonly McpTool[] = [
  listSessions,
  readSession,
  prompt,
  wait,
  cancel,
  listApprovals,
  approveCall,
  denyCall,
];

/** The tools that the options of the server allow. */
export function offeredTools(options: {
  readonly readOnly: boolean;
  readonly approvals: boolean;
}): readonly McpTool[] {
  return ALL.filter(({ kind }) =>
    kind === 'read' ? true : kind === 'act' ? !options.readOnly : options.approvals && !options.readOnly,
  );
}
