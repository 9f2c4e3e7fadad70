import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ControlLink, openControlLink } from '../../../src/control/index.ts';
import { sessionsIn } from '../../../src/pod/sessions.ts';
import { dataPathsFrom, hostSocket, hostSockets } from '../../../src/setup/index.ts';
import { type Home, newHome } from '../chat/chat-fixture.ts';
import { cliFixture } from '../daemon.ts';
import { polypod, type Running, start } from '../polypod.ts';

const SOON = { timeout: 20_000 };

/** A chat that hosts its session itself, stays open and can be joined. */
async function owner({ env }: Pick<Home, 'env'>): Promise<Running> {
  const running = start(['chat', '--offline', '--no-daemon', 'one [[sim text=first-answer]]'], env);
  await running.waitForOutput('\nfirst-answer\n');
  const socket = hostSocket(dataPathsFrom(env), running.child.pid ?? 0);
  await expect.poll(() => existsSync(socket), SOON).toBe(true);
  return running;
}

async function linkTo({ env }: Home, { child }: Running): Promise<ControlLink> {
  const link = await openControlLink(hostSocket(dataPathsFrom(env), child.pid ?? 0), 'host');
  if (link === undefined) throw new Error('the process does not listen');
  onTestFinished(() => link.close());
  return link;
}

const socketsOf = ({ env }: Pick<Home, 'env'>): readonly string[] =>
  readdirSync(hostSockets(dataPathsFrom(env)));

describe('a chat that hosts its session itself', () => {
  it('has a control socket for its user only, while it runs', async () => {
    const home = newHome();
    const chat = await owner(home);
    const path = hostSocket(dataPathsFrom(home.env), chat.child.pid ?? 0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    const { dataDirectory } = dataPathsFrom(home.env);
    await expect.poll(() => sessionsIn(dataDirectory), SOON).toHaveLength(1);
    const [row] = sessionsIn(dataDirectory);
    expect(await (await linkTo(home, chat)).call('status')).toEqual({
      state: 'ready',
      pid: chat.child.pid,
      version: expect.any(String),
      pods: [row?.id],
    });
    chat.child.stdin.end();
    expect((await chat.finished).code).toBe(0);
    expect(existsSync(path)).toBe(false);
  });

  it('rejects methods of the daemon, and sessions that it does not have open', async () => {
    const home = newHome();
    const other = (await polypod(['new', '--cwd', home.project], { env: home.env })).stdout.trim();
    const chat = await owner(home);
    const link = await linkTo(home, chat);
    for (const method of ['stop', 'reload', 'rm', 'new', 'attach'])
      await expect(link.call(method, { pod: other })).rejects.toMatchObject({
        code: 'unknown-method',
        message: `there is no method "${method}" in process ${chat.child.pid}, which is not a daemon: there are hello, command, watch, briefing, rewind-points, rewind-preview, conversation, model, models, status`,
      });
    await expect(
      link.call('command', { pod: other, command: { type: 'cancel' }, by: 'bob' }),
    ).rejects.toMatchObject({
      code: 'not-found',
      message: `process ${chat.child.pid} has no session ${other} open`,
    });
  });

  it('leaves a stale socket when it is killed, which the next process removes', async () => {
    const home = newHome();
    const killed = await owner(home);
    killed.child.kill('SIGKILL');
    await killed.finished;
    expect(socketsOf(home)).toEqual([`${killed.child.pid}.sock`]);
    expect((await polypod(['chat', '--offline', 'x [[sim text=y]]'], { env: home.env })).code).toBe(0);
    expect(socketsOf(home)).toEqual([]);
  });
});

describe('the daemon', () => {
  it('removes the sockets of killed processes when it starts and when it stops, and keeps those in use', async () => {
    const fixture = await cliFixture();
    const [killed, living] = [await owner(fixture), await owner(fixture)];
    killed.child.kill('SIGKILL');
    await killed.finished;
    await fixture.serve();
    expect(socketsOf(fixture)).toEqual([`${living.child.pid}.sock`]);
    living.child.kill('SIGKILL');
    await living.finished;
    expect(socketsOf(fixture)).toEqual([`${living.child.pid}.sock`]);
    expect((await polypod(['stop'], { env: fixture.env })).code).toBe(0);
    expect(socketsOf(fixture)).toEqual([]);
  });
});

describe('polypod run', () => {
  it('works if no socket can be opened', async () => {
    const home = newHome();
    mkdirSync(join(dataPathsFrom(home.env).runtimeDirectory), { recursive: true, mode: 0o755 });
    const { code, stdout } = await polypod(['run', '--offline', 'x [[sim text=done]]'], { env: home.env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' });
  });
});
