import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JsonObject, objectOf } from '../../../src/base/index.ts';
import { Listener, hostFixture } from '../../pod/fixture.ts';
import {
  asks,
  calls,
  changesOf,
  Client,
  hldFixture,
  launch,
  openDoor,
  pendingApproval,
  textAnswer,
  STALLS,
  statusOf,
} from './fixture.ts';

describe('after a restart', () => {
  it('subscribers receive every event of a run that was in progress before the door opened', async () => {
    const { host, cwd } = await hostFixture([STALLS]);
    const pod = await host.create({ cwd });
    await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'go' }] });
    await new Listener(pod, 0).waitForType('block-delta');
    const path = join(cwd, 'daemon.sock');
    const door = await openDoor(host, path, cwd);
    onTestFinished(() => door.close());
    const client = await Client.open(path);
    client.send({ jsonrpc: '2.0', method: 'Subscribe', params: { session_id: pod.id }, id: 'sub' });
    await client.line(0);
    await pod.handle({ type: 'cancel' });
    await client.waitForStatus(pod.id, 'interrupted');
    expect(changesOf(client, pod.id)).toEqual(['running→interrupting', 'running→interrupted']);
  });

  it('sessions, conversations, approvals and settings are restored', async () => {
    const fixture = await hldFixture([
      calls('read', { path: 'file' }),
      asks(),
      textAnswer('one'),
      textAnswer('two'),
    ]);
    writeFileSync(join(fixture.cwd, 'file'), 'text\n');
    const {
      session_id,
      client,
      subscribe: subscriber,
    } = await launch(
      fixture,
      { query: 'first', title: 'Kept', model: 'opus', dangerously_skip_permissions: false },
      'waiting_input',
    );
    const approval_id = await pendingApproval(client, session_id);
    await client.call('sendDecision', { approval_id, decision: 'approve', comment: 'ok' });
    await subscriber.waitForStatus(session_id, 'completed');
    const child = objectOf(await client.call('continueSession', { session_id, query: 'second' }));
    await subscriber.waitForStatus(String(child.session_id), 'completed');
    await client.call('updateSessionSettings', {
      session_id,
      auto_accept_edits: true,
      dangerously_skip_permissions: true,
      dangerously_skip_permissions_timeout_ms: 600_000,
    });
    await client.call('archiveSession', { session_id, archived: true });
    const questions: readonly (readonly [string, JsonObject])[] = [
      ['listSessions', {}],
      ['getSessionState', { session_id }],
      ['getSessionState', { session_id: child.session_id }],
      ['getConversation', { session_id: child.session_id }],
      ['getConversation', { claude_session_id: child.claude_session_id }],
      ['getApproval', { approval_id }],
      ['getSessionSnapshots', { session_id }],
      ['getSessionLeaves', {}],
      ['getRecentPaths', {}],
    ];
    const before = [];
    for (const [method, params] of questions) before.push(await client.call(method, params));
    await fixture.restart();
    const again = await fixture.client();
    const after = [];
    for (const [method, params] of questions) after.push(await again.call(method, params));
    expect(after).toEqual(before);
  });

  it.each(['a restart', 'a kill', 'the catalogue is made again'] as const)(
    'drafts and discarded sessions are restored, after %s',
    async (how) => {
      const fixture = await hldFixture([textAnswer('ok')]);
      const draft = await fixture.host.create({ cwd: fixture.cwd });
      const discarded = await fixture.host.create({ cwd: fixture.cwd });
      await discarded.handle({ type: 'close' });
      const { session_id } = await launch(fixture, { query: 'hi' }, 'completed');
      await fixture.host.pod(session_id).handle({ type: 'close' });
      const host = how === 'the catalogue is made again' ? fixture.host : undefined;
      await host?.sessions.rebuild();
      if (host === undefined) await fixture.restart(how === 'a kill' ? 'kill' : 'shutdown');
      const client = await fixture.client();
      expect(await statusOf(client, draft.id)).toBe('draft');
      expect(await statusOf(client, discarded.id)).toBe('discarded');
      expect(await statusOf(client, session_id)).toBe('completed');
    },
  );

  it('a child inherits the launch options of a parent from before the restart', async () => {
    const fixture = await hldFixture([textAnswer('one'), textAnswer('two')]);
    const mcp_config = { mcpServers: { files: { command: process.execPath, args: ['-e', '1'] } } };
    const { session_id } = await launch(
      fixture,
      {
        query: 'hi',
        mcp_config,
        system_prompt: 'You are a cook.',
        custom_instructions: 'No salt.',
        disallowed_tools: ['Bash'],
        additional_directories: ['/'],
      },
      'completed',
    );
    const host = await fixture.restart();
    const [client, subscriber] = [await fixture.client(), await fixture.subscribe()];
    const child = objectOf(await client.call('continueSession', { session_id, query: 'on' }));
    await subscriber.waitForStatus(String(child.session_id), 'completed');
    const { settings } = await host.pod(String(child.session_id)).snapshot();
    expect(settings).toMatchObject({
      mcpConfig: mcp_config,
      system: 'You are a cook.',
      appendSystem: expect.stringContaining('No salt.'),
      rules: [{ tool: 'bash', action: 'deny' }],
      paths: ['/'],
    });
  });

  it.each(['shutdown', 'kill'] as const)(
    'a session that waits for a decision still waits after a %s, and continues with it',
    async (how) => {
      const fixture = await hldFixture([asks(), textAnswer('done')]);
      const { session_id, client } = await launch(fixture, { query: 'hi' }, 'waiting_input');
      const approval_id = await pendingApproval(client, session_id);
      await fixture.restart(how);
      const again = await fixture.client();
      const subscriber = await fixture.subscribe();
      expect(await statusOf(again, session_id)).toBe('waiting_input');
      expect(await pendingApproval(again, session_id)).toBe(approval_id);
      expect(await again.call('sendDecision', { approval_id, decision: 'approve' })).toEqual({
        success: true,
      });
      await subscriber.waitForStatus(session_id, 'completed');
      expect(await subscriber.waitFor(({ type }) => type === 'approval_resolved')).toMatchObject({
        data: { approval_id, tool_use_id: expect.any(String) },
      });
      expect(changesOf(subscriber, session_id).at(-1)).toBe('running→completed');
    },
  );

  it('a session that was running when the process was killed is failed, with the reason, and can be continued', async () => {
    const fixture = await hldFixture([STALLS, textAnswer('done')]);
    const { session_id } = await launch(fixture, { query: 'hi' }, 'running');
    await fixture.restart('kill');
    const client = await fixture.client();
    const subscriber = await fixture.subscribe();
    expect(objectOf(await client.call('getSessionState', { session_id })).session).toMatchObject({
      status: 'failed',
      error_message: 'daemon restarted while session was active',
    });
    const child = objectOf(await client.call('continueSession', { session_id, query: 'go on' }));
    await subscriber.waitForStatus(String(child.session_id), 'completed');
  });

  it('a session that was running when the process exited is interrupted, not interrupting forever', async () => {
    const fixture = await hldFixture([STALLS]);
    const { session_id } = await launch(fixture, { query: 'hi' }, 'running');
    await fixture.restart('shutdown');
    expect(await statusOf(await fixture.client(), session_id)).toBe('interrupted');
  });

  it('a session that was being interrupted when the process was killed has ended', async () => {
    const fixture = await hldFixture([STALLS]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'running');
    await client.call('interruptSession', { session_id });
    await fixture.restart('kill');
    expect(['interrupted', 'failed']).toContain(await statusOf(await fixture.client(), session_id));
  });

  it('an approval of an ended session does not restart it', async () => {
    const fixture = await hldFixture([textAnswer('ok')]);
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    const { approval_id } = objectOf(
      await client.call('createApproval', {
        run_id: session_id,
        tool_name: 'Bash',
        tool_input: {},
        tool_use_id: 't',
      }),
    );
    await fixture.restart('kill');
    const again = await fixture.client();
    expect(await again.call('fetchApprovals', { session_id })).toMatchObject({
      approvals: [{ id: approval_id }],
    });
    expect(await again.call('sendDecision', { approval_id, decision: 'approve' })).toEqual({ success: true });
    expect(await statusOf(again, session_id)).toBe('completed');
    expect(fixture.sim.requests).toHaveLength(1);
  });

  it('permissions that were skipped for a time are required again after it', async () => {
    let later = 0;
    const fixture = await hldFixture([textAnswer('ok')], { hld: { now: () => Date.now() + later } });
    const { session_id, client } = await launch(fixture, { query: 'hi' }, 'completed');
    await client.call('updateSessionSettings', {
      session_id,
      dangerously_skip_permissions: true,
      dangerously_skip_permissions_timeout_ms: 600_000,
    });
    const skips = async () => {
      const { session } = objectOf(await (await fixture.client()).call('getSessionState', { session_id }));
      return objectOf(session).dangerously_skip_permissions;
    };
    await fixture.restart();
    expect(await skips()).toBe(true);
    later = 600_000;
    expect(await skips()).toBe(false);
  });
});
