import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import {
  asks,
  changesOf,
  type Client,
  hldFixture,
  launch,
  pendingApproval,
  textAnswer,
  STALLS,
  statusOf,
} from './fixture.ts';

async function toolCalls(client: Client, session_id: string): Promise<readonly JsonObject[]> {
  const { events } = (await client.call('getConversation', { session_id })) as {
    events: readonly JsonObject[];
  };
  return events.filter(({ event_type: type }) => type === 'tool_call');
}

describe('defects of the original daemon that do not occur here', () => {
  it('mcp_config {} crashes the daemon', async () => {
    const fixture = await hldFixture([textAnswer('ok'), textAnswer('ok')]);
    const { client } = await launch(fixture, { query: 'hi', mcp_config: {} }, 'completed');
    expect(await client.call('health')).toMatchObject({ status: 'ok' });
  });

  it('an interrupted session ends as failed', async () => {
    const fixture = await hldFixture([STALLS]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'running');
    await client.call('interruptSession', { session_id });
    await subscriber.waitForStatus(session_id, 'interrupted');
    expect(await statusOf(client, session_id)).toBe('interrupted');
  });

  it('a session stays interrupting forever when the daemon exits', async () => {
    const fixture = await hldFixture([STALLS, textAnswer('ok')]);
    const { session_id } = await launch(fixture, { query: 'hi' }, 'running');
    await fixture.restart('shutdown');
    const client = await fixture.client();
    expect(await statusOf(client, session_id)).toBe('interrupted');
    expect(
      objectOf(await client.call('continueSession', { session_id, query: 'on' })).parent_session_id,
    ).toBe(session_id);
  });

  it('a decision on an ended session sets it to running without a process', async () => {
    const fixture = await hldFixture([asks(), textAnswer('never')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const approval_id = await pendingApproval(client, session_id);
    await fixture.host.pod(session_id).handle({ type: 'cancel' });
    await subscriber.waitForStatus(session_id, 'interrupted');
    expect(await client.call('sendDecision', { approval_id, decision: 'approve' })).toMatchObject({
      success: false,
    });
    expect(await statusOf(client, session_id)).toBe('interrupted');
  });

  it.each(['401', '404', '500', 'hang-up', 'context-too-long', 'bare-error', 'cut'] as const)(
    'a failed session has no error text (%s)',
    async (kind) => {
      const fixture = await hldFixture(() => ({ parts: [{ text: 'some text' }], fault: { kind } }));
      const pod = await fixture.host.create({ cwd: fixture.cwd, settings: { autoRetry: false } });
      const subscriber = await fixture.subscribe();
      await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'hi' }] });
      await subscriber.waitForStatus(pod.id, 'failed');
      const { session } = objectOf(
        await (await fixture.client()).call('getSessionState', { session_id: pod.id }),
      );
      expect(stringOf(objectOf(session).error_message).length).toBeGreaterThan(5);
    },
  );

  it('subscribers are not notified of failing, waiting and resuming', async () => {
    const fixture = await hldFixture([asks(), { parts: [], fault: { kind: '401' } }]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await subscriber.waitForStatus(session_id, 'failed');
    expect(changesOf(subscriber, session_id)).toEqual([
      'starting→running',
      'running→waiting_input',
      'waiting_input→running',
      'running→failed',
    ]);
  });

  it('one decision sets a session to running while another approval is pending', async () => {
    const fixture = await hldFixture([textAnswer('ok'), STALLS]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'completed');
    const pod = fixture.host.pod(session_id);
    await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'more' }] });
    await subscriber.waitFor(({ data }) => data.old_status === 'completed' && data.new_status === 'running');
    const ask = async (id: string) =>
      objectOf(
        await client.call('createApproval', {
          run_id: session_id,
          tool_name: 'Bash',
          tool_input: {},
          tool_use_id: id,
        }),
      ).approval_id;
    const [one, two] = [await ask('t1'), await ask('t2')];
    expect(await statusOf(client, session_id)).toBe('waiting_input');
    await client.call('sendDecision', { approval_id: one, decision: 'approve' });
    expect(await statusOf(client, session_id)).toBe('waiting_input');
    await client.call('sendDecision', { approval_id: two, decision: 'approve' });
    expect(await statusOf(client, session_id)).toBe('running');
  });

  it('one of two concurrent approvals is lost', async () => {
    const fixture = await hldFixture([
      {
        parts: [1, 2, 3].map((n) => ({ toolCall: { name: 'bash', arguments: { command: `node -e ${n}` } } })),
      },
      textAnswer('done'),
    ]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    for (let count = 0; count < 3; count += 1) {
      const { data } = await subscriber.until(
        () => subscriber.events.filter(({ type }) => type === 'new_approval')[count],
      );
      await client.call('sendDecision', { approval_id: data.approval_id, decision: 'approve' });
    }
    await subscriber.waitForStatus(session_id, 'completed');
    const rows = await toolCalls(client, session_id);
    expect(rows.map(({ approval_status: status, is_completed: done }) => [status, done])).toEqual(
      rows.map(() => ['approved', true]),
    );
    expect(new Set(rows.map(({ approval_id: id }) => id)).size).toBe(3);
  });

  it('an approval is not linked to its call', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    expect(await toolCalls(client, session_id)).toMatchObject([
      { approval_status: 'pending', approval_id: await pendingApproval(client, session_id) },
    ]);
  });

  it('a failed run is not reported as an error', async () => {
    const fixture = await hldFixture([{ parts: [{ text: 'x' }], fault: { kind: '401' } }]);
    const { client } = await launch(fixture, { query: 'hi' }, 'failed');
    expect(await client.call('listSessions')).toMatchObject({ sessions: [{ result: { is_error: true } }] });
  });

  it('sessions of a killed daemon keep running, unknown to the next daemon', async () => {
    const fixture = await hldFixture([STALLS, textAnswer('ok')]);
    const { session_id } = await launch(fixture, { query: 'hi' }, 'running');
    await fixture.restart('kill');
    const [client, subscriber] = [await fixture.client(), await fixture.subscribe()];
    expect(await statusOf(client, session_id)).toBe('failed');
    const child = objectOf(await client.call('continueSession', { session_id, query: 'on' }));
    await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
  });

  it('custom_instructions are stored but not sent to the model', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    await launch(fixture, { query: 'hi', custom_instructions: 'No salt.' }, 'completed');
    expect(JSON.stringify(fixture.sim.requests.at(-1)?.body)).toContain('No salt.');
  });

  it('the key of a proxy is returned to every client', async () => {
    const fixture = await hldFixture([textAnswer('ok'), textAnswer('ok')]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'completed');
    const proxy_api_key = 'key-0123456789';
    const child = await client.call('continueSession', { session_id, query: 'on', proxy_api_key });
    await subscriber.waitForStatus(stringOf(objectOf(child).session_id), 'completed');
    expect(JSON.stringify(await client.call('listSessions'))).not.toContain(proxy_api_key);
  });

  it('an approval stays pending forever after its session has ended', async () => {
    const fixture = await hldFixture([asks(), textAnswer('never')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const approval_id = await pendingApproval(client, session_id);
    await fixture.host.pod(session_id).handle({ type: 'cancel' });
    await subscriber.waitForStatus(session_id, 'interrupted');
    expect(await client.call('fetchApprovals', { session_id })).toEqual({ approvals: [] });
    expect(await client.call('getApproval', { approval_id })).toMatchObject({
      approval: { status: 'resolved' },
    });
  });

  it('a file snapshot is empty', async () => {
    const fixture = await hldFixture([
      { parts: [{ toolCall: { name: 'read', arguments: { path: 'a' } } }] },
      textAnswer('done'),
    ]);
    writeFileSync(`${fixture.cwd}/a`, 'content\n');
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    expect(await client.call('getSessionSnapshots', { session_id })).toMatchObject({
      snapshots: [{ content: 'content' }],
    });
  });
});
