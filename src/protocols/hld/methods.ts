import { PolypodError, withoutUndefined } from '../../base/index.ts';
import type { Host, PodCommand, Row } from '../../pod/index.ts';
import type { RpcCall } from '../../wire/index.ts';
import type { Approvals, DecisionRequest } from './approvals/approvals.ts';
import { ownConversation, wholeConversation } from './conversation/conversation.ts';
import { wrongField } from './errors.ts';
import { fileSnapshots } from './sessions/file-snapshots.ts';
import { claudeSessionId } from './sessions/identity.ts';
import type { Launcher } from './sessions/launch.ts';
import { skipFor } from './sessions/launch-request.ts';
import { Params } from './params.ts';
import { recentPaths } from './sessions/recent-paths.ts';
import { skipping } from './sessions/session.ts';
import type { Sessions } from './sessions/sessions.ts';
import { CALLER } from './settings.ts';
import { isUnused, type Phase } from './sessions/status.ts';
import { titleSettings, titleIn } from './sessions/title.ts';

/** What the methods use. */
export interface HldContext {
  readonly host: Host;
  readonly sessions: Sessions;
  readonly launcher: Launcher;
  readonly approvals: Approvals;
  readonly version: string;
  readonly now: () => number;
}

type Method = (params: Params, context: HldContext) => Promise<unknown>;

/** Handles one call. Its result or error is for the caller alone. */
export async function callMethod({ method, params }: RpcCall, context: HldContext): Promise<unknown> {
  const own = METHODS.get(method);
  if (own === undefined) throw new PolypodError('unknown-method', `Method not found: ${method}`);
  return own(new Params(params), context);
}

/** All methods except `Subscribe`, which needs the connection for itself. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['health', async (_, { version }) => ({ status: 'ok', version })],

  ['launchSession', (params, { launcher }) => launcher.launch(params)],
  ['continueSession', (params, { launcher }) => launcher.continueSession(params)],
  ['listSessions', listSessions],
  ['getSessionLeaves', getSessionLeaves],
  ['getSessionState', getSessionState],
  ['interruptSession', interruptSession],
  ['updateSessionSettings', updateSessionSettings],
  ['updateSessionTitle', updateSessionTitle],
  ['archiveSession', archiveSession],
  ['bulkArchiveSessions', bulkArchiveSessions],
  [
    'getRecentPaths',
    async (params, { sessions }) => recentPaths(await sessions.rows(), params.count('limit')),
  ],

  ['getConversation', getConversation],
  ['getSessionSnapshots', getSessionSnapshots],

  [
    'fetchApprovals',
    async (params, { approvals }) => ({ approvals: await approvals.pending(params.text('session_id')) }),
  ],
  [
    'getApproval',
    async (params, { approvals }) => ({ approval: await approvals.get(params.required('approval_id')) }),
  ],
  ['createApproval', createApproval],
  ['sendDecision', async (params, { approvals }) => approvals.decide(decisionIn(params))],
]);

/** All sessions that have received a prompt; with `include_all`, the others too. */
async function listSessions(params: Params, { sessions }: HldContext) {
  const isWanted = wantedPhase(params);
  const rows = await sessions.rows();
  return { sessions: await sessions.listed(rows.filter((row) => isWanted(sessions.phase(row)))) };
}

function wantedPhase(params: Params): (phase: Phase) => boolean {
  const includesAll = params.flag('include_all') ?? false;
  return (phase) => includesAll || !isUnused(phase);
}

/** Sessions without a continuation. A session that was spawned for another one is not its continuation. */
async function getSessionLeaves(params: Params, { sessions }: HldContext) {
  const filter = params.text('filter');
  const isWanted = wantedPhase(params);
  const rows = await sessions.rows();
  const parents = new Set(rows.flatMap(({ parentId, spawned = false }) => (spawned ? [] : [parentId])));
  const wanted = (row: Row): boolean => {
    const phase = sessions.phase(row);
    if (filter === 'draft') return phase === 'draft';
    if (filter === 'normal') return !row.archived && !isUnused(phase);
    return (filter !== 'archived' || row.archived) && isWanted(phase);
  };
  return { sessions: await sessions.listed(rows.filter((row) => !parents.has(row.id) && wanted(row))) };
}

async function getSessionState(params: Params, { sessions }: HldContext) {
  const row = await sessions.row(params.required('session_id'), 'failed to get session');
  return { session: await sessions.state(row) };
}

async function interruptSession(params: Params, { host, sessions }: HldContext) {
  const id = params.required('session_id');
  const row = await sessions.row(id, 'failed to get session');
  const phase = sessions.phase(row);
  // Also a paused session: if another door paused it, no decision here could continue it.
  if (phase !== 'running' && phase !== 'paused')
    throw new PolypodError('conflict', `cannot interrupt session with status ${phase} (must be running)`);
  try {
    await host.pod(id).handle({ type: 'cancel' }, CALLER);
  } catch (thrown) {
    throw new PolypodError('conflict', 'failed to interrupt session: session not found or not active', {
      cause: thrown,
    });
  }
  return { success: true, session_id: id, status: 'interrupting' };
}

async function updateSessionSettings(params: Params, context: HldContext) {
  const { host, sessions, approvals, now } = context;
  const id = params.required('session_id');
  const acceptEdits = params.flag('auto_accept_edits');
  const skips = params.flag('dangerously_skip_permissions');
  const timeoutMs = params.count('dangerously_skip_permissions_timeout_ms');
  const row = await sessions.row(id, 'failed to get session');
  // Enabling it again without a timeout keeps the existing expiry.
  const hasEnd = skipping(row.skipPermissionsUntil, now()).expiresAt !== undefined;
  const command: PodCommand = {
    type: 'configure',
    set: {
      ...withoutUndefined({ acceptEdits }),
      ...(skips === true && (timeoutMs !== undefined || !hasEnd) && skipFor(timeoutMs, now())),
    },
    ...(skips === false && { clear: ['skipPermissionsUntil'] }),
  };
  await host.pod(id).handle(command, CALLER);
  if (skips === true) await approvals.approveAll(row, 'Auto-approved due to bypass permissions');
  return { success: true };
}

async function updateSessionTitle(params: Params, { host, sessions }: HldContext) {
  const id = params.required('session_id');
  const title = titleIn(params) ?? '';
  const { annotations } = await sessions.row(id, 'failed to update session');
  const set = titleSettings(title, annotations);
  const command: PodCommand = {
    type: 'configure',
    set,
    ...(set.name === undefined && { clear: ['name'] }),
  };
  await host.pod(id).handle(command, CALLER);
  return { success: true };
}

async function archiveSession(params: Params, context: HldContext) {
  const id = params.required('session_id');
  await archive(id, params.flag('archived') ?? false, context);
  return { success: true };
}

async function bulkArchiveSessions(params: Params, context: HldContext) {
  const ids = params.texts('session_ids');
  if (ids === undefined) throw wrongField('session_ids', 'session_ids is required and cannot be empty');
  const archived = params.flag('archived') ?? false;
  const failed: string[] = [];
  for (const id of ids) await archive(id, archived, context).catch(() => failed.push(id));
  return { success: failed.length === 0, ...(failed.length > 0 && { failed_sessions: failed }) };
}

async function archive(id: string, archived: boolean, { host, sessions }: HldContext): Promise<void> {
  await sessions.row(id, 'failed to archive session');
  await host.pod(id).handle({ type: 'configure', set: { archived } }, CALLER);
}

/** By session id: the conversation including the sessions it continues. By Claude session id: that session alone. */
async function getConversation(params: Params, { host, sessions }: HldContext) {
  const id = params.text('session_id');
  const claudeId = params.text('claude_session_id');
  if (claudeId !== undefined) {
    const row = await sessions.find((candidate) => claudeSessionId(candidate.id) === claudeId);
    return { events: row === undefined ? [] : ownConversation(await host.history.conversation(row.id)) };
  }
  if (id === undefined) throw wrongField('session_id', 'either session_id or claude_session_id is required');
  await sessions.row(id, 'failed to get conversation');
  return { events: wholeConversation(await host.history.conversation(id)) };
}

async function getSessionSnapshots(params: Params, { host, sessions }: HldContext) {
  const id = params.required('session_id');
  await sessions.row(id, 'failed to get session');
  return { snapshots: fileSnapshots(ownConversation(await host.history.conversation(id))) };
}

async function createApproval(params: Params, { approvals }: HldContext) {
  const runId = params.required('run_id');
  const tool = params.required('tool_name');
  if (!params.has('tool_input')) throw wrongField('tool_input', 'tool_input is required');
  const approvalId = await approvals.create({
    runId,
    tool,
    input: params.raw('tool_input'),
    callId: params.text('tool_use_id'),
  });
  return { approval_id: approvalId };
}

function decisionIn(params: Params): DecisionRequest {
  const approvalId = params.required('approval_id');
  const decision = params.required('decision');
  const comment = params.text('comment');
  if (decision !== 'approve' && decision !== 'deny')
    throw wrongField('decision', `invalid decision: ${decision} (must be 'approve' or 'deny')`);
  // The model reads the comment: without it, it would not know what to do instead.
  if (decision === 'deny' && (comment ?? '').trim() === '')
    throw wrongField('comment', 'comment is required for denial');
  return { approvalId, decision, comment };
}
