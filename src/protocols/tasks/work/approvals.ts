import { withoutUndefined } from '../../../base/index.ts';
import { type ApprovalRow, childLabel, type Host, type Row } from '../../../pod/index.ts';
import { unknown } from '../errors.ts';
import type { KeyRecord } from '../keys/key.ts';
import { limitOf, refuseOtherDirectory } from '../permit.ts';
import type { OwnedSessions } from './owned-sessions.ts';
import { callerFor } from './tasks.ts';
import type { ApprovalLine, Decision } from '../wire.ts';

/** The approvals in the sessions that a key may use. */
export class Approvals {
  readonly #host: Host;
  readonly #sessions: OwnedSessions;

  constructor(host: Host, sessions: OwnedSessions) {
    this.#host = host;
    this.#sessions = sessions;
  }

  /** Pending approvals, oldest first. */
  async list(key: KeyRecord, sessionId?: string): Promise<readonly ApprovalLine[]> {
    const only = sessionId === undefined ? undefined : this.#sessions.get(key, sessionId).id;
    const pending = await this.#host.approvals.pending(
      (row) => (only ?? row.id) === row.id && this.#sessions.mayUse(key, row),
    );
    // An approval of a child pod is listed for its parent too.
    const lines = new Map<string, ApprovalLine>();
    for (const { row, approval } of pending)
      if (!lines.has(approval.approvalId))
        lines.set(approval.approvalId, encodeApproval(approval, row, this.#sessions.nameFor(key, row)));
    return [...lines.values()];
  }

  async decide(key: KeyRecord, approvalId: string, given: Decision): Promise<Decision['decision']> {
    const { sessionId, decision, comment, updatedArguments, remember } = given;
    const row =
      sessionId === undefined ? await this.#rowOf(key, approvalId) : this.#sessions.get(key, sessionId);
    await refuseOtherDirectory(key, row);
    const limit = limitOf(key);
    await this.#host.approvals.decide(
      { approvalId, decision, ...withoutUndefined({ comment, updatedArguments, remember, limit }) },
      callerFor(key),
      row.id,
    );
    return decision;
  }

  async #rowOf(key: KeyRecord, approvalId: string): Promise<Row> {
    const row = (await this.#host.approvals.find(approvalId))?.row;
    if (row === undefined || !this.#sessions.mayUse(key, row)) throw unknown(`approval ${approvalId}`);
    return row;
  }
}

/** Encodes an approval. */
function encodeApproval(approval: ApprovalRow, row: Row, sessionId: string): ApprovalLine {
  const { approvalId, tool, title, requestedAt, deadline, arguments: json, reason } = approval;
  const subagent = approval.podName ?? (row.spawned === true ? childLabel(row) : undefined);
  return {
    approvalId,
    tool,
    title,
    requestedAt,
    ...withoutUndefined({ deadline, arguments: json, reason, subagent }),
    sessionId,
  };
}
