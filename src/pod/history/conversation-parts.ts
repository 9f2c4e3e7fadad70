import { numberOf, withoutUndefined } from '../../base/index.ts';
import type { Item } from '../../llm/index.ts';
import type { ApprovalStatus } from '../event.ts';
import {
  type AgentMessage,
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  type Entry,
  FORK,
  itemsOf,
  TOOL_END,
} from '../session/index.ts';

/** What one session added to a conversation. A fork continues the parts of the sessions before it. */
export interface ConversationPart {
  readonly sessionId: string;
  readonly items: readonly ConversationItem[];
}

/** A message, a call, a result or the summary of a compaction. Items keep their index when more are added. */
export interface ConversationItem {
  readonly item: Item | ConversationSummary;
  /** ISO 8601. */
  readonly at: string;
  /** The number of the event that recorded it; absent in files of other programs. */
  readonly seq?: number;
  /** Whether it is a call with a result. */
  readonly isCompleted: boolean;
  /** The approval of a call. */
  readonly approval?: { readonly approvalId: string; readonly status: ApprovalStatus };
}

export interface ConversationSummary {
  readonly type: 'summary';
  readonly text: string;
}

/** The conversation at the leaf as people saw it, including compacted items, grouped by session, oldest first. */
export function conversationParts(path: readonly Entry[], sessionId: string): readonly ConversationPart[] {
  return bySession(path, sessionId).map(({ id, entries }) => ({ sessionId: id, items: itemsIn(entries) }));
}

function bySession(
  path: readonly Entry[],
  sessionId: string,
): readonly { readonly id: string; readonly entries: readonly Entry[] }[] {
  const parts: { readonly id: string; readonly entries: readonly Entry[] }[] = [];
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

function itemsIn(entries: readonly Entry[]): readonly ConversationItem[] {
  const collector = new ItemCollector();
  for (const entry of entries) collector.take(entry);
  return collector.items.map(({ item, at, seq, isCompleted, approval }) => ({
    item,
    at,
    ...withoutUndefined({ seq }),
    isCompleted,
    ...(approval && { approval: { approvalId: approval.approvalId, status: approval.status } }),
  }));
}

interface CollectedItem {
  readonly item: ConversationItem['item'];
  readonly at: string;
  readonly seq: number | undefined;
  isCompleted: boolean;
  approval: CollectedApproval | undefined;
}

interface CollectedApproval {
  readonly approvalId: string;
  readonly tool: string;
  readonly callId: string | undefined;
  status: ApprovalStatus;
}

/** Collects items in file order, and connects calls with their results and approvals. */
class ItemCollector {
  readonly items: CollectedItem[] = [];
  /** Calls without a result. */
  readonly #open = new Map<string, CollectedItem>();
  readonly #answered = new Set<string>();
  readonly #approvals = new Map<string, CollectedApproval>();
  /** Approvals of calls that have not been recorded yet. */
  #early: CollectedApproval[] = [];

  take(entry: Entry): void {
    const recorded = { at: entry.timestamp, seq: numberOf(entry.extras?.seq) };
    if (entry.type === 'message') for (const item of shownItems(entry.message)) this.#add(item, recorded);
    if (entry.type === 'compaction') this.#add({ type: 'summary', text: entry.summary }, recorded);
    const ended = TOOL_END.in(entry);
    if (ended !== undefined)
      for (const item of itemsOf({ role: 'toolResult', ...ended.message })) this.#add(item, recorded);
    const request = APPROVAL_REQUEST.in(entry);
    // An approval with a pod id belongs to a call of that child.
    if (request !== undefined && request.podId === undefined) this.#ask(request);
    const response = APPROVAL_RESPONSE.in(entry);
    const approval = response && this.#approvals.get(response.approvalId);
    if (approval !== undefined && response !== undefined) approval.status = response.status;
  }

  #add(item: ConversationItem['item'], recorded: Pick<CollectedItem, 'at' | 'seq'>): void {
    if (item.type === 'tool-result' && !this.#complete(item.callId)) return;
    const collected: CollectedItem = { item, ...recorded, isCompleted: false, approval: undefined };
    this.items.push(collected);
    if (item.type !== 'tool-call') return;
    this.#open.set(item.callId, collected);
    this.#answered.delete(item.callId);
    const early = this.#early.find((approval) => isAbout(approval, collected));
    if (early === undefined) return;
    this.#early = this.#early.filter((approval) => approval !== early);
    collected.approval = early;
  }

  /** Returns false for a duplicate: an early result is recorded again when its turn in the order comes. */
  #complete(callId: string): boolean {
    const call = this.#open.get(callId);
    if (call !== undefined) call.isCompleted = true;
    this.#open.delete(callId);
    const isFirst = !this.#answered.has(callId);
    this.#answered.add(callId);
    return isFirst;
  }

  #ask(request: { readonly approvalId: string; readonly tool: string; readonly callId?: string }): void {
    const { approvalId, tool, callId } = request;
    const approval: CollectedApproval = { approvalId, tool, callId, status: 'pending' };
    this.#approvals.set(approvalId, approval);
    const call = [...this.#open.values()].toReversed().find((open) => isAbout(approval, open));
    if (call === undefined) this.#early.push(approval);
    else call.approval = approval;
  }
}

/** The texts of a failed answer. They are not sent to the model again, but people have seen them. */
function shownItems(message: AgentMessage): readonly Item[] {
  if (message.stopReason !== 'error') return itemsOf(message);
  return itemsOf({ ...message, stopReason: 'stop' }).filter(({ type }) => type === 'message');
}

/** Finds a call by its id or, without one, by the name of the tool, if the call has no approval yet. */
function isAbout({ callId, tool }: CollectedApproval, { item, approval }: CollectedItem): boolean {
  if (item.type !== 'tool-call') return false;
  if (callId !== undefined) return callId === item.callId;
  return approval === undefined && tool.toLowerCase() === item.name.toLowerCase();
}
