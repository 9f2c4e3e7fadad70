import { asPolypodError, type JsonObject, PolypodError, withoutUndefined } from '../../../base/index.ts';
import type { Decision, Host, Row, SessionApproval } from '../../../pod/index.ts';
import { noSession } from '../errors.ts';
import { autoApprovalFor } from '../sessions/auto-approval.ts';
import { approvalIdIn, wireApprovalId } from '../sessions/identity.ts';
import { notesIn } from '../sessions/notes.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { CALLER } from '../settings.ts';
import type { WireApproval } from '../wire.ts';
import { approvalWord } from './approval-word.ts';
import { encodeApproval } from './encode.ts';

export interface NewApproval {
  /** The id of a run or of a session: clients send either. */
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

/** The approvals of all sessions, in the format of this protocol. */
export class Approvals {
  readonly #host: Host;
  readonly #sessions: Sessions;
  readonly #now: () => number;

  constructor(host: Host, sessions: Sessions, now: () => number) {
    this.#host = host;
    this.#sessions = sessions;
    this.#now = now;
  }

  /** Pending approvals, oldest first: of one session, or of all. */
  async pending(sessionId: string | undefined): Promise<readonly WireApproval[]> {
    const found = await this.#host.approvals.pending(({ id }) => (sessionId ?? id) === id);
    return (
      found
        .filter(({ approval }) => sessionId !== undefined || approval.podId === undefined)
        // An approval of a session that another process has open is decided there.
        .filter(({ approval }) => approval.arguments !== undefined)
        .map(encodeApproval)
    );
  }

  async get(wireId: string): Promise<WireApproval> {
    const found = await this.#find(wireId);
    if (found !== undefined) return encodeApproval(found);
    // The original daemon repeats the prefix, and its clients match this text.
    throw new PolypodError(
      'not-found',
      `failed to get approval: failed to get approval: approval not found: ${wireId}`,
    );
  }

  /** A decision that was not accepted is reported in the result, not as an error. */
  async decide({ approvalId: wireId, decision, comment }: DecisionRequest): Promise<JsonObject> {
    const found = await this.#find(wireId);
    if (found === undefined) return failed(`failed to get approval: approval not found: ${wireId}`);
    if (found.settlement !== undefined) return failed(alreadyDecided(wireId, found));
    try {
      await this.#decide(found.approval.approvalId, decision, comment);
      return { success: true };
    } catch (thrown) {
      const now = await this.#find(wireId);
      if (now?.settlement !== undefined) return failed(alreadyDecided(wireId, now));
      return failed(`failed to update approval: ${asPolypodError(thrown).message}`);
    }
  }

  /** Creates an approval for a call of the client itself. A call that the session's settings allow is approved at once. */
  async create({ runId, tool, input, callId }: NewApproval): Promise<string> {
    const row = await this.#sessionOf(runId, callId);
    const { approvalId = '' } = await this.#host
      .pod(row.id)
      .handle(
        { type: 'ask', tool, arguments: JSON.stringify(input), ...withoutUndefined({ callId }) },
        CALLER,
      );
    const comment = autoApprovalFor(row, tool, this.#now());
    if (comment !== undefined) await this.#decide(approvalId, 'approve', comment);
    return wireApprovalId(approvalId);
  }

  /** Approves all pending approvals of a session. */
  async approveAll({ id }: Row, comment: string): Promise<void> {
    for (const { approvalId } of this.#host.sessions.get(id)?.approvals ?? [])
      await this.#decide(approvalId, 'approve', comment, id);
  }

  async #decide(
    approvalId: string,
    decision: Decision,
    comment: string | undefined,
    sessionId?: string,
  ): Promise<void> {
    const decided = { approvalId, decision, ...withoutUndefined({ comment }) };
    await this.#host.approvals.decide(decided, CALLER, sessionId);
  }

  #find(wireId: string): Promise<SessionApproval | undefined> {
    return this.#host.approvals.get(approvalIdIn(wireId));
  }

  /** Clients send a session id together with a call id, otherwise a run id. Both are accepted in either case. */
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
}

function alreadyDecided(wireId: string, { settlement }: SessionApproval): string {
  return `failed to update approval: approval ${wireId} already decided with status: ${approvalWord(settlement?.status)}`;
}

function failed(error: string): JsonObject {
  return { success: false, error };
}
