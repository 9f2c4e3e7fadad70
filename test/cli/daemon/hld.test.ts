import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVERYTHING } from '../../mcp/fixture.ts';
import { Client, type Launched, pendingApproval, statusOf } from '../../protocols/hld/fixture.ts';
import { call, textAnswer, type CliFixture, cliFixture } from '../daemon.ts';
import { type Running, start, temporaryDirectory } from '../polypod.ts';

/** The default socket path of the clients. */
const socketOf = ({ home }: Pick<CliFixture, 'home'>): string => join(home, '.humanlayer/daemon.sock');

async function subscribe(path: string): Promise<Client> {
  const subscriber = await Client.open(path);
  subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
  await subscriber.line(0);
  return subscriber;
}

/** Starts `polypod hld` and waits until it is ready. */
async function hld(env: CliFixture['env'], ...args: readonly string[]): Promise<Running> {
  const running = start(['hld', '--json', ...args], env);
  const end = running.finished.then(({ code, stderr }) => {
    throw new Error(`hld ended with ${code}: ${stderr}`);
  });
  end.catch(() => {});
  await Promise.race([running.waitForOutput('{"pid":'), end]);
  return running;
}

describe('polypod serve and the HLD door', () => {
  it('listens where clients connect, also offline', async () => {
    const fixture = await cliFixture();
    await fixture.serve('--offline');
    const path = socketOf(fixture);
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600');
    expect((statSync(join(path, '..')).mode & 0o777).toString(8)).toBe('700');
    const client = await Client.open(path);
    expect(await client.call('health')).toMatchObject({ status: 'ok' });
    const subscriber = await subscribe(path);
    const { session_id } = (await client.call('launchSession', {
      query: "[[sim text='Hello there.']]",
      title: 'Greeting',
      model: 'opus',
      working_dir: fixture.project,
    })) as Launched;
    await subscriber.waitForStatus(session_id, 'completed');
    expect(await client.call('listSessions')).toMatchObject({
      sessions: [{ id: session_id, title: 'Greeting', result: { result: 'Hello there.' } }],
    });
    // It is a session like any other.
    expect((await fixture.polypod('ls')).stdout).toContain('Greeting');
    expect((await fixture.polypod('status')).stdout).toContain('hld open');
    expect((await fixture.polypod('stop')).code).toBe(0);
    expect(existsSync(path)).toBe(false);
  });

  it('resolves the model names of Claude Code, and ignores unknown names', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    await fixture.serve();
    const path = socketOf(fixture);
    const [client, subscriber] = [await Client.open(path), await subscribe(path)];
    for (const model of ['sonnet', 'gpt-nobody-has']) {
      const { session_id } = (await client.call('launchSession', { query: 'Go', model })) as Launched;
      await subscriber.waitForStatus(session_id, 'completed');
    }
    const rows = JSON.parse((await fixture.polypod('ls', '--json')).stdout) as { model?: string }[];
    expect(rows.at(-1)?.model).toMatch(/^anthropic\/claude-sonnet-/);
    expect(readFileSync(join(fixture.dataDirectory, 'logs/polypod.log'), 'utf8')).toContain('gpt-nobody-has');
  });

  it('uses the MCP servers that the client names', async () => {
    const fixture = await cliFixture([
      call('mcp__everything__get-sum', { a: 2, b: 40 }),
      textAnswer('Done.'),
    ]);
    await fixture.serve();
    const path = socketOf(fixture);
    const [client, subscriber] = [await Client.open(path), await subscribe(path)];
    const { session_id } = (await client.call('launchSession', {
      query: 'Add',
      mcp_config: { mcpServers: { everything: { command: process.execPath, args: [EVERYTHING] } } },
      allowed_tools: ['mcp__everything'],
    })) as Launched;
    await subscriber.waitForStatus(session_id, 'completed');
    expect(JSON.stringify(await client.call('getConversation', { session_id }))).toContain(
      'The sum of 2 and 40 is 42',
    );
  });

  it('stays closed if it is disabled in the configuration', async () => {
    const fixture = await cliFixture();
    fixture.configure('doors: { hld: false }\n');
    await fixture.serve();
    expect((await fixture.polypod('status')).stdout).toContain('hld off');
    expect(existsSync(socketOf(fixture))).toBe(false);
  });

  it('starts without the door if another daemon uses the socket, and reports it', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const other = join(fixture.home, 'other');
    await fixture.serve('--data-dir', other);
    const conflict = `daemon already running at ${socketOf(fixture)}: end it, or set HUMANLAYER_DAEMON_SOCKET`;
    const status = await fixture.polypod('status', '--data-dir', other);
    expect(status.code).toBe(0);
    expect(status.stdout).toContain(`hld unavailable (${conflict})`);
    expect(status.stdout).toContain('pod open');
    expect(readFileSync(join(other, 'logs/polypod.log'), 'utf8')).toContain(conflict);
    // When it ends, the socket of the first process still exists.
    expect((await fixture.polypod('stop', '--data-dir', other)).code).toBe(0);
    expect(await (await Client.open(socketOf(fixture))).call('health')).toMatchObject({ status: 'ok' });
  });
});

describe('polypod approvals', () => {
  it('lists pending approvals, approves them, and denies them with a comment that the model receives', async () => {
    const fixture = await cliFixture([
      call('bash', { command: 'touch one.txt' }),
      textAnswer('Made.'),
      call('bash', { command: 'touch two.txt' }),
      textAnswer('Left.'),
    ]);
    await fixture.serve();
    expect(await fixture.polypod('approvals')).toMatchObject({
      code: 0,
      stderr: 'there are no pending approvals\n',
    });
    const path = socketOf(fixture);
    const [client, subscriber] = [await Client.open(path), await subscribe(path)];
    const ask = async (title: string): Promise<string> => {
      const { session_id } = (await client.call('launchSession', {
        query: 'Write',
        title,
        working_dir: fixture.project,
      })) as Launched;
      await subscriber.waitForStatus(session_id, 'waiting_input');
      return session_id;
    };

    const first = await ask('First');
    const wireId = await pendingApproval(client, first);
    const [waiting] = JSON.parse((await fixture.polypod('approvals', '--json')).stdout) as { id: string }[];
    expect(waiting).toMatchObject({ session: first, name: 'First', tool: 'bash', cwd: fixture.project });
    expect(wireId).toBe(`local-${waiting?.id}`);
    const { stdout } = await fixture.polypod('approvals');
    expect(stdout).toMatch(/^[0-9a-f]{8} +First +\d+ s +bash\n {2}command: .*touch one/);
    const approve = await fixture.polypod('approvals', 'approve', stdout.split(' ')[0] ?? '');
    expect(approve).toMatchObject({ code: 0, stderr: expect.stringContaining('polypod: approved ') });
    await subscriber.waitForStatus(first, 'completed');
    expect(existsSync(join(fixture.project, 'one.txt'))).toBe(true);
    expect(await fixture.polypod('approvals', 'approve', wireId)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it may already be decided'),
    });

    const second = await ask('Second');
    const id = await pendingApproval(client, second);
    const bare = await fixture.polypod('approvals', 'deny', id);
    expect(bare).toMatchObject({ code: 2, stderr: expect.stringContaining('deny needs --comment') });
    const deny = await fixture.polypod('approvals', 'deny', id, '--comment', 'Not that one.', '--json');
    expect(JSON.parse(deny.stdout)).toMatchObject([
      { session: second, decision: 'deny', comment: 'Not that one.' },
    ]);
    await subscriber.waitForStatus(second, 'completed');
    expect(existsSync(join(fixture.project, 'two.txt'))).toBe(false);
    expect(JSON.stringify(fixture.sim.requests.at(-1)?.body)).toContain(
      'ada denied this call: Not that one.',
    );
  });

  it('rejects an ambiguous id prefix', async () => {
    const fixture = await cliFixture([
      call('bash', { command: 'touch a' }),
      call('bash', { command: 'touch b' }),
    ]);
    await fixture.serve();
    const path = socketOf(fixture);
    const [client, subscriber] = [await Client.open(path), await subscribe(path)];
    for (const query of ['One', 'Two']) {
      const { session_id } = (await client.call('launchSession', { query })) as Launched;
      await subscriber.waitForStatus(session_id, 'waiting_input');
    }
    const ids = (JSON.parse((await fixture.polypod('approvals', '--json')).stdout) as { id: string }[]).map(
      ({ id }) => id,
    );
    const common = (ids[0] ?? '').slice(0, 4);
    const several = await fixture.polypod('approvals', 'approve', common);
    expect(several).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`"${common}" matches 2 approvals`),
    });
  });

  it('explains what to do without a daemon, and rejects unknown actions', async () => {
    const fixture = await cliFixture();
    expect(await fixture.polypod('approvals')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no daemon is up'),
    });
    expect(await fixture.polypod('approvals', 'allow', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unknown action "allow": use list, show, watch, approve or deny'),
    });
    expect(await fixture.polypod('approvals', 'approve')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('approve needs the id of an approval'),
    });
  });
});

describe('polypod hld', () => {
  it('serves only HLD, and stops cleanly', async () => {
    const fixture = await cliFixture([textAnswer('Hello.')]);
    // The command opens the door explicitly: the configuration disables it only for serve.
    fixture.configure('doors: { hld: false }\n');
    const running = await hld(fixture.env);
    const path = socketOf(fixture);
    expect(JSON.parse(running.output().stdout)).toMatchObject({ pid: running.child.pid, socket: path });
    const [client, subscriber] = [await Client.open(path), await subscribe(path)];
    const { session_id } = (await client.call('launchSession', { query: 'Hi' })) as Launched;
    await subscriber.waitForStatus(session_id, 'completed');
    expect(await statusOf(client, session_id)).toBe('completed');
    expect((await fixture.polypod('status')).stdout).toContain('doors   hld open\n');
    expect(existsSync(join(fixture.dataDirectory, 'run/pods'))).toBe(false);
    running.child.kill('SIGTERM');
    expect((await running.finished).code).toBe(0);
    expect(existsSync(path)).toBe(false);
    expect(existsSync(join(fixture.dataDirectory, 'daemon.lock'))).toBe(false);
  });

  it('stops cleanly during a run, which is interrupted and can be resumed', async () => {
    const fixture = await cliFixture([
      { parts: [{ text: 'I begin' }], fault: { kind: 'stall', after: 1 } },
      textAnswer('On.'),
    ]);
    fixture.configure('shutdown_grace: 10ms\n');
    const first = await hld(fixture.env);
    const path = socketOf(fixture);
    const client = await Client.open(path);
    const { session_id } = (await client.call('launchSession', { query: 'Hi' })) as Launched;
    first.child.kill('SIGTERM');
    expect((await first.finished).code).toBe(0);
    await hld(fixture.env);
    const [again, subscriber] = [await Client.open(path), await subscribe(path)];
    expect(await statusOf(again, session_id)).toBe('interrupted');
    const child = (await again.call('continueSession', { session_id, query: 'On' })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
  });

  it('exits with 1 if a daemon uses the socket, and does not disturb it', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const path = socketOf(fixture);
    const conflict = `polypod hld: daemon already running at ${path}: end it, or set HUMANLAYER_DAEMON_SOCKET\n`;
    expect(await fixture.polypod('hld')).toMatchObject({ code: 1, stderr: conflict });
    const other = join(fixture.home, 'other');
    expect(await fixture.polypod('hld', '--data-dir', other)).toMatchObject({ code: 1, stderr: conflict });
    expect(existsSync(other)).toBe(false);
    expect(await (await Client.open(path)).call('health')).toMatchObject({ status: 'ok' });
  });

  it('exits with 1 if a daemon uses the data directory', async () => {
    const fixture = await cliFixture();
    fixture.configure('doors: { hld: false }\n');
    await fixture.serve();
    const { code, stderr } = await fixture.polypod('hld');
    expect(code).toBe(1);
    expect(stderr).toContain(`a daemon is up already on ${fixture.dataDirectory}`);
  });

  it('listens on the given path, and replaces a stale socket', async () => {
    const fixture = await cliFixture();
    const directory = join(fixture.home, 'sockets');
    mkdirSync(directory, { mode: 0o700 });
    const path = join(directory, 'd.sock');
    const killed = await hld(fixture.env, '--socket', path, '--offline');
    killed.child.kill('SIGKILL');
    await killed.finished;
    expect(existsSync(path)).toBe(true);
    await hld(fixture.env, '--socket', 'sockets/d.sock', '--data-dir', join(fixture.home, 'data'));
    expect(await (await Client.open(path)).call('health')).toMatchObject({ status: 'ok' });
    expect(existsSync(socketOf(fixture))).toBe(false);
  });

  it('does not start without its door', async () => {
    const fixture = await cliFixture();
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, '');
    const { code, stderr } = await fixture.polypod('hld', '--socket', path);
    expect(code).toBe(1);
    expect(stderr).toContain(`${path} already exists and is not a socket`);
    expect(readFileSync(path, 'utf8')).toBe('');
    expect(existsSync(join(fixture.dataDirectory, 'daemon.lock'))).toBe(false);
  });
});
