import {
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  type Entry,
  FORK,
  itemsOf,
  TOOL_END,
} from '../../../pod/index.ts';
import { approvalWord } from '../approvals/approval-word.ts';
import { claudeSessionId, rowId, wireApprovalId } from '../sessions/identity.ts';
import { transcriptRows, transcriptRowsOfBroken, type TranscriptRow, summarised } from './transcript-rows.ts';
import { wholeSeconds } from '../sessions/session.ts';
import type { ApprovalWord, ConversationEvent } from '../wire.ts';

/**
 * A conversation with all that came before it: the sessions that it goes on with, oldest first. Entries are those on the way
 * to the leaf; where a session was forked from another one, a fact says which.
 */
export function wholeConversation(path: readonly Entry[], sessionId: string): readonly ConversationEvent[] {
  return bySession(path, sessionId).flatMap(({ id, entries }) => rowsOf(id, entries));
}

/** Only what was said in the session itself. */
export function ownConversation(path: readonly Entry[], sessionId: string): readonly ConversationEvent[] {
  const own = bySession(path, sessionId).at(-1);
  return own === undefined ? [] : rowsOf(sessionId, own.entries);
}

type Message = Extract<Entry, { type: 'message' }>['message'];

interface Part {
  readonly id: string;
  readonly entries: readonly Entry[];
}

function bySession(path: readonly Entry[], sessionId: string): readonly Part[] {
  const parts: Part[] = [];
  let entries: Entry[] = [];
  for (const entry of path) {
    const fork = FORK.in(entry);
    if (fork === undefined) entries.push(entry);
    else {
      parts.push({ id: fork.sessionId, entries });
      entries = [];
    }
  }
  return [...parts, { id: sessionId, entries }];
}

function rowsOf(sessionId: string, entries: readonly Entry[]): readonly ConversationEvent[] {
  const writer = new RowWriter();
  for (const entry of entries) writer.take(entry);
  const claudeId = claudeSessionId(sessionId);
  return writer.rows.map((row, index) => wireRow(row, { sessionId, claudeId, sequence: index + 1 }));
}

interface Row {
  readonly said: TranscriptRow;
  readonly at: string;
  isCompleted: boolean;
  approval: Question | undefined;
}

interface Question {
  readonly approvalId: string;
  readonly tool: string;
  readonly callId: string | undefined;
  status: ApprovalWord;
}

/** Rows in the order of the file: none changes its place when more is written. */
class RowWriter {
  readonly rows: Row[] = [];
  /** Calls that have no result yet. */
  readonly #open = new Map<string, Row>();
  readonly #answered = new Set<string>();
  readonly #questions = new Map<string, Question>();
  /** Asked about calls that have not been written yet. */
  #early: Question[] = [];

  take(entry: Entry): void {
    const { timestamp: at } = entry;
    if (entry.type === 'message') for (const said of saidInMessage(entry.message)) this.#add(said, at);
    if (entry.type === 'compaction') this.#add(summarised(entry.summary), at);
    const ended = TOOL_END.in(entry);
    if (ended !== undefined)
      for (const item of itemsOf({ role: 'toolResult', ...ended.message }))
        for (const said of transcriptRows(item)) this.#add(said, at);
    const request = APPROVAL_REQUEST.in(entry);
    // A child's question is about a call of the child's.
    if (request !== undefined && request.podId === undefined) this.#ask(request);
    const response = APPROVAL_RESPONSE.in(entry);
    const question = response && this.#questions.get(response.approvalId);
    if (question !== undefined) question.status = approvalWord(response?.status);
  }

  #add(said: TranscriptRow, at: string): void {
    if (said.type === 'tool_result' && !this.#complete(said.callId)) return;
    const row: Row = { said, at, isCompleted: false, approval: undefined };
    this.rows.push(row);
    if (said.type !== 'tool_call') return;
    this.#open.set(said.callId, row);
    this.#answered.delete(said.callId);
    const early = this.#early.find((question) => isAbout(question, row));
    if (early === undefined) return;
    this.#early = this.#early.filter((question) => question !== early);
    row.approval = early;
  }

  /** False for a result that is there already: one that came early is written a second time in its place. */
  #complete(callId: string): boolean {
    const call = this.#open.get(callId);
    if (call !== undefined) call.isCompleted = true;
    this.#open.delete(callId);
    const isFirst = !this.#answered.has(callId);
    this.#answered.add(callId);
    return isFirst;
  }

  #ask({
    approvalId,
    tool,
    callId,
  }: {
    readonly approvalId: string;
    readonly tool: string;
    readonly callId?: string;
  }): void {
    const question: Question = { approvalId, tool, callId, status: 'pending' };
    this.#questions.set(approvalId, question);
    const row = [...this.#open.values()].toReversed().find((open) => isAbout(question, open));
    if (row === undefined) this.#early.push(question);
    else row.approval = question;
  }
}

function saidInMessage(message: Message): readonly TranscriptRow[] {
  // What a failed answer said is in the file only.
  const shown = message.stopReason === 'error' ? { ...message, stopReason: 'stop' } : message;
  const items = itemsOf(shown);
  return shown === message ? items.flatMap(transcriptRows) : transcriptRowsOfBroken(items);
}

/** By the call's id; where nobody said it, by the tool's name, if the call has no question yet. */
function isAbout({ callId, tool }: Question, { said, approval }: Row): boolean {
  if (said.type !== 'tool_call') return false;
  if (callId !== undefined) return callId === said.callId;
  return approval === undefined && tool.toLowerCase() === said.name.toLowerCase();
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
    ...(approval && { approval_status: approval.status, approval_id: wireApprovalId(approval.approvalId) }),
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
