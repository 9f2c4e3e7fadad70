import { chmodSync, existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSandboxes } from '../../src/tools/index.ts';
import { bubblewrapWorks, ENV, run, sh } from './bubblewrap.ts';
import { toolFixture, temporaryDirectory } from './fixture.ts';
import { survivorsOf, token } from './survivors.ts';

describe.runIf(bubblewrapWorks)('a command in the sandbox', () => {
  test('works in its writable directories', async () => {
    const fixture = toolFixture({ 'mine.txt': 'mine\n' });
    const { output, text } = await run(fixture, 'cat mine.txt; echo new > new.txt; pwd; exit 3');
    expect(text).toBe(`mine\n${fixture.directory}\n[exit code 3]`);
    expect(output.details).toMatchObject({ exitCode: 3, endedBy: 'itself' });
    expect(fixture.text('new.txt')).toBe('new\n');
  });

  test('works below such a directory, and reads a directory that is not writable', async () => {
    const fixture = toolFixture({ 'sub/a.txt': '' });
    expect((await run(fixture, 'touch b.txt; ls', { cwd: fixture.path('sub') })).text).toBe('a.txt\nb.txt');
    const other = toolFixture({ 'c.txt': '' });
    expect((await run(fixture, 'ls; touch d.txt', { cwd: other.directory })).text).toMatch(
      /^c\.txt\n.*Read-only/,
    );
  });

  test('has the programs of the user: node, npm, python, git, gcc, and their certificates', async () => {
    const fixture = toolFixture({ 'a.c': 'int main(void) { return 0; }\n' });
    const { output, text } = await run(
      fixture,
      [
        `node -e 'require("https"); console.log("node", require("tls").rootCertificates.length > 0)'`,
        'npm --version > /dev/null && echo npm',
        'python3 -c "import ssl, json; print(\'python\')"',
        'git --version > /dev/null && echo git',
        'gcc a.c -o a.out && ./a.out && echo gcc',
        'test -z "$(ls /etc/ssl/certs 2>/dev/null)" || echo certificates',
      ].join('\n'),
    );
    expect({ text, error: output.isError }).toMatchObject({ error: false });
    expect(text).toContain('node true\nnpm\npython\ngit\ngcc\ncertificates');
  });

  test('writes nowhere else, not even through links', async () => {
    const targets = ['/etc/x', '/usr/x', '/opt/x', '/x', '/dev/x', '/proc/sys/kernel/hostname', '/sys/x'];
    const outside = toolFixture({ 'theirs.txt': 'theirs\n' });
    const fixture = toolFixture();
    const { text } = await run(
      fixture,
      [
        ...targets.map(
          (target) => `(test -w $(dirname ${target}) || test -w ${target}) && echo writable ${target}`,
        ),
        `ln -s ${outside.directory} link; (echo x > link/new.txt) 2>/dev/null && echo wrote by link; true`,
      ].join('\n'),
    );
    expect(text).toBe('(no output)');
    expect(readdirSync(outside.directory)).toEqual(['theirs.txt']);
  });

  test('cannot write any kernel setting, and sees no file of /etc that contains secrets', async () => {
    const { text } = await run(
      toolFixture(),
      'find /proc/sys -type f -writable 2>/dev/null | wc -l; ls /etc/shadow /etc/gshadow /etc/ssh /etc/sudoers 2>&1 | grep -vc "No such file"; cat /proc/1/environ | tr "\\0" "\\n" | grep -c ANTHROPIC',
      { env: { ...ENV, ANTHROPIC_API_KEY: 'sk-test-0123456789abcdefghij' } },
    );
    expect(text).toMatch(/^0\n0\n0/);
  });

  test('cannot remount, trace processes, or create namespaces', async () => {
    const { text } = await run(
      toolFixture(),
      [
        'mount -o remount,rw / 2>&1; mount -o remount,rw /proc 2>&1; umount /proc 2>&1',
        'unshare -Ur true 2>&1',
        'python3 -c "import socket; socket.socket(40, 1)" 2>&1 | tail -1',
        'grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status | tr "\\t\\n" "  "',
      ].join('\n'),
    );
    expect(text).toMatch(/unshare failed: Operation not permitted/);
    expect(text).toContain('CapEff: 0000000000000000');
    expect(text).toContain('NoNewPrivs: 1');
    if (process.arch === 'x64' || process.arch === 'arm64') {
      expect(text).toContain('Seccomp: 2');
      expect(text).toContain('Address family not supported');
    }
  });

  test('sees no file outside the workspace, whatever its name', async () => {
    const outside = toolFixture({ 'harmless-name': 'secret\n' });
    const { text } = await run(
      toolFixture(),
      `cat ${outside.path('harmless-name')}; ls -A ~; ls /home /root /srv /mnt`,
    );
    expect(text).toContain('harmless-name: No such file');
    expect(text).not.toContain('secret');
    expect(text).not.toMatch(/^\.(?:ssh|bashrc|npmrc)/m);
  });

  test("sees a version manager's installation on the PATH, and only the programs of a project", async () => {
    const home = toolFixture({
      '.nvm/versions/node/v1/bin/tool': '#!/bin/sh\ncat ~/.nvm/versions/node/v1/lib/x\n',
      '.nvm/versions/node/v1/lib/x': 'library\n',
      '.cargo/bin/tool2': '',
      '.cargo/credentials.toml': 'secret\n',
      'dotfiles/bin/mine': '#!/bin/sh\necho mine\n',
      'dotfiles/private': 'secret\n',
    });
    sh('chmod 755 .nvm/versions/node/v1/bin/tool dotfiles/bin/mine', home.directory);
    const PATH = ['.nvm/versions/node/v1/bin', '.cargo/bin', 'dotfiles/bin']
      .map((name) => home.path(name))
      .join(':');
    const { text } = await run(
      toolFixture(),
      'tool; mine; cat ~/dotfiles/private ~/.cargo/credentials.toml; touch ~/.cargo/bin/x; echo $TMPDIR',
      {
        env: { HOME: home.directory, PATH: `${PATH}:${ENV.PATH}`, TMPDIR: home.directory },
        home: home.directory,
      },
    );
    expect(text).toMatch(/^library\nmine\n/);
    expect(text).not.toContain('secret');
    expect(text).toContain('Read-only file system');
    expect(text).toMatch(/^\/tmp$/m);
  });

  test('gets an environment without unknown variables', async () => {
    const env = {
      ...ENV,
      DATABASE_URL: 'postgres://u:p@h/d',
      SSH_AUTH_SOCK: '/x',
      LANG: 'C.UTF-8',
      MY_FLAG: '1',
    };
    const { text } = await run(toolFixture(), 'env; tr "\\0" "\\n" < /proc/1/environ', {
      env,
      passEnv: ['MY_FLAG'],
    });
    expect(text).not.toMatch(/DATABASE_URL|SSH_AUTH_SOCK/);
    expect(text).toContain('LANG=C.UTF-8');
    expect(text).toContain('MY_FLAG=1');
  });

  test('has its own directories for temporary files, of limited size', async () => {
    const name = `polypod-test-${token()}`;
    const { text } = await run(
      toolFixture(),
      `for d in /tmp /var/tmp ~ /dev/shm; do echo x > $d/${name} && ls $d/${name}; done; head -c 3000000 /dev/zero > /tmp/big || echo full`,
      { scratchBytes: 2_000_000 },
    );
    expect(text.match(new RegExp(name, 'g'))).toHaveLength(4);
    expect(text).toContain('No space left on device\nfull');
    expect(existsSync(`/tmp/${name}`)).toBe(false);
  });

  test('reaches no network', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((ready) => server.once('listening', ready));
    const { port } = server.address() as { port: number };
    const { text } = await run(toolFixture(), `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`);
    expect(text).toMatch(/Connection refused|unreachable/);
  });

  test('sees no other process and can signal none', async () => {
    const { text } = await run(
      toolFixture(),
      `ls -d /proc/[0-9]* | wc -l; kill -0 ${process.pid} 2>&1; id -u`,
    );
    expect(Number(text.split('\n')[0])).toBeLessThan(8);
    expect(text).toContain('No such process');
  });

  test('is ended completely by a cancel', async () => {
    const mark = token();
    const controller = new AbortController();
    const command = `trap '' TERM; (env -i setsid sleep ${mark} > /dev/null 2>&1 &); echo ready; sleep ${mark}`;
    const running = run(toolFixture(), command, {}, controller.signal);
    while (survivorsOf(`sleep ${mark}`).length === 0) await sleep(10);
    controller.abort();
    await running;
    expect(survivorsOf(mark)).toEqual([]);
  });

  test('has left no process when its result arrives, even one that hides', async () => {
    const mark = token();
    await run(toolFixture(), `(env -i setsid sleep ${mark} > /dev/null 2>&1 &); sleep 0.1`);
    expect(survivorsOf(mark)).toEqual([]);
  });

  test('changes nothing in read-only mode', async () => {
    const fixture = toolFixture({ 'a.txt': 'a\n' });
    sh('git init -q; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x', fixture.directory);
    const { text } = await run(fixture, 'cat a.txt; touch b.txt; git log --format=%s; git status --short', {
      mode: 'read-only',
    });
    expect(text).toContain('Read-only file system');
    expect(text).toContain('x\n?? a.txt');
    expect(existsSync(fixture.path('b.txt'))).toBe(false);
  });

  test('reads what the user allows in addition to the workspace, and nothing that is hidden', async () => {
    const shared = toolFixture({ 'a.txt': 'shared\n' });
    const fixture = toolFixture({ 'private/b.txt': 'private\n', 'c.txt': 'private\n' });
    const { text } = await run(
      fixture,
      `cat ${shared.path('a.txt')}; cat private/b.txt; cat c.txt; touch private/x c.txt; ls -A private; mv private public`,
      { readable: [shared.directory], hidden: [fixture.path('private'), fixture.path('c.txt')] },
    );
    expect(text).toMatch(/^shared\n/);
    expect(text).not.toContain('private\n');
    expect(text).toContain('busy');
    expect(fixture.text('private/b.txt')).toBe('private\n');
  });
});

describe('a sandbox that does not work is an error, and nothing runs without it', () => {
  const refusal = async (env: Readonly<Record<string, string>>, writable: readonly string[] = ['/']) =>
    await openSandboxes({ env, home: '/nowhere' }, { writable, mode: 'workspace-write' }).then(
      () => 'it works',
      (thrown: Error & { code?: string }) => `${thrown.code}: ${thrown.message}`,
    );

  const fakeBubblewrap = (script: string) => {
    const directory = temporaryDirectory();
    writeFileSync(`${directory}/bwrap`, `#!/bin/sh\n${script}\n`);
    chmodSync(`${directory}/bwrap`, 0o755);
    return directory;
  };

  test('if bubblewrap is not installed', async () => {
    expect(await refusal({ PATH: temporaryDirectory() })).toBe(
      'denied: The sandbox needs bubblewrap: install the package bubblewrap, which brings bwrap.',
    );
  });

  test.each([
    ['bwrap: setting up uid map: Permission denied', 'kernel.unprivileged_userns_clone=1'],
    ['bwrap: No permissions to create new namespace, likely because …', 'seccomp=unconfined'],
    [
      'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
      'max_user_namespaces',
    ],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", 'unmasked'],
  ])('if the system forbids it: %s', async (line, next) => {
    const directory = fakeBubblewrap(`echo "${line}" >&2; exit 1`);
    const text = await refusal({ PATH: directory }, [temporaryDirectory()]);
    expect(text).toContain(`denied: The sandbox does not work on this machine (${line}). `);
    expect(text).toContain(next);
  });

  test('if it starts but does not hold', async () => {
    const directory = fakeBubblewrap('while [ "$1" != -- ]; do shift; done; shift; exec "$@"');
    const text = await refusal({ PATH: `${directory}:${ENV.PATH}` }, [temporaryDirectory()]);
    expect(text).toMatch(
      /^denied: The sandbox does not hold on this machine: .*a socket of the host is visible/,
    );
    expect(text).toContain('namespace of the host');
    expect(text).toContain('it reaches the network');
  });

  test('if a writable directory is missing or belongs to the system', async () => {
    const directory = temporaryDirectory();
    symlinkSync('/bin/true', `${directory}/bwrap`);
    expect(await refusal({ PATH: directory }, [`${directory}/none`])).toContain(
      'Name a directory that exists.',
    );
    for (const root of ['/', '/usr', '/etc', '/proc'])
      expect(await refusal({ PATH: directory }, [root])).toContain('belongs to the system');
  });
});
