import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pidNamespace } from '../../../src/tools/index.ts';
import { call, textAnswer, type CliFixture, cliFixture } from '../daemon.ts';
import { polypod, start, USERS, type User } from '../polypod.ts';

/**
 * Collects what an approved command can read about visible processes: their environments and arguments. Each walk writes to a
 * file, because the output for the model may be truncated.
 */
const WALK = [
  'cat /proc/$PPID/environ > ppid.txt 2>&1',
  'for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done > all.txt 2>/dev/null',
  'echo walked',
].join('; ');

interface Keyed {
  readonly fixture: CliFixture;
  readonly env: Readonly<Record<string, string>>;
  readonly user: User;
  /** Fails if the command's findings contain one of the secrets. */
  readonly expectNoKey: (directory?: string) => void;
}

/** A home directory without isolation of commands: the test checks that no process exposes a secret. */
async function keyed(user: User, config = 'permissions: { mode: full-access, isolate_commands: off }') {
  const fixture = await cliFixture([call('bash', { command: WALK }), textAnswer('Done.')], user);
  fixture.configure(`${config}\n`);
  const secrets = [`sk-test-${randomUUID()}`, randomUUID(), randomUUID()];
  const [key = '', cloudSecret = '', ownKey = ''] = secrets;
  const env = {
    ...fixture.env,
    ANTHROPIC_API_KEY: key,
    AWS_SECRET_ACCESS_KEY: cloudSecret,
    POLYPOD_API_KEY: ownKey,
    POLYPOD_MODEL: 'anthropic/x',
  };
  const expectNoKey = (directory = fixture.project): void => {
    const found = ['ppid.txt', 'all.txt'].map((name) => readFileSync(join(directory, name), 'latin1'));
    // The walk must have found processes, otherwise the test proves nothing.
    expect(found[1]).toContain('main.js');
    for (const text of found) for (const secret of secrets) expect(text).not.toContain(secret);
  };
  return { fixture, env, user, expectNoKey } satisfies Keyed;
}

async function runInDaemon({ fixture, env, user }: Keyed): Promise<void> {
  const { code, stderr } = await polypod(['run', '-C', fixture.project, 'Go'], { env, user });
  expect(code, stderr).toBe(0);
}

async function ready(args: readonly string[], { env, user }: Keyed): Promise<void> {
  const running = start([...args, '--json'], env, user);
  await Promise.race([
    running.waitForOutput('{"pid":'),
    running.finished.then(({ stderr }) => Promise.reject(new Error(stderr))),
  ]);
}

describe.each(USERS)('an approved command, as %s, finds no key in the processes of', (_, user) => {
  it('polypod serve', async () => {
    const keys = await keyed(user);
    await ready(['serve'], keys);
    await runInDaemon(keys);
    keys.expectNoKey();
  });

  it('polypod serve --detach', async () => {
    const keys = await keyed(user);
    const { stdout } = await polypod(['serve', '--detach', '--json'], keys);
    const { pid } = JSON.parse(stdout) as { pid: number };
    onTestFinished(() => void process.kill(pid, 'SIGKILL'));
    await runInDaemon(keys);
    keys.expectNoKey();
    expect(readFileSync(`/proc/${pid}/environ`, 'latin1').replaceAll('\0', '')).toBe('');
  });

  it('polypod hld', async () => {
    const keys = await keyed(user);
    await ready(['hld'], keys);
    await runInDaemon(keys);
    keys.expectNoKey();
  });

  it('polypod agent start', async () => {
    const keys = await keyed(user);
    await ready(['agent', 'start', '--foreground', '--port', '0', '--cwd', keys.fixture.project], keys);
    await runInDaemon(keys);
    keys.expectNoKey();
  });

  it('polypod run', async () => {
    const keys = await keyed(user);
    await runInDaemon({ ...keys, env: { ...keys.env, POLYPOD_DATA_DIR: join(keys.fixture.home, 'own') } });
    keys.expectNoKey();
  });

  it('polypod chat', async () => {
    const keys = await keyed(user);
    const { stdout } = await polypod(['chat', '-C', keys.fixture.project], { ...keys, input: 'Go\n' });
    expect(stdout).toContain('Done.');
    keys.expectNoKey();
  });

  it('polypod --mode rpc, with the key as an argument', async () => {
    const keys = await keyed(user);
    const { ANTHROPIC_API_KEY: key, ...env } = keys.env;
    const rpc = start(
      ['--mode', 'rpc', '--no-session', '--provider', 'anthropic', '--model', 'x', '--api-key', key],
      env,
      user,
    );
    rpc.child.stdin.write('{"type":"prompt","id":"1","message":"Go"}\n');
    await rpc.waitForOutput('agent_end');
    keys.expectNoKey(keys.fixture.home);
  });
});

const isIsolated =
  (await pidNamespace({ env: { PATH: process.env.PATH ?? '' }, hidden: () => [] }).state()).state === 'on';

describe.runIf(isIsolated).each(USERS)('an isolated command, as %s,', (_, user) => {
  it('sees no process of Polypod, and so can read neither its memory nor its environment', async () => {
    const keys = await keyed(user, 'permissions: { mode: full-access }');
    await ready(['serve'], keys);
    await runInDaemon(keys);
    const found = readFileSync(join(keys.fixture.project, 'all.txt'), 'latin1');
    // The command's own processes are listed, so the walk worked.
    expect(found).toContain('POLYPOD_CALL=');
    expect(found).not.toContain('main.js');
  });
});
