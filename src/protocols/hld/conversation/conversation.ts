import type { ConversationItem, ConversationPart } from '../../../pod/index.ts';
import { approvalWord } from '../approvals/approval-word.ts';
import { claudeSessionId, rowId, wireApprovalId } from '../sessions/identity.ts';
import { wholeSeconds } from '../sessions/session.ts';
import type { ConversationEvent } from '../wire.ts';
import { summarised, type TranscriptRow, transcriptRows } from './transcript-rows.ts';

/** A conversation with all that came before it: the sessions that it goes on with, oldest first. */
export function wholeConversation(parts: readonly ConversationPart[]): readonly ConversationEvent[] {
  return parts.flatMap(rowsOf);
}

/** Only what was said in the session itself. */
export function ownConversation(parts: readonly ConversationPart[]): readonly ConversationEvent[] {
  return parts.slice(-1).flatMap(rowsOf);
}

function rowsOf({ sessionId, items }: ConversationPart): readonly ConversationEvent[] {
  const claudeId = claudeSessionId(sessionId);
  return items
    .flatMap((item) => rowsIn(item).map((said) => ({ ...item, said })))
    .map((row, index) => wireRow(row, { sessionId, claudeId, sequence: index + 1 }));
}

function rowsIn({ item }: ConversationItem): readonly TranscriptRow[] {
  return item.type === 'summary' ? [summarised(item.text)] : transcriptRows(item);
}

interface Row extends ConversationItem {
  readonly said: TranscriptRow;
}

function wireRow(
  { said, at, isCompleted, approval }: Row,
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
    event_type: said.type,
    created_at: wholeSeconds(at),
    ...wireSaid(said),
    is_completed: isCompleted,
    ...(approval && {
      approval_status: approvalWord(approval.status),
      approval_id: wireApprovalId(approval.approvalId),
    }),
  };
}

function wireSaid(said: TranscriptRow): Partial<ConversationEvent> {
  switch (said.type) {
    case 'message':
      return { role: said.role, content: said.content };
    case 'thinking':
      return { role: 'assistant', content: said.content };
    case 'tool_call':
      return {
        role: 'assistant',
        tool_id: said.callId,
        tool_name: said.name,
        tool_input_json: said.arguments,
      };
    case 'tool_result':
      return { role: 'user', tool_result_for_id: said.callId, tool_result_content: said.content };
    case 'system':
      return { role: 'system', content: said.content };
  }
}
