import { withoutUndefined } from '../../../base/index.ts';
import { childLabel, type SessionApproval } from '../../../pod/index.ts';
import { wireApprovalId } from '../sessions/identity.ts';
import { toolInput } from '../tool-input.ts';
import type { WireApproval } from '../wire.ts';
import { approvalWord } from './approval-word.ts';

/** Encodes an approval. */
export function encodeApproval({ row, approval, settlement }: SessionApproval): WireApproval {
  const { approvalId, requestedAt, runId, callId, tool, arguments: args = '' } = approval;
  const input = toolInput(tool, args);
  return {
    id: wireApprovalId(approvalId),
    run_id: runId ?? row.lastRun?.runId ?? '',
    session_id: row.id,
    ...(callId === undefined ? {} : { tool_use_id: callId }),
    status: approvalWord(settlement?.status),
    created_at: requestedAt,
    ...(settlement && { responded_at: settlement.at }),
    tool_name: tool,
    ...withoutUndefined({
      sub_agent: approval.podName ?? (row.spawned === true ? childLabel(row) : undefined),
    }),
    tool_input: input === undefined ? args : input,
    ...(settlement?.comment === undefined ? {} : { comment: settlement.comment }),
  };
}
