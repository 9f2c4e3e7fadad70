import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostInOtherProcess, ownerOf, type PodLocation } from '../../../src/cli/hosting/index.ts';
import { PodClient, type PodLine } from '../../../src/client/index.ts';
import { type Row, sessionsIn } from '../../../src/pod/sessions.ts';
import { dataPathsFrom, hostSocket } from '../../../src/setup/index.ts';
import { has, type Home, isIdle, newHome, openChat, submit, shellIn, startIn } from './chat-fixture.ts';
import { cliFixture } from '../daemon.ts';
import { polypod, type Running, start } from '../polypod.ts';
import { screens } from '../screens.ts';
import { hasTmux } from '../../terminal/tmux.ts';

const SOON = { timeout: 20_000 };

/** A client of a session over the Pod Protocol. */
async function podClient({ env }: Home, id: string, name: string): Promise<PodClient> {
  const path = join(dataPathsFrom(env).runtimeDirectory, 'pods', `${id}.sock`);
  await expect.poll(() => existsSync(path), SOON).toBe(true);
  const client = await PodClient.open({ path, name });
  onTestFinished(() => client.close());
  return client;
}

async function onlySession({ env }: Pick<Home, 'env'>): Promise<Row> {
  const { dataDirectory } = dataPathsFrom(env);
  // The catalogue is written shortly after the session.
  await expect.poll(() => sessionsIn(dataDirectory), SOON).toHaveLength(1);
  const [row] = sessionsIn(dataDirectory);
  if (row === undefined) throw new Error('there is no session');
  return row;
}

async function next(events: AsyncIterator<PodLine>, matches: (line: PodLine) => boolean): Promise<PodLine> {
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) throw new Error('the events ended');
    if (matches(value)) return value;
  }
}

/** A chat that hosts its session itself, stays open and can be joined. */
async function owner({ env }: Pick<Home, 'env'>, ...options: readonly string[]): Promise<Running> {
  const args = ['chat', '--offline', '--no-daemon', '--name', 'owned', ...options];
  const running = start([...args, 'one [[sim text=first-answer]]'], env);
  await running.waitForOutput('\nfirst-answer\n');
  const socket = hostSocket(dataPathsFrom(env), running.child.pid ?? 0);
  await expect.poll(() => existsSync(socket), SOON).toBe(true);
  return running;
}

/** The location of a session that another process has open, for a chat in this home directory. */
async function joined({ env }: Pick<Home, 'env'>): Promise<PodLocation> {
  const found = ownerOf(await onlySession({ env }), dataPathsFrom(env));
  const location = found && (await hostInOtherProcess(found, { ...screens(false).context, env }));
  if (location === undefined) throw new Error('no process has the session open');
  onTestFinished(() => location.close());
  return location;
}

describe('a chat that joins a session of another process', () => {
  test.runIf(hasTmux)('removes only its own messages from the queue when it cancels a run', async () => {
    const home = newHome();
    const chat = await openChat(home, '--name shared');
    const carol = await podClient(home, (await onlySession(home)).id, 'carol');
    const events = carol.events();
    const bob = await shellIn({ ...home, env: { ...home.env, USER: 'bob' } });
    startIn(bob, 'attach shared');
    await bob.see(isIdle);
    await submit(bob, 'talk [[sim deltas=3000 delay=10]]');
    await bob.see(has('answering'));
    await carol.call('follow_up', { input: 'carol [[sim text=carol-answered]]' });
    await bob.see(has('carol [['));
    await submit(bob, 'bob has second thoughts');
    const queued = await next(events, (line) => line.event === 'queued' && line.data.by === 'bob');
    bob.press('C-c');
    const unqueued = await next(events, ({ event }) => event === 'unqueued');
    expect(unqueued.data).toMatchObject({ queue_ids: ['queue_id' in queued.data && queued.data.queue_id] });
    await chat.see(has('carol-answered'));
  });

  test('clears a setting of the pod', async () => {
    const home = newHome();
    await owner(home, '--thinking', 'high');
    const location = await joined(home);
    const pod = await location.open((await onlySession(home)).id);
    await pod.handle(
      { type: 'configure', set: { mode: 'read-only' }, clear: ['name', 'thinking'] },
      location.me,
    );
    const { value } = await pod.watch().next();
    const { name, thinking, mode } = value?.type === 'snapshot' ? value.snapshot.settings : {};
    expect({ name, thinking, mode }).toEqual({ name: undefined, thinking: undefined, mode: 'read-only' });
    await expect.poll(async () => (await onlySession(home)).name, SOON).toBeUndefined();
  });

  test('resolves a model name in that process', async () => {
    const home = newHome();
    await owner(home);
    const location = await joined(home);
    expect(await location.model('offline')).toEqual({ provider: 'sim', modelId: 'offline' });
  });

  test('finds it by the socket path of the pod, too', async () => {
    const home = newHome();
    await owner(home);
    const socket = join(dataPathsFrom(home.env).runtimeDirectory, 'pods', 'owned.sock');
    await expect.poll(() => existsSync(socket), SOON).toBe(true);
    const { code, stdout } = await polypod(['attach', socket], {
      env: { ...home.env, USER: 'bob' },
      input: 'two [[sim text=second-answer]]\n',
    });
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('second-answer') });
  });

  test('continues in the daemon when that process ends', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const first = await owner(fixture);
    const attached = start(['attach', 'owned'], fixture.env);
    await attached.waitForOutput('first-answer');
    first.child.kill('SIGKILL');
    await attached.waitForOutput('reconnected');
    attached.child.stdin.end('two [[sim text=second-answer]]\n');
    const { code, stdout } = await attached.finished;
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('second-answer') });
    expect(stdout.match(/first-answer\n/g)).toHaveLength(1);
  });
});
