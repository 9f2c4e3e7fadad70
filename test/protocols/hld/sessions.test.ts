import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { ADA, Listener, promptCommand } from '../../pod/fixture.ts';
import {
  asks,
  calls,
  changesOf,
  type Client,
  hldFixture,
  launch,
  type Launched,
  pendingApproval,
  textAnswer,
  STALLS,
  statusOf,
} from './fixture.ts';

async function listed(
  client: Client,
  method = 'listSessions',
  params?: JsonObject,
): Promise<readonly JsonObject[]> {
  return (objectOf(await client.call(method, params)).sessions ?? []) as readonly JsonObject[];
}

describe('a session of another door', () => {
  it('is a draft until its first prompt, then one row whose run is the latest', async () => {
    const { host, cwd, client: open, subscribe } = await hldFixture([textAnswer('one'), textAnswer('two')]);
    const [client, subscriber] = [await open(), await subscribe()];
    const pod = await host.create({ cwd, settings: { name: 'elsewhere' } });
    expect(await listed(client)).toEqual([]);
    expect(await listed(client, 'listSessions', { include_all: true })).toMatchObject([
      { id: pod.id, status: 'starting', detail: 'draft', title: 'elsewhere', query: '', run_id: '' },
    ]);
    const first = await pod.handle(promptCommand('What is it?'), ADA);
    await subscriber.waitForStatus(pod.id, 'completed');
    expect(await listed(client)).toMatchObject([
      {
        id: pod.id,
        status: 'completed',
        query: 'What is it?',
        run_id: first.runId,
        result: { result: 'one' },
      },
    ]);
    const second = await pod.handle(promptCommand('And then?'), ADA);
    await subscriber.waitFor(({ data }) => data.new_status === 'completed' && data.run_id === second.runId);
    expect(await listed(client)).toMatchObject([{ id: pod.id, query: 'What is it?', run_id: second.runId }]);
    expect(changesOf(subscriber, pod.id)).toEqual([
      'starting→running',
      'running→completed',
      'completed→running',
      'running→completed',
    ]);
    expect(
      subscriber.events
        .filter(({ type }) => type === 'conversation_updated')
        .map(({ data }) => `${data.role}: ${data.content}`),
    ).toEqual(['assistant: one', 'user: And then?', 'assistant: two']);
  });

  it('that is closed before its first prompt is discarded without an event', async () => {
    const { host, cwd, client: open, subscribe } = await hldFixture([textAnswer('one')]);
    const [client, subscriber] = [await open(), await subscribe()];
    const pod = await host.create({ cwd });
    await pod.handle({ type: 'close' }, ADA);
    expect(await listed(client)).toEqual([]);
    expect(await listed(client, 'listSessions', { include_all: true })).toMatchObject([
      { id: pod.id, status: 'completed', detail: 'discarded' },
    ]);
    const { session_id } = (await client.call('launchSession', { query: 'hi' })) as Launched;
    await subscriber.waitForStatus(session_id, 'completed');
    expect(subscriber.events.filter(({ data }) => data.session_id === pod.id)).toEqual([]);
  });

  it('that is paused there is waiting for input here', async () => {
    const {
      host,
      cwd,
      client: open,
      subscribe,
    } = await hldFixture([calls('ls', { path: '.' }), textAnswer('done')]);
    const [client, subscriber] = [await open(), await subscribe()];
    const pod = await host.create({ cwd });
    await pod.handle(promptCommand('go'), ADA);
    await pod.handle({ type: 'pause' }, ADA);
    const { data } = await subscriber.waitForStatus(pod.id, 'paused');
    expect(data.new_status).toBe('waiting_input');
    expect(await listed(client)).toMatchObject([{ status: 'waiting_input', detail: 'paused' }]);
    await pod.handle({ type: 'resume' }, ADA);
    await subscriber.waitForStatus(pod.id, 'completed');
  });

  it('that is paused there can be interrupted here', async () => {
    const {
      host,
      cwd,
      client: open,
      subscribe,
    } = await hldFixture([calls('ls', { path: '.' }), textAnswer('on')]);
    const [client, subscriber] = [await open(), await subscribe()];
    const pod = await host.create({ cwd });
    await pod.handle(promptCommand('go'), ADA);
    await pod.handle({ type: 'pause' }, ADA);
    await subscriber.waitForStatus(pod.id, 'paused');
    await client.call('interruptSession', { session_id: pod.id });
    await subscriber.waitForStatus(pod.id, 'interrupted');
    const child = objectOf(await client.call('continueSession', { session_id: pod.id, query: 'on' }));
    await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
  });
});

describe('a session launched here', () => {
  it('can be watched, approved and continued at other doors', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const pod = fixture.host.pod(session_id);
    const watcher = new Listener(pod);
    const { snapshot } = await watcher.joined();
    expect(snapshot.approvals).toHaveLength(1);
    const [approval] = snapshot.approvals;
    await pod.handle({ type: 'decide', approvalId: approval?.approvalId ?? '', decision: 'approve' }, ADA);
    await subscriber.waitForStatus(session_id, 'completed');
    expect(subscriber.events.map(({ type }) => type)).toContain('approval_resolved');
    expect(await client.call('getApproval', { approval_id: `local-${approval?.approvalId}` })).toMatchObject({
      approval: { status: 'approved' },
    });
  });
});

describe('interruptSession', () => {
  it('ends the run as interrupted', async () => {
    const fixture = await hldFixture([STALLS]);
    const {
      session_id,
      run_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'running');
    expect(await client.call('interruptSession', { session_id })).toEqual({
      success: true,
      session_id,
      status: 'interrupting',
    });
    await subscriber.waitForStatus(session_id, 'interrupted');
    expect(changesOf(subscriber, session_id)).toEqual([
      'starting→running',
      'running→interrupting',
      'running→interrupted',
    ]);
    expect(objectOf(objectOf(await client.call('getSessionState', { session_id })).session)).toMatchObject({
      status: 'completed',
      detail: 'interrupted',
      run_id,
      completed_at: expect.stringMatching(/^[\d-]+T[\d:]+Z$/),
    });
  });

  it('reports interrupting until the run has ended', async () => {
    let [begun, end] = [(): void => {}, (): void => {}];
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const stubborn = new Promise<void>((resolve) => {
      end = resolve;
    });
    const fixture = await hldFixture([calls('stubborn', {}), textAnswer('never')], {
      tools: [
        {
          name: 'stubborn',
          description: 'Does not end at once.',
          parameters: { type: 'object' },
          parallel: true,
          prepare: () => ({
            access: [],
            title: 'stubborn',
            run: async () => {
              begun();
              await stubborn;
              return { summary: '', content: [], isError: false };
            },
          }),
        },
      ],
    });
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'running');
    await started;
    await client.call('interruptSession', { session_id });
    await subscriber.waitForStatus(session_id, 'interrupting');
    expect(await statusOf(client, session_id)).toBe('interrupting');
    const { error } = await client.reply('interruptSession', { session_id });
    expect(error?.message).toBe('cannot interrupt session with status interrupting (must be running)');
    end();
    await subscriber.waitForStatus(session_id, 'interrupted');
  });

  it.each([
    [{}, -32602, 'session_id is required'],
    [{ session_id: 'x' }, -32603, 'failed to get session: session not found: x'],
  ])('refuses %j', async (params, code, message) => {
    const { error } = await (await (await hldFixture([])).client()).reply('interruptSession', params);
    expect(error).toMatchObject({ code, message });
  });

  it('refuses a session that has ended', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    const { error } = await client.reply('interruptSession', { session_id });
    expect(error).toEqual({
      code: -32603,
      message: 'cannot interrupt session with status completed (must be running)',
    });
  });
});

describe('updateSessionSettings', () => {
  it('accepts edits from then on, and emits the change', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'completed');
    expect(await client.call('updateSessionSettings', { session_id, auto_accept_edits: true })).toEqual({
      success: true,
    });
    const event = await subscriber.waitFor(({ type }) => type === 'session_settings_changed');
    expect(event.data).toEqual({ session_id, event_type: 'settings_updated', auto_accept_edits: true });
    expect(await listed(client)).toMatchObject([{ auto_accept_edits: true }]);
  });

  it('skips permissions: pending approvals are approved, with the reason', async () => {
    const fixture = await hldFixture([asks(), textAnswer('done')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'waiting_input');
    const approval_id = await pendingApproval(client, session_id);
    await client.call('updateSessionSettings', {
      session_id,
      dangerously_skip_permissions: true,
      dangerously_skip_permissions_timeout_ms: 60_000,
    });
    await subscriber.waitForStatus(session_id, 'completed');
    const event = await subscriber.waitFor(({ type }) => type === 'session_settings_changed');
    expect(event.data).toMatchObject({
      session_id,
      event_type: 'settings_updated',
      dangerously_skip_permissions: true,
    });
    expect(event.data.dangerously_skip_permissions_timeout_ms).toBeLessThanOrEqual(60_000);
    expect(await client.call('getApproval', { approval_id })).toMatchObject({
      approval: { status: 'approved', comment: 'Auto-approved due to bypass permissions' },
    });
  });

  it('keeps an existing expiry, and false removes it', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    const update = (more: JsonObject) => client.call('updateSessionSettings', { session_id, ...more });
    await update({ dangerously_skip_permissions: true });
    const [forever] = await listed(client);
    expect(forever).toMatchObject({ dangerously_skip_permissions: true });
    expect(forever).not.toHaveProperty('dangerously_skip_permissions_expires_at');
    await update({ dangerously_skip_permissions: true, dangerously_skip_permissions_timeout_ms: 60_000 });
    const [timed] = await listed(client);
    await update({ dangerously_skip_permissions: true });
    const [again] = await listed(client);
    expect(again?.dangerously_skip_permissions_expires_at).toBe(
      timed?.dangerously_skip_permissions_expires_at,
    );
    await update({ dangerously_skip_permissions: false });
    expect(await listed(client)).toMatchObject([{ dangerously_skip_permissions: false }]);
  });

  it('emits an event when the time has expired', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const {
      session_id,
      run_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'hi' }, 'completed');
    await client.call('updateSessionSettings', {
      session_id,
      dangerously_skip_permissions: true,
      dangerously_skip_permissions_timeout_ms: 20,
    });
    const event = await subscriber.waitFor(({ data }) => data.reason === 'expired');
    expect(event).toMatchObject({
      type: 'session_settings_changed',
      data: {
        session_id,
        run_id,
        dangerously_skip_permissions: false,
        reason: 'expired',
        expired_at: expect.any(String),
      },
    });
    expect(await listed(client)).toMatchObject([{ dangerously_skip_permissions: false }]);
  });

  it('refuses an unknown session', async () => {
    const { error } = await (await (await hldFixture([])).client()).reply('updateSessionSettings', {
      session_id: 'x',
    });
    expect(error).toEqual({ code: -32603, message: 'failed to get session: session not found: x' });
  });
});

describe('titles, archives, leaves and paths', () => {
  it('a title change is sent to subscribers; an empty title removes it', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query: 'hi' }, 'completed');
    expect(await client.call('updateSessionTitle', { session_id, title: 'New' })).toEqual({ success: true });
    const event = await subscriber.waitFor(({ data }) => data.title === 'New');
    expect(event).toMatchObject({ type: 'session_status_changed', data: { session_id, title: 'New' } });
    await client.call('updateSessionTitle', { session_id, title: '' });
    expect(await listed(client)).toMatchObject([{ title: '' }]);
    const { error } = await client.reply('updateSessionTitle', { session_id: 'x', title: 'y' });
    expect(error).toEqual({ code: -32603, message: 'failed to update session: session not found: x' });
  });

  it('sessions are archived singly and in bulk', async () => {
    const fixture = await hldFixture([textAnswer('a'), textAnswer('b')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    expect(await client.call('archiveSession', { session_id, archived: true })).toEqual({ success: true });
    expect(await listed(client)).toMatchObject([{ archived: true }]);
    expect(await client.call('archiveSession', { session_id })).toEqual({ success: true });
    expect(await listed(client)).toMatchObject([{ archived: false }]);
    expect(
      await client.call('bulkArchiveSessions', { session_ids: [session_id, 'x'], archived: true }),
    ).toEqual({
      success: false,
      failed_sessions: ['x'],
    });
    expect(await listed(client)).toMatchObject([{ archived: true }]);
    const replies = [
      await client.reply('archiveSession', { session_id: 'x', archived: true }),
      await client.reply('bulkArchiveSessions', { session_ids: [] }),
    ];
    expect(replies.map(({ error }) => [error?.code, error?.message])).toEqual([
      [-32603, 'failed to archive session: session not found: x'],
      [-32602, 'session_ids is required and cannot be empty'],
    ]);
  });

  it('leaves are the sessions without a continuation, by kind', async () => {
    const fixture = await hldFixture([textAnswer('a'), textAnswer('b'), textAnswer('c')]);
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(fixture, { query: 'parent' }, 'completed');
    const child = objectOf(await client.call('continueSession', { session_id, query: 'child' }));
    await subscriber.waitForStatus(stringOf(child.session_id), 'completed');
    const draft = await fixture.host.create({ cwd: fixture.cwd });
    const other = await launch(fixture, { query: 'old' }, 'completed');
    await client.call('archiveSession', { session_id: other.session_id, archived: true });
    const ids = async (filter?: string) =>
      (await listed(client, 'getSessionLeaves', filter === undefined ? {} : { filter })).map(({ id }) => id);
    expect(await ids()).toEqual([other.session_id, child.session_id]);
    expect(await ids('normal')).toEqual([child.session_id]);
    expect(await ids('archived')).toEqual([other.session_id]);
    expect(await ids('draft')).toEqual([draft.id]);
    expect(await ids('nonsense')).toHaveLength(2);
    expect(await listed(client)).toHaveLength(3);
    const everything = { include_all: true };
    expect(await listed(client, 'getSessionLeaves', everything)).toHaveLength(3);
    expect(await listed(client, 'listSessions', everything)).toHaveLength(4);
  });

  it('paths are listed with their number of uses, most recent first', async () => {
    const { host, cwd, client: open, directory } = await hldFixture([]);
    const client = await open();
    await host.create({ cwd: directory });
    await host.create({ cwd });
    await host.create({ cwd });
    const { paths } = (await client.call('getRecentPaths', {})) as { paths: JsonObject[] };
    expect(paths).toEqual([
      { path: cwd, last_used: expect.stringMatching(/T[\d:]+Z$/), usage_count: 2 },
      { path: directory, last_used: expect.any(String), usage_count: 1 },
    ]);
    expect(await client.call('getRecentPaths', { limit: 1 })).toMatchObject({ paths: [{ path: cwd }] });
  });

  it('file snapshots are the files that the session has read, latest first', async () => {
    const fixture = await hldFixture([
      calls('read', { path: 'a.txt' }),
      calls('read', { path: 'b.txt' }),
      textAnswer('done'),
    ]);
    writeFileSync(join(fixture.cwd, 'a.txt'), 'first\n[second]\n');
    writeFileSync(join(fixture.cwd, 'b.txt'), 'other\n');
    const { session_id, client } = await launch(fixture, { query: 'read' }, 'completed');
    const { snapshots } = (await client.call('getSessionSnapshots', { session_id })) as {
      snapshots: JsonObject[];
    };
    expect(snapshots).toMatchObject([
      { file_path: 'b.txt', content: 'other' },
      { file_path: 'a.txt', content: 'first\n[second]' },
    ]);
    const { error } = await client.reply('getSessionSnapshots', { session_id: 'x' });
    expect(error?.message).toBe('failed to get session: session not found: x');
  });
});

describe('the complete texts of sessions', () => {
  const query = `Line one\nand ${'very '.repeat(1_000)}long`;
  const answer = `  A list:\n\n- ${'item '.repeat(500)}\n- end\n`;

  it('are listed for sessions of any door, also if their pods are not in memory', async () => {
    const fixture = await hldFixture([textAnswer(answer), textAnswer(answer), textAnswer('the last')]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query }, 'completed');
    const pod = await fixture.host.create({ cwd: fixture.cwd });
    await pod.handle(promptCommand(query), ADA);
    await subscriber.waitForStatus(pod.id, 'completed');
    const child = (await client.call('continueSession', { session_id, query: `${query}?` })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
    const expected = [
      { id: child.session_id, query: `${query}?`, result: { result: 'the last' } },
      { id: pod.id, query, result: { result: answer } },
      { id: session_id, query, result: { result: answer } },
    ];
    expect(await listed(client)).toMatchObject(expected);
    for (const { id } of expected) await fixture.host.close(id);
    expect(await listed(client)).toMatchObject(expected);
    await fixture.restart();
    const again = await fixture.client();
    expect(await listed(again)).toMatchObject(expected);
    for (const { id, query: whole } of expected)
      expect(await again.call('getSessionState', { session_id: id })).toMatchObject({
        session: { query: whole },
      });
  });

  it('are those of the last answer, also if the request was repeated', async () => {
    const fixture = await hldFixture([
      textAnswer('one'),
      textAnswer('two'),
      { parts: [], fault: { kind: '401' } },
    ]);
    const { session_id, client, subscribe: subscriber } = await launch(fixture, { query }, 'completed');
    expect(await listed(client)).toMatchObject([{ result: { result: 'one' } }]);
    const { runId } = await fixture.host.pod(session_id).handle(promptCommand('And then?'), ADA);
    await subscriber.waitFor(({ data }) => data.new_status === 'completed' && data.run_id === runId);
    expect(await listed(client)).toMatchObject([{ query, result: { result: 'two' } }]);
    // A failed child has no answer; its parent's answer is not its result.
    const child = (await client.call('continueSession', { session_id, query: 'On' })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'failed');
    expect(await listed(client)).toMatchObject([{ query: 'On', result: { result: '' } }, { id: session_id }]);
  });

  it('are limited to those of the index row if the file cannot be read', async () => {
    const fixture = await hldFixture([textAnswer(answer)]);
    const { session_id, client } = await launch(fixture, { query }, 'completed');
    await fixture.host.close(session_id);
    rmSync(fixture.host.fileOf(session_id));
    const [session] = await listed(client);
    expect(query.startsWith(stringOf(session?.query))).toBe(true);
    expect(objectOf(session?.result).result).toMatch(/^A list: - item/);
  });
});

it('a failed session reports its reason', async () => {
  const fixture = await hldFixture([{ parts: [{ text: 'x' }], fault: { kind: '401' } }]);
  const { session_id, client } = await launch(fixture, { query: 'hi' }, 'failed');
  const [session] = await listed(client);
  expect(stringOf(session?.error)).not.toBe('');
  expect(session).toMatchObject({ status: 'failed', result: { is_error: true, error: session?.error } });
  expect(objectOf(await client.call('getSessionState', { session_id })).session).toMatchObject({
    error_message: session?.error,
  });
});
