import { ellipsize, isObject, type JsonObject, withoutUndefined } from '../../../base/index.ts';
import type { ConversationPage } from '../../../control/index.ts';
import type { WaitingApproval } from '../../../daemon/index.ts';
import { contentText } from '../../../llm/index.ts';
import type { Approval, ConversationItem, Snapshot } from '../../../pod/index.ts';
import { endText } from '../../output/run-end-text.ts';
import type { ListedRow } from '../ls.ts';
import { lastAnswerIn } from '../run/last-answer.ts';

/** Results go into the context of a model, so they have limits. */
const ITEM_CHARACTERS = 4_000;
const ANSWER_CHARACTERS = 20_000;
const PAGE_CHARACTERS = 60_000;
const LINE_CHARACTERS = 200;

/** Why a wait has ended. */
export type WaitEnd = 'idle' | 'approval' | 'paused' | 'timeout';

export function sessionRow(row: ListedRow): JsonObject {
  const { id, name, title, cwd, state, model, updatedAt, firstPrompt, lastText, lastRun, approvals, queued } =
    row;
  return {
    session: id,
    ...withoutUndefined({ name, title }),
    cwd,
    state,
    updated_at: updatedAt,
    ...withoutUndefined({
      model,
      first_prompt: firstPrompt && ellipsize(firstPrompt, LINE_CHARACTERS),
      last_text: lastText && ellipsize(lastText, LINE_CHARACTERS),
      last_run: lastRun && withoutUndefined({ status: lastRun.status, message: lastRun.message }),
    }),
    pending_approvals: approvals.length,
    queued,
  };
}

/** The state of a pod, with what a caller needs for its next step. */
export function podState(snapshot: Snapshot, end: WaitEnd): JsonObject {
  const { id, state, lastRun, run, approvals, items } = snapshot;
  const answer = lastAnswerIn(items);
  const outcome = run === undefined ? lastRun?.outcome : undefined;
  return {
    session: id,
    state,
    reason: end,
    ...(outcome && { outcome: outcome.status, message: endText(outcome) }),
    ...(end === 'idle' && answer !== '' && { answer: shorten(answer, ANSWER_CHARACTERS) }),
    approvals: approvals.map(snapshotApproval),
    next: NEXT[end],
  };
}

const NEXT: Readonly<Record<WaitEnd, string>> = {
  idle: 'read_session shows the steps; prompt continues the conversation.',
  approval:
    'A call needs the approval of a person (or approve_call, if the tool is listed). Then call wait again.',
  paused: 'The run is paused: a person can resume it.',
  timeout: 'The run continues: call wait again, or cancel.',
};

export function waitingApproval(approval: WaitingApproval): JsonObject {
  const {
    id,
    session,
    name,
    subagent,
    cwd,
    tool,
    title,
    reason,
    requestedAt,
    deadline,
    arguments: json,
  } = approval;
  return {
    approval: id,
    session,
    cwd,
    tool,
    title,
    requested_at: requestedAt,
    ...withoutUndefined({
      session_name: name,
      subagent,
      reason,
      deadline,
      arguments: json && shorten(json, ANSWER_CHARACTERS),
    }),
  };
}

function snapshotApproval({ approvalId, tool, title, reason, arguments: json }: Approval): JsonObject {
  return { approval: approvalId, tool, title, reason, arguments: shorten(json, ITEM_CHARACTERS) };
}

/** The items of a page, until the page is full. */
export function conversation({ items, first, total }: ConversationPage): JsonObject {
  const shown: JsonObject[] = [];
  let characters = 0;
  let next = first;
  for (const item of items) {
    const encoded = conversationItem(item, next);
    characters += encoded === undefined ? 0 : JSON.stringify(encoded).length;
    if (shown.length > 0 && characters > PAGE_CHARACTERS) break;
    if (encoded !== undefined) shown.push(encoded);
    next += 1;
  }
  return { items: shown, first, next, total, has_more: next < total };
}

/** Reasoning is not shown: providers seal it, and it is not part of the result. */
function conversationItem(
  { item, at, isCompleted, approval }: ConversationItem,
  index: number,
): JsonObject | undefined {
  const base = { index, at };
  switch (item.type) {
    case 'message':
      return { ...base, type: item.role, text: shorten(contentText(item.content), ITEM_CHARACTERS) };
    case 'tool-call':
      return {
        ...base,
        type: 'tool_call',
        tool: item.name,
        arguments: shorten(item.arguments, ITEM_CHARACTERS),
        completed: isCompleted,
        ...(approval && { approval: approval.approvalId, approval_status: approval.status }),
      };
    case 'tool-result':
      return {
        ...base,
        type: 'tool_result',
        text: shorten(contentText(item.content), ITEM_CHARACTERS),
        is_error: item.isError,
      };
    case 'summary':
      return { ...base, type: 'summary', text: shorten(item.text, ITEM_CHARACTERS) };
    default:
      return undefined;
  }
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${ellipsize(text, most)} [${text.length - most} more characters]`;
}

/** Replaces secrets in all texts of a result. */
export function redacted<T>(value: T, redact: (text: string) => string): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only texts change, to other texts
  return redactedValue(value, redact) as T;
}

function redactedValue(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((part: unknown) => redactedValue(part, redact));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, redactedValue(part, redact)]));
}
