import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { arrayOf, objectOf } from '../../../src/base/index.ts';
import { commandLimiter, pidNamespace } from '../../../src/tools/index.ts';
import { survivorsOf, token } from '../../tools/survivors.ts';
import { call, textAnswer, cliFixture } from '../daemon.ts';
import { polypod, USERS, type User } from '../polypod.ts';

const env = { PATH: process.env.PATH ?? '' };
const isIsolated = (await pidNamespace({ env, hidden: () => [] }).state()).state === 'on';
const { unenforced } = await commandLimiter({
  limits: { memory: 1e9, processes: 10 },
  isMemoryStated: true,
  env,
}).state(isIsolated);

const CONFIG = `permissions: { mode: full-access }
limits: { commands: { memory: 200MB, processes: 40, file_size: 1MB, open_files: 64, cpu: 1s } }
`;

/** The result of a command as the model reads it. */
async function resultOf(command: string, user: User, config = CONFIG, timeout = 20) {
  const fixture = await cliFixture([call('bash', { command, timeout }), textAnswer('Done.')], user);
  fixture.configure(config);
  const run = ['run', '-C', fixture.project, '-m', 'anthropic/x', 'Go'];
  const { code, stderr } = await polypod(run, { env: fixture.env, user });
  expect(code, stderr).toBe(0);
  const { messages } = objectOf(fixture.sim.requests.at(-1)?.body);
  return { fixture, result: JSON.stringify(arrayOf(messages).at(-1)) };
}

/** Root's processes can only be counted with control groups, which may be unavailable to an ordinary user. */
const canLimit = (what: string, user: User): boolean =>
  user.uid === undefined ? !unenforced.includes(what) : isIsolated;

describe.each(USERS)('the limits of commands, as %s,', (_, user) => {
  it.runIf(canLimit('the number of processes', user))('stop a fork bomb', async () => {
    const mark = token();
    const { result } = await resultOf(
      `perl -e 'while (1) { fork; select undef, undef, undef, 0.02 }' ${mark}`,
      user,
      CONFIG,
      1,
    );
    expect(result).toContain('not done after 1 second');
    expect(survivorsOf(mark)).toEqual([]);
    const forks = `for (1 .. 100) { my $p = fork; die "fork: $!" if !defined $p; if (!$p) { sleep 30; exit } }`;
    const refused = await resultOf(`perl -e '${forks}'`, user);
    expect(refused.result).toContain(
      'reached its limit of 40 processes and threads (limits.commands.processes)',
    );
  });

  it.runIf(canLimit('memory', user))('stop a command that takes too much memory', async () => {
    const { result } = await resultOf(`perl -e 'my $x = "x" x 400_000_000; print length $x'`, user);
    expect(result).toContain('used more than 200 MB of memory (limits.commands.memory)');
    expect(result).not.toContain('400000000');
  });

  it('stop a command that fills the disk, or uses too many files or too much CPU time', async () => {
    const { fixture, result } = await resultOf('head -c 5000000 /dev/zero > big', user);
    expect(statSync(join(fixture.project, 'big')).size).toBe(1_000_000);
    expect(result).toContain('a file reached the limit of 1 MB (limits.commands.file_size)');
    const files = await resultOf('ulimit -n; while :; do :; done', user);
    expect(files.result).toContain('64\\n');
    expect(files.result).toContain('used more than 1 seconds of CPU time (limits.commands.cpu)');
  });

  it('are off if the configuration sets none', async () => {
    const none = 'permissions: { mode: full-access }\nlimits: { commands: { file_size: none } }\n';
    const { result } = await resultOf('ulimit -f', user, none);
    expect(result).toContain('unlimited');
  });
});

it('a command leaves no control group behind', async () => {
  const { result } = await resultOf('cat /proc/self/cgroup', {});
  const [group] = /polypod-[\da-f-]{36}/.exec(result) ?? [];
  const left = ['memory', 'pids', 'unified', ''].filter((name) =>
    existsSync(`/sys/fs/cgroup/${name}/${group}`),
  );
  expect(group === undefined ? [] : left).toEqual([]);
});

it.each([
  ['memory: lots', 'limits.commands.memory must be a size such as 512MB or 4GB, or none'],
  ['processes: 0', 'limits.commands.processes'],
  ['ram: 1GB', 'ram'],
])('an invalid limit (%s) is rejected with its location', async (stated, message) => {
  const fixture = await cliFixture();
  fixture.configure(`limits: { commands: { ${stated} } }\n`);
  const { code, stderr } = await fixture.polypod('serve');
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
