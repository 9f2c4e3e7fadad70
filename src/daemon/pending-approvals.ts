import type { Host, PendingApproval, Row } from '../pod/index.ts';

/** A question that waits for a person, and the session in which it is asked. */
export interface WaitingApproval {
  readonly id: string;
  readonly session: string;
  /** What the session is called. */
  readonly name?: string;
  readonly cwd: string;
  readonly tool: string;
  readonly title: string;
  readonly requestedAt: string;
  /** When it is answered by itself. */
  readonly deadline?: string;
}

/** All questions that wait, the oldest first. One that a session asks for a child of its own is listed at the child. */
export async function pendingApprovals(host: Host): Promise<readonly WaitingApproval[]> {
  const pending = await host.pendingApprovals();
  const waiting = new Map<string, WaitingApproval>();
  const children = pending.filter(({ row }) => row.spawned === true);
  for (const { row, approval } of [...children, ...pending]) {
    if (!waiting.has(approval.approvalId)) waiting.set(approval.approvalId, waitingIn(row, approval));
  }
  return [...waiting.values()].toSorted((one, other) => (one.requestedAt < other.requestedAt ? -1 : 1));
}

/** A question with the session in whose row it stands. */
export function waitingIn(
  { id: session, name, cwd }: Pick<Row, 'id' | 'name' | 'cwd'>,
  { approvalId: id, ...question }: PendingApproval,
): WaitingApproval {
  return { id, session, ...(name === undefined ? {} : { name }), cwd, ...question };
}
