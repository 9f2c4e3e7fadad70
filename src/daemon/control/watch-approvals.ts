import { once } from 'node:events';
import { encode, type LinkSide } from '../../control/index.ts';
import type { Host, Settlement } from '../../pod/index.ts';
import { encodeApproval, pendingApprovals, type WaitingApproval } from '../sessions/pending-approvals.ts';

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
    tell(async () => ({ type: 'asked', ...(await withCall(host, approval)) }));
  };
  const compare = (id: string): void => {
    const asked = pendingIn(host, id);
    for (const approval of asked) ask(approval);
    for (const approval of waiting.values()) {
      if (approval.session !== id || asked.some((one) => one.id === approval.id)) continue;
      waiting.delete(approval.id);
      tell(async () => ({
        type: 'settled',
        ...(await withCall(host, approval)),
        ...(await settlementOf(host, approval)),
      }));
    }
  };
  const forget = host.onChange(({ id }) => compare(id));
  try {
    // It may have been settled while the list was made.
    for (const approval of await pendingApprovals(host))
      if (pendingIn(host, approval.session).some(({ id }) => id === approval.id)) ask(approval);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    forget();
  }
  await telling;
}

function pendingIn(host: Host, sessionId: string): readonly WaitingApproval[] {
  const row = host.row(sessionId);
  return row === undefined ? [] : row.approvals.map((approval) => encodeApproval(row, approval));
}

/** A call that is too long for the row of its session is added; it is left out if another process has the session open. */
async function withCall(host: Host, approval: WaitingApproval): Promise<WaitingApproval> {
  if (approval.arguments !== undefined) return approval;
  const found = await host.approvals.get(approval.id).catch(() => undefined);
  const { arguments: json, reason } = found?.approval ?? {};
  return {
    ...approval,
    ...(json === undefined ? {} : { arguments: json }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** An approval whose session was removed counts as cancelled. */
async function settlementOf(host: Host, { id }: WaitingApproval): Promise<Settlement> {
  const found = await host.approvals.get(id).catch(() => undefined);
  return found?.settlement ?? { status: 'cancelled', at: new Date().toISOString() };
}
