import { messageOf, onAbort, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { Rule } from '../../tools/index.ts';
import type { PermissionAnswer, PermissionQuestion, ChangedCallVerdict } from '../../worker/index.ts';
import type { Caller, PodCommandOf, Limit } from '../command.ts';
import type { Approval, PodFact, Settlement } from '../event.ts';
import type { UnnumberedEvent } from '../journal/index.ts';
import { type Person, personOf } from '../person.ts';
import type { RecordedReceipt } from '../receipts.ts';
import type { SettledApproval, PodView } from '../view/view.ts';

/** How long an approval may stay pending, and what happens then. Never an approval. */
export interface DeadlinePolicy {
  readonly deadlineMs?: number;
  readonly fallback: 'deny' | 'pause';
}

export interface ApprovalsParts {
  readonly view: PodView;
  readonly publish: (draft: UnnumberedEvent) => void;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly policy: DeadlinePolicy;
  /** Checks other arguments with the policy, for a call that no run of this process waits for. */
  readonly reconsider: (tool: string, args: string) => Promise<ChangedCallVerdict>;
  /** Why the limit does not allow a call; undefined if it does. */
  readonly limitProblem: (limit: Limit, tool: string, args: string) => Promise<string | undefined>;
  /** A deadline has passed. A call that waits in this process already has its answer. */
  readonly onExpired: () => void;
  /** Stores a rule permanently. */
  readonly remember: (rule: Rule, person: Person) => Promise<void>;
}

/** The approvals of a pod. The first decision wins; every change is published before it takes effect. */
export class Approvals {
  readonly #parts: ApprovalsParts;
  /** Approvals that a call in this process waits for. */
  readonly #live = new Map<string, Waiting>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(parts: ApprovalsParts) {
    this.#parts = parts;
  }

  /** Restarts the deadlines of pending approvals after the pod was opened. */
  resume(): void {
    for (const approval of this.#parts.view.approvals.pending()) this.#arm(approval);
  }

  /** Requests approval of a call. A decision made before a pause or a restart is reused for the same call. */
  async ask(question: PermissionQuestion, runId: string, signal: AbortSignal): Promise<PermissionAnswer> {
    const before = this.#askedBefore(question);
    const decided = before && answerOf(before, 'again');
    if (decided !== undefined) return decided;
    const isOpen = before !== undefined && before.settlement === undefined;
    const approval = isOpen ? before.approval : this.#request(question, runId);
    return new Promise((resolve) => {
      const forget = onAbort(signal, () => this.settle(approval.approvalId, { status: 'cancelled' }));
      const answer = (asked: SettledApproval): void => {
        forget();
        resolve(answerOf(asked, 'now') ?? { decision: 'pause' });
      };
      if (!signal.aborted) this.#live.set(approval.approvalId, { question, answer });
      else resolve({ decision: 'deny', reason: 'The run was cancelled.' });
    });
  }

  /** Adds an approval that belongs to no call of this pod: a client's or a child's. */
  open(approval: Approval, recorded?: RecordedReceipt): void {
    this.#parts.publish({ fact: { type: 'approval-request', approval }, recorded });
    this.#arm(approval);
  }

  /** Decides an approval. If it is already settled, rejects with who decided. */
  async decide(
    command: PodCommandOf<'decide'>,
    caller: Caller,
    recordReceipt: () => RecordedReceipt | undefined,
  ): Promise<void> {
    const { approval } = this.#pending(command.approvalId);
    const { updatedArguments, remember, decision } = command;
    const isApproved = decision === 'approve';
    if (isApproved) this.#refuseOwn(caller);
    if (isApproved) await this.#refuseBeyond(command.limit, approval, updatedArguments);
    // "Always" applies to the call that runs, not to the requested one.
    const always =
      isApproved && updatedArguments !== undefined
        ? await this.#reconsider(approval, updatedArguments)
        : approval.rule;
    // Somebody else may have decided while the policy checked the new arguments.
    this.#pending(command.approvalId);
    const rule = isApproved && remember !== undefined && remember !== 'once' ? always : undefined;
    if (rule !== undefined) this.allowForSession(rule, caller);
    this.settle(
      command.approvalId,
      {
        status: isApproved ? 'approved' : 'denied',
        by: caller.by,
        door: caller.door,
        ...withoutUndefined({ comment: command.comment }),
        ...(isApproved && updatedArguments !== undefined ? { updatedArguments } : {}),
        ...withoutUndefined({ remember }),
      },
      recordReceipt(),
    );
    if (rule !== undefined && remember === 'always') await this.#saveRule(rule, personOf(caller));
  }

  async #saveRule(rule: Rule, person: Person): Promise<void> {
    try {
      await this.#parts.remember(rule, person);
    } catch (thrown) {
      const reason = messageOf(thrown);
      throw new PolypodError('internal', `the call is approved, but its rule could not be saved: ${reason}`, {
        cause: thrown,
      });
    }
  }

  /** Returns false if it was already settled. */
  settle(approvalId: string, how: Omit<Settlement, 'at'>, recorded?: RecordedReceipt): boolean {
    const { view, publish, now } = this.#parts;
    const asked = view.approvals.get(approvalId);
    if (asked === undefined || asked.settlement !== undefined) return false;
    const fact: PodFact = { type: 'approval-response', approvalId, ...how, at: now().toISOString() };
    publish({ fact, recorded });
    clearTimeout(this.#timers.get(approvalId));
    this.#timers.delete(approvalId);
    const settled = view.approvals.get(approvalId);
    if (settled !== undefined) this.#live.get(approvalId)?.answer(settled);
    this.#live.delete(approvalId);
    return true;
  }

  /** Cancels the pending approvals of this pod's own calls, or of one call. */
  cancelOwn(about?: string): void {
    for (const { approvalId, callId, podId } of this.#parts.view.approvals.pending())
      if (callId !== undefined && podId === undefined && callId === (about ?? callId))
        this.settle(approvalId, { status: 'cancelled' });
  }

  /** Cancels approvals of calls that ended with an earlier process: nothing waits for them, as for the calls of another agent's sub-agent. */
  cancelWithoutCall(openCalls: readonly string[]): void {
    for (const { approvalId, callId, runId, podId } of this.#parts.view.approvals.pending())
      if (callId !== undefined && runId !== undefined && podId === undefined && !openCalls.includes(callId))
        this.settle(approvalId, { status: 'cancelled' });
  }

  /** Stops the timers. Pending approvals stay pending. */
  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** Another agent chooses the ids of its calls: a call with the id of an approved one, but other arguments, is not approved. */
  #askedBefore({ call }: PermissionQuestion): SettledApproval | undefined {
    const before = this.#parts.view.approvals.about(call.callId);
    const isSame = before?.approval.tool === call.name && before.approval.arguments === call.arguments;
    return isSame ? before : undefined;
  }

  #request({ call, reason, rule }: PermissionQuestion, runId: string): Approval {
    const { now, newId, policy } = this.#parts;
    const { deadlineMs, fallback } = policy;
    const approval: Approval = {
      approvalId: newId(),
      requestedAt: now().toISOString(),
      runId,
      callId: call.callId,
      tool: call.name,
      arguments: call.arguments,
      title: call.title,
      reason,
      ...withoutUndefined({ rule }),
      ...(deadlineMs === undefined
        ? {}
        : { deadline: new Date(now().getTime() + deadlineMs).toISOString(), fallback }),
    };
    this.open(approval);
    return approval;
  }

  #pending(approvalId: string): SettledApproval {
    const asked = this.#parts.view.approvals.get(approvalId);
    if (asked === undefined)
      throw new PolypodError(
        'not-found',
        `there is no approval ${approvalId}: it may have been settled long ago`,
      );
    if (asked.settlement !== undefined) throw alreadySettled(approvalId, asked.settlement);
    return asked;
  }

  /** Four eyes: the owner who submitted a task cannot approve its calls, with any key and through any door. */
  #refuseOwn({ by }: Caller): void {
    const { run, lastRun } = this.#parts.view;
    const { submitter } = (run ?? lastRun)?.overrides ?? {};
    if (submitter?.fourEyes !== true || submitter.owner !== by) return;
    throw new PolypodError(
      'denied',
      `${by} submitted this task and cannot approve it (four eyes): another key owner must approve it`,
    );
  }

  async #refuseBeyond(limit: Limit | undefined, approval: Approval, updated?: string): Promise<void> {
    if (limit === undefined) return;
    const why = await this.#parts.limitProblem(limit, approval.tool, updated ?? approval.arguments);
    if (why !== undefined) throw new PolypodError('denied', `this key may not approve the call: ${why}`);
  }

  async #reconsider({ approvalId, tool }: Approval, args: string): Promise<Rule | undefined> {
    const live = this.#live.get(approvalId);
    const again = await (live?.question.judgeChangedCall(args) ?? this.#parts.reconsider(tool, args));
    if ('refused' in again)
      throw new PolypodError('denied', `the changed arguments are denied: ${again.refused}`);
    return again.rule;
  }

  /** Adds a rule to the session's settings. */
  allowForSession(rule: Rule, { by, door }: Caller): void {
    const { view, publish } = this.#parts;
    const settings = { ...view.settings, rules: [rule, ...view.settings.rules] };
    publish({ fact: { type: 'settings', settings, by, door } });
  }

  #arm({ approvalId, deadline }: Approval): void {
    if (deadline === undefined) return;
    const left = Date.parse(deadline) - this.#parts.now().getTime();
    const timer = setTimeout(
      () => {
        const asked = this.#parts.view.approvals.get(approvalId);
        if (left > LONGEST_TIMER && asked !== undefined) this.#arm(asked.approval);
        else if (this.settle(approvalId, { status: 'expired' })) this.#parts.onExpired();
      },
      Math.min(Math.max(left, 0), LONGEST_TIMER),
    );
    this.#timers.set(approvalId, timer);
  }
}

interface Waiting {
  readonly question: PermissionQuestion;
  readonly answer: (asked: SettledApproval) => void;
}

/** The maximum delay of `setTimeout`. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Maps a settlement to the answer for the call. `again`: for a repeated request, only a person's decision counts. */
function answerOf(
  { approval, settlement }: SettledApproval,
  when: 'now' | 'again',
): PermissionAnswer | undefined {
  if (settlement === undefined) return undefined;
  const { status, updatedArguments, comment, by } = settlement;
  switch (status) {
    case 'approved':
      return {
        decision: 'allow',
        ...withoutUndefined({ arguments: updatedArguments }),
      };
    case 'denied':
      return { decision: 'deny', reason: denial(by, comment) };
    case 'expired':
      if (approval.fallback === 'pause') return when === 'now' ? { decision: 'pause' } : undefined;
      return { decision: 'deny', reason: 'Nobody answered in time, so this was not allowed.' };
    case 'cancelled':
      return when === 'now' ? { decision: 'deny', reason: 'The approval request was cancelled.' } : undefined;
  }
}

function denial(by: string | undefined, comment: string | undefined): string {
  const who = by === undefined ? 'The user' : by;
  return comment === undefined || comment.trim() === ''
    ? `${who} denied this call.`
    : `${who} denied this call: ${comment}`;
}

/** Names who decided, so that a late caller knows whom to ask. */
function alreadySettled(approvalId: string, { status, by, door }: Settlement): PolypodError {
  const whose = by === undefined ? '' : ` by ${by}`;
  const through = door === undefined ? '' : ` through ${door}`;
  return new PolypodError('conflict', `approval ${approvalId} is already ${status}${whose}${through}`);
}
