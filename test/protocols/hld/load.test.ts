import { describe, expect, it } from 'vitest';
import type { SimRequest } from '../../../src/sim/index.ts';
import { asks, Client, hldFixture, type Launched, textAnswer } from './fixture.ts';

/** The fraction of the full load: 500 connections, 200 subscribers and 100 sessions. */
const SHARE = Number(process.env.POLYPOD_HLD_LOAD ?? 0.1);
const SESSIONS = Math.ceil(100 * SHARE);
const SUBSCRIBERS = Math.ceil(200 * SHARE);
const CONNECTIONS = Math.ceil(500 * SHARE);

/** Requests one approval per session, so that all of them wait at the same time. */
const model = ({ messages }: SimRequest) => (messages.at(-1)?.role === 'tool' ? textAnswer('done') : asks());

describe('under load', () => {
  it('every subscriber receives all events in the same order while clients connect and disconnect', async () => {
    const fixture = await hldFixture(model);
    const subscribers = await Promise.all(Array.from({ length: SUBSCRIBERS }, () => fixture.subscribe()));
    const callers = await Promise.all(Array.from({ length: CONNECTIONS }, () => fixture.client()));
    const [reference] = subscribers;
    if (reference === undefined) throw new Error('there is no subscriber');

    const launching = Array.from({ length: SESSIONS }, async (_, index) => {
      const caller = callers[index % callers.length];
      return (await caller?.call('launchSession', { query: `session ${index}` })) as Launched;
    });
    const reconnecting = Promise.all(
      callers.map((caller, index) => reconnectRepeatedly(fixture.path, caller, index)),
    );
    const sessions = await Promise.all(launching);
    await Promise.all(
      sessions.map(async ({ session_id }, index) => {
        const { data } = await reference.waitFor(
          ({ type, data: received }) => type === 'new_approval' && received.session_id === session_id,
        );
        const decision = index % 2 === 0 ? { decision: 'approve' } : { decision: 'deny', comment: 'no' };
        await callers[index % callers.length]?.call('sendDecision', {
          approval_id: data.approval_id,
          ...decision,
        });
      }),
    );
    for (const { session_id } of sessions) await reference.waitForStatus(session_id, 'completed');
    await reconnecting;

    expect(reference.events).toHaveLength(SESSIONS * EVENTS_OF_A_SESSION);
    for (const subscriber of subscribers) {
      await subscriber.line(reference.lines.length - 1);
      expect(subscriber.lines.slice(1)).toEqual(reference.lines.slice(1));
    }
    expect(new Set(sessions.map(({ run_id }) => run_id)).size).toBe(SESSIONS);
  }, 300_000);
});

/** Running, tokens, call, approval, waiting, resolved, running, result, tokens, text, completed. */
const EVENTS_OF_A_SESSION = 11;

/** Sends a request while other clients connect, subscribe and disconnect. */
async function reconnectRepeatedly(path: string, caller: Client, index: number): Promise<void> {
  expect(await caller.call(index % 5 === 0 ? 'listSessions' : 'health')).toBeDefined();
  const guest = await Client.open(path);
  guest.send({ jsonrpc: '2.0', method: index % 2 === 0 ? 'Subscribe' : 'listSessions', id: 1 });
  if (index % 3 === 0) await guest.line(0);
  guest.socket.destroy();
}
