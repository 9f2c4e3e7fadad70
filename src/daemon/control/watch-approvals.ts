import { withoutUndefined } from '../../base/index.ts';
import { once } from 'node:events';
import { encode, type LinkSide } from '../../control/index.ts';
import type { Host, Settlement } from '../../pod/index.ts';
import { encodeApproval, pendingApprovals, type WaitingApproval } from '../sessions/pending-approvals.ts';

/** A change of an approval: it is pending, or it was settled. */
export type ApprovalNews =
  | ({ readonly type: 'asked' } & WaitingApproval)
  | ({ readonly type: 'settled' } & WaitingApproval & Settlement);

/** Sends the pending approvals, then every new and settled one of all sessions, until the client disconnects. */
export async function watchApprovals(host: Host, { send, signal }: LinkSide): Promise<void> {
  const waiting = new Map<string, WaitingApproval>();
  let sending = Promise.resolve();
  const publish = (news: () => Promise<ApprovalNews>): void => {
    sending = sending.then(async () => send(encode({ watched: { ...(await news()) } })));
  };
  const ask = (approval: WaitingApproval): void => {
    // An approval that a session forwards for its child was already sent for the child.
    if (waiting.has(approval.id)) return;
    waiting.set(approval.id, approval);
    publish(async () => ({ type: 'asked', ...(await withCall(host, approval)) }));
  };
  const compare = (id: string): void => {
    const asked = pendingIn(host, id);
    for (const approval of asked) ask(approval);
    for (const approval of waiting.values()) {
      if (approval.session !== id || asked.some((one) => one.id === approval.id)) continue;
      waiting.delete(approval.id);
      publish(async () => ({
        type: 'settled',
        ...(await withCall(host, approval)),
        ...(await settlementOf(host, approval)),
      }));
    }
  };
  const forget = host.sessions.onChange(({ id }) => compare(id));
  try {
    // It may have been settled while the list was read.
    for (const approval of await pendingApprovals(host))
      if (pendingIn(host, approval.session).some(({ id }) => id === approval.id)) ask(approval);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    forget();
  }
  await sending;
}

function pendingIn(host: Host, sessionId: string): readonly WaitingApproval[] {
  const row = host.sessions.get(sessionId);
  return row === undefined ? [] : row.approvals.map((approval) => encodeApproval(row, approval));
}

/** Adds a call that is too long for the catalogue row; omits it if another process has the session open. */
async function withCall(host: Host, approval: WaitingApproval): Promise<WaitingApproval> {
  if (approval.arguments !== undefined) return approval;
  const found = await host.approvals.get(approval.id).catch(() => undefined);
  const { arguments: json, reason } = found?.approval ?? {};
  return {
    ...approval,
    ...withoutUndefined({ arguments: json, reason }),
  };
}

/** An approval of a removed session counts as cancelled. */
async function settlementOf(host: Host, { id }: WaitingApproval): Promise<Settlement> {
  const found = await host.approvals.get(id).catch(() => undefined);
  return found?.settlement ?? { status: 'cancelled', at: new Date().toISOString() };
}
