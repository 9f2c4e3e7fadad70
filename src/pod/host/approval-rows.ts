import { withoutUndefined } from '../../base/index.ts';
import type { ApprovalRow, Row, SettledApprovalRow } from '../catalogue/index.ts';
import type { Approval } from '../event.ts';
import type { ApprovalIndex } from '../view/view.ts';

/**
 * Returns the approvals for a session's row: all pending ones and the last settled ones. `before` are the settled approvals of
 * the previous row, because a pod that was opened at a checkpoint does not load earlier ones.
 */
export function approvalRows(
  approvals: ApprovalIndex,
  before: readonly SettledApprovalRow[] = [],
): Pick<Row, 'approvals' | 'settled'> {
  const earlier = before.filter(({ approvalId }) => approvals.get(approvalId) === undefined);
  const later = approvals.all().flatMap(({ approval, settlement }) =>
    // An approval of a child pod is in the child's row.
    settlement === undefined || approval.podId !== undefined ? [] : [{ approval, settlement }],
  );
  const last = later.slice(-MOST_SETTLED).map(({ approval, settlement }) => ({
    ...approvalRow(approval),
    settlement,
  }));
  const settled = [...earlier, ...last.filter(isShort)].slice(-MOST_SETTLED);
  return { approvals: approvals.pending().map(approvalRow), ...(settled.length > 0 && { settled }) };
}

const MOST_SETTLED = 5;

/** In characters. Rows are rewritten with every change of the session. */
const LONGEST_SETTLED = 2_000;
const LONGEST_ARGUMENTS = 32_000;

function isShort(row: SettledApprovalRow): boolean {
  return JSON.stringify(row).length <= LONGEST_SETTLED;
}

function approvalRow(approval: Approval): ApprovalRow {
  const { approvalId, tool, title, requestedAt, deadline, runId, callId, podId, podName, reason } = approval;
  const isLong = approval.arguments.length > LONGEST_ARGUMENTS;
  return {
    approvalId,
    tool,
    title,
    requestedAt,
    ...withoutUndefined({ deadline, runId, callId, podId, podName }),
    ...(isLong ? {} : { arguments: approval.arguments }),
    reason,
  };
}
