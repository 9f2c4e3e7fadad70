import type { ConversationItem, ConversationPart } from '../../../pod/index.ts';
import { approvalWord } from '../approvals/approval-word.ts';
import { claudeSessionId, rowId, wireApprovalId } from '../sessions/identity.ts';
import { wholeSeconds } from '../sessions/session.ts';
import { toolInputText } from '../tool-input.ts';
import type { ConversationEvent } from '../wire.ts';
import { summaryRow, type TranscriptRow, transcriptRows } from './transcript-rows.ts';

/** The conversation of a session, preceded by those of the sessions that it continues, oldest first. */
export function wholeConversation(parts: readonly ConversationPart[]): readonly ConversationEvent[] {
  return parts.flatMap(rowsOf);
}

/** The conversation of the session itself, without the sessions that it continues. */
export function ownConversation(parts: readonly ConversationPart[]): readonly ConversationEvent[] {
  return parts.slice(-1).flatMap(rowsOf);
}

function rowsOf({ sessionId, items }: ConversationPart): readonly ConversationEvent[] {
  const claudeId = claudeSessionId(sessionId);
  return items
    .flatMap((item) => rowsIn(item).map((transcriptRow) => ({ ...item, transcriptRow })))
    .map((row, index) => wireRow(row, { sessionId, claudeId, sequence: index + 1 }));
}

function rowsIn({ item }: ConversationItem): readonly TranscriptRow[] {
  return item.type === 'summary' ? [summaryRow(item.text)] : transcriptRows(item);
}

interface Row extends ConversationItem {
  readonly transcriptRow: TranscriptRow;
}

function wireRow(
  { transcriptRow, at, isCompleted, approval }: Row,
  {
    sessionId,
    claudeId,
    sequence,
  }: { readonly sessionId: string; readonly claudeId: string; readonly sequence: number },
): ConversationEvent {
  return {
    id: rowId(sessionId, sequence),
    session_id: sessionId,
    claude_session_id: claudeId,
    sequence,
    event_type: transcriptRow.type,
    created_at: wholeSeconds(at),
    ...wireFields(transcriptRow),
    is_completed: isCompleted,
    ...(approval && {
      approval_status: approvalWord(approval.status),
      approval_id: wireApprovalId(approval.approvalId),
    }),
  };
}

function wireFields(transcriptRow: TranscriptRow): Partial<ConversationEvent> {
  switch (transcriptRow.type) {
    case 'message':
      return { role: transcriptRow.role, content: transcriptRow.content };
    case 'thinking':
      return { role: 'assistant', content: transcriptRow.content };
    case 'tool_call':
      return {
        role: 'assistant',
        tool_id: transcriptRow.callId,
        tool_name: transcriptRow.name,
        tool_input_json: toolInputText(transcriptRow.name, transcriptRow.arguments),
      };
    case 'tool_result':
      return {
        role: 'user',
        tool_result_for_id: transcriptRow.callId,
        tool_result_content: transcriptRow.content,
      };
    case 'system':
      return { role: 'system', content: transcriptRow.content };
  }
}
