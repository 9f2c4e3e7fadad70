import { asPolypodError, type JsonObject, PolypodError, tryParse } from '../../../base/index.ts';
import {
  type Approval,
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  type Entry,
  type Host,
  type Row,
  type Settlement,
  type Decision,
} from '../../../pod/index.ts';
import { approvalWord } from './approval-word.ts';
import { noSession } from '../errors.ts';
import { notesIn } from '../sessions/notes.ts';
import { approvalIdIn, timeOf, wireApprovalId } from '../sessions/identity.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { CALLER } from '../settings.ts';
import { autoApprovalFor } from '../sessions/auto-approval.ts';
import type { WireApproval } from '../wire.ts';

/** A question, its answer if there is one, and the session it is asked in. */
interface Found {
  readonly row: Row;
  readonly approval: Question;
  readonly settlement: Pick<Settlement, 'status' | 'at' | 'comment'> | undefined;
}

type Question = Pick<
  Approval,
  'approvalId' | 'requestedAt' | 'runId' | 'callId' | 'podId' | 'tool' | 'arguments'
>;

export interface NewApproval {
  /** A run or a session: clients put either here. */
  readonly runId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly callId: string | undefined;
}

export interface DecisionRequest {
  readonly approvalId: string;
  readonly decision: Decision;
  readonly comment: string | undefined;
}

/** The questions of all sessions as this wire has them. */
export class Approvals {
  readonly #host: Host;
  readonly #sessions: Sessions;
  readonly #now: () => number;

  constructor(host: Host, sessions: Sessions, now: () => number) {
    this.#host = host;
    this.#sessions = sessions;
    this.#now = now;
  }

  /** Those that wait, oldest first: of one session, or of all. */
  async pending(sessionId: string | undefined): Promise<readonly WireApproval[]> {
    const rows = await this.#sessions.rows();
    const asking = rows.filter(({ id, approvals }) => approvals.length > 0 && (sessionId ?? id) === id);
    // A session that another process holds is asked about there.
    const found = await Promise.all(asking.map((row) => this.#pendingOf(row).catch(() => [])));
    return found
      .flat()
      .filter(({ approval }) => sessionId !== undefined || approval.podId === undefined)
      .map(wireApproval)
      .toSorted((one, other) => (one.created_at < other.created_at ? -1 : 1));
  }

  async get(wireId: string): Promise<WireApproval> {
    const found = await this.#find(wireId);
    if (found !== undefined) return wireApproval(found);
    // Twice: so do clients know it.
    throw new PolypodError(
      'not-found',
      `failed to get approval: failed to get approval: approval not found: ${wireId}`,
    );
  }

  /** What becomes of a decision is a result, not an error. */
  async decide({ approvalId: wireId, decision, comment }: DecisionRequest): Promise<JsonObject> {
    const found = await this.#find(wireId);
    if (found === undefined) return failed(`failed to get approval: approval not found: ${wireId}`);
    if (found.settlement !== undefined) return failed(alreadyDecided(wireId, found));
    try {
      await this.#settle(found, decision, comment);
      return { success: true };
    } catch (thrown) {
      const now = await this.#find(wireId);
      if (now?.settlement !== undefined) return failed(alreadyDecided(wireId, now));
      return failed(`failed to update approval: ${asPolypodError(thrown).message}`);
    }
  }

  /** A question of a client's own. What the session allows beforehand is answered at once. */
  async create({ runId, tool, input, callId }: NewApproval): Promise<string> {
    const row = await this.#sessionOf(runId, callId);
    const { approvalId = '' } = await this.#host
      .pod(row.id)
      .handle(
        { type: 'ask', tool, arguments: JSON.stringify(input), ...(callId === undefined ? {} : { callId }) },
        CALLER,
      );
    const comment = autoApprovalFor(row, tool, this.#now());
    if (comment !== undefined)
      await this.#host
        .pod(row.id)
        .handle({ type: 'decide', approvalId, decision: 'approve', comment }, CALLER);
    return wireApprovalId(approvalId);
  }

  /** Answers all that wait in a session with yes. */
  async approveAll(row: Row, comment: string): Promise<void> {
    for (const found of await this.#pendingOf(row)) await this.#settle(found, 'approve', comment);
  }

  async #settle({ row, approval }: Found, decision: Decision, comment: string | undefined): Promise<void> {
    const { approvalId } = approval;
    await this.#host
      .pod(row.id)
      .handle(
        { type: 'decide', approvalId, decision, ...(comment === undefined ? {} : { comment }) },
        CALLER,
      );
  }

  /** With the id of a call the value is a session's, else a run's; either is taken for both. */
  async #sessionOf(id: string, callId: string | undefined): Promise<Row> {
    const row = await this.#sessions.find(
      ({ id: sessionId, lastRun, annotations }) =>
        sessionId === id || lastRun?.runId === id || notesIn(annotations)?.run === id,
      id,
    );
    if (row !== undefined) return row;
    if (callId !== undefined)
      throw noSession('failed to create approval with tool use ID: failed to get session', id);
    throw new PolypodError('not-found', `failed to create approval: session not found for run_id: ${id}`);
  }

  async #pendingOf(row: Row): Promise<readonly Found[]> {
    const { approvals } = await this.#host.pod(row.id).snapshot();
    return approvals.map((approval) => ({ row, approval, settlement: undefined }));
  }

  async #find(wireId: string): Promise<Found | undefined> {
    const approvalId = approvalIdIn(wireId);
    const rows = await this.#sessions.rows();
    const asking = rows.find(({ approvals }) => approvals.some((one) => one.approvalId === approvalId));
    const pending = asking === undefined ? [] : await this.#pendingOf(asking);
    return (
      pending.find(({ approval }) => approval.approvalId === approvalId) ??
      this.#findSettled(approvalId, rows)
    );
  }

  /** Its id says when it was asked, so only sessions that were in use then can have it. */
  async #findSettled(approvalId: string, rows: readonly Row[]): Promise<Found | undefined> {
    const at = timeOf(approvalId);
    if (at === undefined) return undefined;
    const candidates = rows.filter(
      ({ createdAt, updatedAt }) => Date.parse(createdAt) <= at && at <= Date.parse(updatedAt) + SLACK_MS,
    );
    for (const row of candidates) {
      const tree = await this.#host.tree(row.id);
      const found = questionIn(tree.entries(), approvalId, row);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Ids and rows are made by the same clock, but not in the same millisecond. */
const SLACK_MS = 1_000;

function questionIn(entries: Iterable<Entry>, approvalId: string, row: Row): Found | undefined {
  let approval: Question | undefined;
  for (const entry of entries) {
    const request = APPROVAL_REQUEST.in(entry);
    if (request?.approvalId === approvalId) approval = request;
    const response = APPROVAL_RESPONSE.in(entry);
    if (response?.approvalId === approvalId && approval !== undefined)
      return { row, approval, settlement: response };
  }
  return approval && { row, approval, settlement: undefined };
}

function wireApproval({ row, approval, settlement }: Found): WireApproval {
  const { approvalId, requestedAt, runId, callId, tool, arguments: args } = approval;
  const input = tryParse(args);
  return {
    id: wireApprovalId(approvalId),
    run_id: runId ?? row.lastRun?.runId ?? '',
    session_id: row.id,
    ...(callId === undefined ? {} : { tool_use_id: callId }),
    status: approvalWord(settlement?.status),
    created_at: requestedAt,
    ...(settlement && { responded_at: settlement.at }),
    tool_name: tool,
    tool_input: input === undefined ? args : input,
    ...(settlement?.comment === undefined ? {} : { comment: settlement.comment }),
  };
}

function alreadyDecided(wireId: string, { settlement }: Found): string {
  return `failed to update approval: approval ${wireId} already decided with status: ${approvalWord(settlement?.status)}`;
}

function failed(error: string): JsonObject {
  return { success: false, error };
}
