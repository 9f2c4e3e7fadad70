import type { ApprovalRow, Row, SettledApprovalRow } from '../catalogue/index.ts';
import type { Approval } from '../event.ts';
import type { ApprovalIndex } from '../view/view.ts';

/**
 * What the row of a session has of its approvals: all that are pending, and the last ones that were settled. `before` are the
 * settled ones of the row so far: a pod that was opened at a checkpoint does not know those before it.
 */
export function approvalRows(
  approvals: ApprovalIndex,
  before: readonly SettledApprovalRow[] = [],
): Pick<Row, 'approvals' | 'settled'> {
  const earlier = before.filter(({ approvalId }) => approvals.get(approvalId) === undefined);
  const later = approvals.all().flatMap(({ approval, settlement }) =>
    // An approval of a child pod is in the row of the child.
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

/** In characters. Rows are written again with every change of the session. */
const LONGEST_SETTLED = 2_000;
const LONGEST_ARGUMENTS = 32_000;

function isShort(row: SettledApprovalRow): boolean {
  return JSON.stringify(row).length <= LONGEST_SETTLED;
}

function approvalRow(approval: Approval): ApprovalRow {
  const { approvalId, tool, title, requestedAt, deadline, runId, callId, podId, reason } = approval;
  const isLong = approval.arguments.length > LONGEST_ARGUMENTS;
  return {
    approvalId,
    tool,
    title,
    requestedAt,
    ...(deadline === undefined ? {} : { deadline }),
    ...(runId === undefined ? {} : { runId }),
    ...(callId === undefined ? {} : { callId }),
    ...(podId === undefined ? {} : { podId }),
    ...(isLong ? {} : { arguments: approval.arguments }),
    reason,
  };
}
