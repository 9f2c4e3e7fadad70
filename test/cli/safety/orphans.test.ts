import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { survivorsOf, token } from '../../tools/survivors.ts';
import { call, textAnswer, cliFixture, type CliFixture } from '../daemon.ts';
import { type Running, start, USERS, type User } from '../polypod.ts';

/** Ways in which a command hides from the process that started it. */
const TREES: readonly (readonly [name: string, command: (mark: string) => string])[] = [
  ['setsid', (mark) => `setsid sleep ${mark} & echo begun; sleep ${mark}`],
  ['a double fork', (mark) => `(setsid sleep ${mark} > /dev/null 2>&1 &); echo begun; sleep ${mark}`],
  ['nohup', (mark) => `nohup sleep ${mark} > /dev/null 2>&1 & echo begun; sleep ${mark}`],
];

const ISOLATED = 'permissions: { mode: full-access }\n';
const PLAIN = 'permissions: { mode: full-access, isolate_commands: off }\n';

/** Starts a program whose agent runs the command, and waits until the processes of the command exist. */
async function running(
  fixture: CliFixture,
  args: readonly string[],
  mark: string,
  user: User,
  input?: string,
): Promise<Running> {
  const host = start(args, { ...fixture.env, POLYPOD_MODEL: 'anthropic/x' }, user);
  if (input === undefined) host.child.stdin.end();
  else host.child.stdin.write(input);
  await expect.poll(() => survivorsOf(mark).length).toBeGreaterThan(1);
  return host;
}

describe.each(['SIGHUP', 'SIGTERM', 'SIGINT', 'SIGQUIT'] as const)(
  '%s leaves no process of a tool',
  (signal) => {
    it.each([
      ['run', ['run', 'Go'], undefined],
      ['chat', ['chat'], 'Go\n'],
      ['--mode rpc', ['--mode', 'rpc', '--no-session'], '{"type":"prompt","id":"1","message":"Go"}\n'],
    ])('of polypod %s', async (_, args, input) => {
      const mark = token();
      const [, commandFor] = TREES[1] ?? ['', () => ''];
      const fixture = await cliFixture([call('bash', { command: commandFor(mark) }), textAnswer('x')]);
      fixture.configure(PLAIN);
      const host = await running(fixture, args, mark, {}, input);
      host.child.kill(signal);
      await host.finished;
      expect(survivorsOf(mark)).toEqual([]);
    });
  },
);

it('a second signal exits at once, and also leaves no tool process', async () => {
  const mark = token();
  const command = `trap '' TERM; (env -i sleep ${mark} &); sleep ${mark}`;
  const fixture = await cliFixture([call('bash', { command }), textAnswer('x')]);
  fixture.configure(PLAIN);
  const host = await running(fixture, ['run', 'Go'], mark, {});
  host.child.kill('SIGHUP');
  host.child.kill('SIGHUP');
  await host.finished;
  expect(survivorsOf(mark)).toEqual([]);
});

it('serve continues after SIGHUP and leaves no tool process when it ends', async () => {
  const mark = token();
  const fixture = await cliFixture([
    call('bash', { command: `sleep ${mark} & sleep ${mark}` }),
    textAnswer('x'),
  ]);
  fixture.configure(`${PLAIN}shutdown_grace: 10ms\n`);
  const daemon = await fixture.serve();
  const client = await running(fixture, ['run', 'Go'], mark, {});
  daemon.child.kill('SIGHUP');
  await daemon.waitForOutput('configuration reloaded');
  expect(survivorsOf(mark)).not.toEqual([]);
  daemon.child.kill('SIGQUIT');
  await daemon.finished;
  expect(survivorsOf(mark)).toEqual([]);
  await client.finished;
});

describe.each(USERS)('a command of a killed program, as %s,', (_, user) => {
  // One tree of each kind is enough for the second user.
  const trees = user.uid === undefined ? TREES : TREES.slice(1, 2);
  it.each([
    ...TREES.slice(1, 2).map(([name, command]) => [`${name}, isolated`, command, ISOLATED] as const),
    ...trees.map(([name, command]) => [name, command, PLAIN] as const),
  ])('is ended at the next start, and its result reports that (%s)', async (_name, commandFor, config) => {
    const mark = token();
    const fixture = await cliFixture(
      [call('bash', { command: commandFor(mark) }), textAnswer('Back.')],
      user,
    );
    fixture.configure(config);
    const host = await running(fixture, ['run', 'Go'], mark, user);
    host.child.kill('SIGKILL');
    await host.finished;
    expect(survivorsOf(mark)).not.toEqual([]);
    const [session] = JSON.parse((await fixture.polypod('ls', '--json')).stdout) as { id: string }[];
    await fixture.serve();
    expect(survivorsOf(mark)).toEqual([]);
    expect((await fixture.polypod('run', '--resume', session?.id ?? '', 'And now?')).code).toBe(0);
    const requestBody = JSON.stringify(fixture.sim.requests.at(-1)?.body);
    expect(requestBody).toContain('was killed while the command ran; the command’s processes were ended: ');
    expect(requestBody).toContain(`sleep ${mark}`);
    expect(readdirSync(join(fixture.dataDirectory, 'commands'))).toEqual([]);
    expect(controlGroupsOf(host.child.pid)).toEqual([]);
  });
});

it('a process that reuses a recorded pid is not ended', async () => {
  const fixture = await cliFixture();
  const unrelated = start(['sim', '--port', '0'], fixture.env);
  await unrelated.waitForOutput('http');
  const { CommandLedger } = await import('../../../src/tools/index.ts');
  const { thisProcess } = await import('../../../src/store/index.ts');
  const directory = join(fixture.dataDirectory, 'commands');
  const exitedProcess = { ...thisProcess(), startedAt: '1' };
  const ledger = new CommandLedger(directory, exitedProcess);
  const record = { mark: crypto.randomUUID(), command: 'sleep 1', pipes: [] };
  ledger.open({ podId: 'p', callId: 'c' }, record).started({ pid: unrelated.child.pid ?? 0, start: 1 });
  const daemon = await fixture.serve();
  expect(daemon.output().stderr).toContain('a command outlived');
  expect(unrelated.child.exitCode).toBeNull();
  process.kill(unrelated.child.pid ?? 0, 0);
});

/** The control groups that a process made for its commands and that still exist. */
function controlGroupsOf(pid: number | undefined): readonly string[] {
  return ['pids', 'memory'].flatMap((controller) => {
    const directory = join('/sys/fs/cgroup', controller);
    return existsSync(directory)
      ? readdirSync(directory).filter((name) => name.startsWith(`polypod-${pid}-`))
      : [];
  });
}
