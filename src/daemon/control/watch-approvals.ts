import { once } from 'node:events';
import { encode, type LinkSide } from '../../control/index.ts';
import { APPROVAL_RESPONSE, type Host, type Row, type Settlement } from '../../pod/index.ts';
import {
  pendingApprovals,
  questionOf,
  type WaitingApproval,
  waitingIn,
} from '../sessions/pending-approvals.ts';

/** What happens to approvals: one waits now, or it has its answer. */
export type ApprovalNews =
  | ({ readonly type: 'asked' } & WaitingApproval)
  | ({ readonly type: 'settled' } & WaitingApproval & Settlement);

/** Sends those that wait, then each that is asked and each that is settled, whatever the session, until the client leaves. */
export async function watchApprovals(host: Host, { send, signal }: LinkSide): Promise<void> {
  const waiting = new Map<string, WaitingApproval>();
  let telling = Promise.resolve();
  const tell = (news: () => Promise<ApprovalNews>): void => {
    telling = telling.then(async () => send(encode({ watched: { ...(await news()) } })));
  };
  const ask = (approval: WaitingApproval): void => {
    // What a session asks for a child of its own is the child's, who asked before.
    if (waiting.has(approval.id)) return;
    waiting.set(approval.id, approval);
    tell(async () => ({ type: 'asked', ...approval, ...(await questionOf(host, approval)) }));
  };
  const compare = (id: string): void => {
    const asked = askedIn(host.row(id));
    for (const approval of asked) ask(approval);
    for (const approval of waiting.values()) {
      if (approval.session !== id || asked.some((one) => one.id === approval.id)) continue;
      waiting.delete(approval.id);
      tell(async () => ({
        type: 'settled',
        ...approval,
        ...(await questionOf(host, approval)),
        ...(await settlementOf(host, approval)),
      }));
    }
  };
  const forget = host.onChange(({ id }) => compare(id));
  try {
    // It may have been settled while the list was made.
    for (const approval of await pendingApprovals(host))
      if (askedIn(host.row(approval.session)).some(({ id }) => id === approval.id)) ask(approval);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    forget();
  }
  await telling;
}

function askedIn(row: Row | undefined): readonly WaitingApproval[] {
  return row === undefined ? [] : row.approvals.map((approval) => waitingIn(row, approval));
}

/** The answer, as the session has kept it; one that is gone with its session was taken back. */
async function settlementOf(host: Host, { id, session }: WaitingApproval): Promise<Settlement> {
  const tree = await host.tree(session).catch(() => undefined);
  const found = [...(tree?.entries() ?? [])].flatMap((entry) => APPROVAL_RESPONSE.in(entry) ?? []);
  const answer = found.findLast(({ approvalId }) => approvalId === id);
  if (answer === undefined) return { status: 'cancelled', at: new Date().toISOString() };
  const { approvalId: _, ...settlement } = answer;
  return settlement;
}
