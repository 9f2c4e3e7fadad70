import { withoutUndefined } from '../../base/index.ts';
import { type ApprovalRow, childLabel, type Host, type Row } from '../../pod/index.ts';

/** A pending approval as the control protocol sends it, with its session. */
export interface WaitingApproval {
  readonly id: string;
  readonly session: string;
  /** The name of the session. */
  readonly name?: string;
  /** What the sub-agent that makes the call was asked to do. */
  readonly subagent?: string;
  readonly cwd: string;
  readonly tool: string;
  /** The call in one line, possibly truncated: the arguments are complete. */
  readonly title: string;
  readonly requestedAt: string;
  /** When the fallback decision applies. */
  readonly deadline?: string;
  /** All arguments as JSON. Absent while another process has the session open: only that process can decide. */
  readonly arguments?: string;
  /** Why the call needs approval. */
  readonly reason?: string;
}

/** All pending approvals, the oldest first. An approval of a child pod is listed for the child only. */
export async function pendingApprovals(host: Host): Promise<readonly WaitingApproval[]> {
  const pending = await host.approvals.pending();
  const waiting = new Map<string, WaitingApproval>();
  const children = pending.filter(({ row }) => row.spawned === true);
  for (const { row, approval } of [...children, ...pending])
    if (!waiting.has(approval.approvalId)) waiting.set(approval.approvalId, encodeApproval(row, approval));
  return [...waiting.values()].toSorted((one, other) => (one.requestedAt < other.requestedAt ? -1 : 1));
}

/** Encodes the approval for the control protocol. */
export function encodeApproval(
  row: Pick<Row, 'id' | 'name' | 'cwd' | 'spawned' | 'annotations'>,
  approval: ApprovalRow,
): WaitingApproval {
  const { id: session, name, cwd } = row;
  const subagent = approval.podName ?? (row.spawned === true ? childLabel(row) : undefined);
  const { approvalId: id, tool, title, requestedAt, deadline, arguments: json, reason } = approval;
  return {
    id,
    session,
    ...withoutUndefined({ name, subagent }),
    cwd,
    tool,
    title,
    requestedAt,
    ...withoutUndefined({ deadline, arguments: json, reason }),
  };
}
