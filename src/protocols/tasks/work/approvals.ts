import { shape } from '../../../base/index.ts';
import { type Host, type Row, type Snapshot, DECISIONS, REMEMBER_OPTIONS } from '../../../pod/index.ts';
import { readFields, unknown } from '../http/errors.ts';
import type { KeyRecord } from '../keys/key.ts';
import { limitOf, refuseElsewhere } from '../http/permit.ts';
import type { OwnedSessions } from './owned-sessions.ts';
import { known } from './submit-request.ts';
import { callerFor } from './tasks.ts';
import { filledText } from '../http/text-fields.ts';
import type { ApprovalLine } from '../wire.ts';

/** The body of `POST /approvals/{approvalId}/decide`. */
export const DECISION = known(
  shape.fields(
    { decision: shape.choice(DECISIONS) },
    {
      comment: shape.anyText,
      updatedArguments: filledText,
      remember: shape.choice(REMEMBER_OPTIONS),
      sessionId: filledText,
    },
  ),
);

/** Questions that wait for a person, in the sessions that a key may use. */
export class Approvals {
  readonly #host: Host;
  readonly #sessions: OwnedSessions;
  /** Where questions were that are answered: who comes late is told who was first. */
  readonly #answered = new Map<string, string>();

  constructor(host: Host, sessions: OwnedSessions) {
    this.#host = host;
    this.#sessions = sessions;
  }

  async list(key: KeyRecord, sessionId?: string): Promise<readonly ApprovalLine[]> {
    const only = sessionId === undefined ? undefined : this.#sessions.get(key, sessionId).id;
    const seen = new Set<string>();
    const asked = (await this.#host.pendingApprovals()).filter(({ row, approval }) => {
      // A child's question is asked at its parent too.
      if (seen.has(approval.approvalId) || !this.#sessions.mayUse(key, row)) return false;
      if (only !== undefined && row.id !== only) return false;
      seen.add(approval.approvalId);
      return true;
    });
    const questions = await this.#questionsOf(new Set(asked.map(({ row }) => row.id)));
    return asked.map(({ row, approval }) => ({
      ...approval,
      ...questions.get(approval.approvalId),
      sessionId: this.#sessions.nameFor(key, row),
    }));
  }

  /** What is decided, whole, by the ids of the approvals: lists of sessions have no more than a title. */
  async #questionsOf(
    podIds: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, Pick<ApprovalLine, 'arguments' | 'reason'>>> {
    const questions = new Map<string, Pick<ApprovalLine, 'arguments' | 'reason'>>();
    for (const id of podIds) {
      // Of a session that another process has open no more is known.
      const snapshot = await this.#snapshotOf(id).catch(() => undefined);
      for (const { approvalId, arguments: json, reason } of snapshot?.approvals ?? [])
        questions.set(approvalId, { arguments: json, reason });
    }
    return questions;
  }

  async #snapshotOf(podId: string): Promise<Snapshot> {
    return this.#host.pod(podId).snapshot();
  }

  async decide(key: KeyRecord, approvalId: string, body: unknown): Promise<'approve' | 'deny'> {
    const { sessionId, ...decision } = readFields('the decision', DECISION, body);
    const row =
      sessionId === undefined ? await this.#rowOf(key, approvalId) : this.#sessions.get(key, sessionId);
    await refuseElsewhere(key, row);
    const limit = limitOf(key);
    await this.#host
      .pod(row.id)
      .handle({ type: 'decide', approvalId, ...decision, ...(limit && { limit }) }, callerFor(key));
    this.#note(approvalId, row.id);
    return decision.decision;
  }

  async #rowOf(key: KeyRecord, approvalId: string): Promise<Row> {
    const pending = await this.#host.pendingApprovals();
    const row =
      pending.find((asked) => asked.approval.approvalId === approvalId)?.row ??
      this.#host.row(this.#answered.get(approvalId) ?? '');
    if (row === undefined || !this.#sessions.mayUse(key, row)) throw unknown(`approval ${approvalId}`);
    return row;
  }

  #note(approvalId: string, podId: string): void {
    this.#answered.set(approvalId, podId);
    const [oldest] = this.#answered.keys();
    if (this.#answered.size > MOST_NOTED && oldest !== undefined) this.#answered.delete(oldest);
  }
}

const MOST_NOTED = 1_000;
