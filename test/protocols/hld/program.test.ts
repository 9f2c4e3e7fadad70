import { existsSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { call, textAnswer, type CliFixture, cliFixture } from '../../cli/daemon.ts';
import { changesOf, Client, type Launched, pendingApproval, STALLS } from './fixture.ts';

const socketOf = ({ home }: CliFixture): string => join(home, '.humanlayer/daemon.sock');

async function clients(
  fixture: CliFixture,
): Promise<{ readonly client: Client; readonly subscriber: Client }> {
  const [client, subscriber] = [await Client.open(socketOf(fixture)), await Client.open(socketOf(fixture))];
  subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
  await subscriber.line(0);
  return { client, subscriber };
}

async function listed(client: Client, params: JsonObject = {}): Promise<readonly JsonObject[]> {
  const { sessions } = (await client.call('listSessions', params)) as { sessions: JsonObject[] };
  return sessions;
}

async function state(client: Client, session_id: string): Promise<JsonObject> {
  const { session } = (await client.call('getSessionState', { session_id })) as { session: JsonObject };
  return session;
}

async function done(client: Client, subscriber: Client, params: JsonObject): Promise<Launched> {
  const launched = (await client.call('launchSession', params)) as Launched;
  await subscriber.waitForStatus(launched.session_id, 'completed');
  return launched;
}

/** The names of the tools in the last request to the model. */
function offered({ sim }: CliFixture): readonly string[] {
  const body = sim.requests.at(-1)?.body as { tools?: { name: string }[] } | undefined;
  return (body?.tools ?? []).map(({ name }) => name);
}

describe('a strict client of the built program', () => {
  it('receives only statuses of the protocol, and no session without a prompt', async () => {
    const fixture = await cliFixture([STALLS, textAnswer('Done.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id } = (await client.call('launchSession', { query: 'Wait' })) as Launched;
    await subscriber.waitForStatus(session_id, 'running');
    await client.call('interruptSession', { session_id });
    const { data } = await subscriber.waitForStatus(session_id, 'interrupted');
    expect(data).toMatchObject({ old_status: 'running', new_status: 'completed', detail: 'interrupted' });
    expect(changesOf(subscriber, session_id)).toEqual([
      'starting→running',
      'running→interrupting',
      'running→interrupted',
    ]);
    expect((await fixture.polypod('new', '--name', 'Empty')).code).toBe(0);
    // The client itself refuses every line with another status.
    expect(await listed(client)).toMatchObject([
      { id: session_id, status: 'completed', detail: 'interrupted', end_time: expect.any(String) },
    ]);
    expect(await state(client, session_id)).toMatchObject({ status: 'completed', detail: 'interrupted' });
    expect(await listed(client, { include_all: true })).toMatchObject([
      { title: 'Empty', status: 'starting', detail: 'draft' },
      { id: session_id },
    ]);
    expect(await client.call('getSessionLeaves', {})).toMatchObject({ sessions: [{ id: session_id }] });
    expect(await client.call('getSessionLeaves', { filter: 'draft' })).toMatchObject({
      sessions: [{ title: 'Empty', status: 'starting', detail: 'draft' }],
    });
  });

  it('sees a session that was running when the daemon was killed as failed, with the reason', async () => {
    const fixture = await cliFixture([STALLS]);
    const daemon = await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id, run_id } = (await client.call('launchSession', { query: 'Wait' })) as Launched;
    await subscriber.waitForStatus(session_id, 'running');
    daemon.child.kill('SIGKILL');
    await daemon.finished;
    await fixture.serve();
    const again = await clients(fixture);
    expect(await state(again.client, session_id)).toMatchObject({
      status: 'failed',
      run_id,
      error_message: 'daemon restarted while session was active',
    });
  });

  it('finds a run by its run_id after a restart, when it continues', async () => {
    const fixture = await cliFixture([call('bash', { command: 'touch made' }), textAnswer('Made.')]);
    const daemon = await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id, run_id } = (await client.call('launchSession', {
      query: 'Go',
      working_dir: fixture.project,
    })) as Launched;
    await subscriber.waitForStatus(session_id, 'waiting_input');
    const approval_id = await pendingApproval(client, session_id);
    daemon.child.kill('SIGKILL');
    await daemon.finished;
    await fixture.serve();
    const again = await clients(fixture);
    expect(await state(again.client, session_id)).toMatchObject({ status: 'waiting_input', run_id });
    await again.client.call('sendDecision', { approval_id, decision: 'approve' });
    const { data } = await again.subscriber.waitForStatus(session_id, 'completed');
    expect(data.run_id).toBe(run_id);
    expect(await state(again.client, session_id)).toMatchObject({ run_id });
    expect(existsSync(join(fixture.project, 'made'))).toBe(true);
  });
});

describe('sessions of the built program', () => {
  it('keep the time of their last activity when they are renamed, archived and configured', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const first = await done(client, subscriber, { query: 'One', title: 'First' });
    const second = await done(client, subscriber, { query: 'Two' });
    const before = await listed(client);
    expect(before.map(({ id }) => id)).toEqual([second.session_id, first.session_id]);
    const { session_id } = first;
    const title = `A title\nof several lines, ${'long '.repeat(100)}\u202Eand odd.`;
    await client.call('updateSessionTitle', { session_id, title });
    await client.call('archiveSession', { session_id, archived: true });
    await client.call('updateSessionSettings', { session_id, auto_accept_edits: true });
    const after = await listed(client);
    expect(after).toEqual([before[0], { ...before[1], title, archived: true, auto_accept_edits: true }]);
    expect(await subscriber.waitFor(({ data }) => data.title !== undefined)).toMatchObject({
      data: { title },
    });
    // Other doors have a name of one line, and can change it.
    const [row] = JSON.parse((await fixture.polypod('ls', '--json', '--all')).stdout).filter(
      ({ id }: { id: string }) => id === session_id,
    ) as { name: string }[];
    expect(row?.name).toMatch(/^A title of several lines, long .{100,175}$/);
    // The list is the same when it is rebuilt from the files.
    await fixture.polypod('stop');
    await fixture.serve();
    const again = await clients(fixture);
    expect(await listed(again.client)).toEqual(after);
    await again.client.call('updateSessionTitle', { session_id, title: 'Short' });
    expect(await state(again.client, session_id)).toMatchObject({ title: 'Short' });
  });

  it('have a long title of several lines from the start, also after they are continued', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const title = `${'very '.repeat(1_000)}long\r\ntitle`;
    const { session_id } = await done(client, subscriber, { query: 'One', title });
    const child = (await client.call('continueSession', { session_id, query: 'Two' })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
    expect((await listed(client)).map((session) => session.title)).toEqual([title, title]);
  });

  it('have their complete prompt and answer in lists, also after a restart', async () => {
    const query = `Do this:\n${'and this, '.repeat(1_000)}\nplease.`;
    const answer = `Done:\n\n${'one more, '.repeat(1_000)}\nend.`;
    const fixture = await cliFixture([textAnswer(answer)]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id } = await done(client, subscriber, { query });
    const expected = [{ id: session_id, query, result: { result: answer } }];
    expect(await listed(client)).toMatchObject(expected);
    expect(await client.call('getSessionLeaves', {})).toMatchObject({ sessions: expected });
    await fixture.polypod('stop');
    await fixture.serve();
    const again = await clients(fixture);
    expect(await listed(again.client)).toMatchObject(expected);
    expect(await state(again.client, session_id)).toMatchObject({ query });
  });

  it('always show their model, and report the timeout that was set', async () => {
    const fixture = await cliFixture([textAnswer('One.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id } = await done(client, subscriber, { query: 'One' });
    const names = { model: expect.stringMatching(/^[a-z]/), model_id: expect.stringMatching(/^claude-/) };
    expect(await listed(client)).toMatchObject([names]);
    expect(await state(client, session_id)).toMatchObject(names);
    await client.call('updateSessionSettings', {
      session_id,
      dangerously_skip_permissions: true,
      dangerously_skip_permissions_timeout_ms: 123_456,
    });
    const { data } = await subscriber.waitFor(({ type }) => type === 'session_settings_changed');
    expect(data).toMatchObject({ dangerously_skip_permissions_timeout_ms: 123_456 });
  });

  it('are refused with a null character in a path', async () => {
    const fixture = await cliFixture();
    await fixture.serve('--offline');
    const { client } = await clients(fixture);
    const paths = [
      { working_dir: '/tmp\0/x' },
      { working_dir: '~/\0' },
      { additional_directories: ['/tmp\0'] },
    ] as const;
    for (const params of paths)
      expect(await client.reply('launchSession', { query: 'Go', ...params })).toMatchObject({
        error: { code: -32602, data: { field: Object.keys(params)[0] } },
      });
    expect(await listed(client, { include_all: true })).toEqual([]);
  });

  it('hide disallowed_tools from the model, also after they are continued', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.'), textAnswer('Three.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id } = await done(client, subscriber, {
      query: 'One',
      disallowed_tools: ['Bash', 'Write', 'Edit(src/**)'],
    });
    expect(offered(fixture)).toEqual(expect.arrayContaining(['read', 'edit', 'grep']));
    expect(offered(fixture)).not.toContain('bash');
    expect(offered(fixture)).not.toContain('write');
    const child = (await client.call('continueSession', { session_id, query: 'Two' })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
    expect(offered(fixture)).not.toContain('bash');
    const other = (await client.call('continueSession', {
      session_id,
      query: 'Three',
      disallowed_tools: ['Read'],
    })) as Launched;
    await subscriber.waitForStatus(other.session_id, 'completed');
    expect(offered(fixture)).toEqual(expect.arrayContaining(['bash', 'write']));
    expect(offered(fixture)).not.toContain('read');
  });

  it('require approval for edits in their directory, unless the client accepts edits', async () => {
    const write = call('write', { path: 'x.txt', content: 'x' });
    const edit = call('edit', { path: 'x.txt', edits: [{ old: 'x', new: 'y' }] });
    const fixture = await cliFixture([
      write,
      edit,
      textAnswer('Done.'),
      write,
      textAnswer('Done.'),
      write,
      textAnswer('Done.'),
    ]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id } = (await client.call('launchSession', {
      query: 'Write',
      working_dir: fixture.project,
    })) as Launched;
    await subscriber.waitForStatus(session_id, 'waiting_input');
    expect(await state(client, session_id)).toMatchObject({ auto_accept_edits: false });
    expect(await client.call('fetchApprovals', {})).toMatchObject({ approvals: [{ tool_name: 'write' }] });
    expect(existsSync(join(fixture.project, 'x.txt'))).toBe(false);
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await subscriber.waitFor(({ type, data }) => type === 'new_approval' && data.tool_name === 'edit');
    // From here on edits are accepted; pending approvals must still be decided.
    await client.call('updateSessionSettings', { session_id, auto_accept_edits: true });
    await client.call('sendDecision', {
      approval_id: await pendingApproval(client, session_id),
      decision: 'approve',
    });
    await subscriber.waitForStatus(session_id, 'completed');
    const child = (await client.call('continueSession', { session_id, query: 'Again' })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
    await done(client, subscriber, {
      query: 'Write',
      working_dir: fixture.project,
      allowed_tools: ['Write'],
    });
    expect(subscriber.events.filter(({ type }) => type === 'new_approval')).toHaveLength(2);
  });

  it('of other doors keep their mode when they are continued over HLD', async () => {
    const fixture = await cliFixture([
      textAnswer('One.'),
      call('write', { path: 'x.txt', content: 'x' }),
      textAnswer('Done.'),
    ]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    expect((await fixture.polypod('run', '--cwd', fixture.project, 'Begin')).code).toBe(0);
    const [session] = await listed(client);
    const child = (await client.call('continueSession', {
      session_id: session?.id,
      query: 'On',
    })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
    expect(existsSync(join(fixture.project, 'x.txt'))).toBe(true);
  });
});

it('the built program accepts 1,000 simultaneous connections', async () => {
  const fixture = await cliFixture();
  await fixture.serve('--offline');
  const sockets = Array.from({ length: 1_000 }, () => connect(socketOf(fixture)));
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  const answers = await Promise.all(sockets.map(answer));
  expect(new Set(answers)).toEqual(
    new Set(['{"jsonrpc":"2.0","result":{"status":"ok","version":"0.1.0"},"id":1}\n']),
  );
});

function answer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('data', (text: Buffer) => resolve(text.toString()));
    socket.write('{"jsonrpc":"2.0","method":"health","id":1}\n');
  });
}
