import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type SimAnswer, startSim } from '../../../src/sim/index.ts';
import { giveTo, homeOf, type Identity, polypodAs, startAs, USERS } from '../../ordinary-user.ts';
import { Client, type Launched } from '../../protocols/hld/fixture.ts';
import { bubblewrapWorks, sh } from '../../tools/bubblewrap.ts';
import { call, textAnswer } from '../daemon.ts';

/**
 * A hostile command, as a program in the workspace: it lists every visible socket, connects to the given sockets, and reads and
 * writes files. It writes what succeeded to result.json.
 */
const ATTACK = `
import { accessSync, constants, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
const { sockets, secret, written, port } = JSON.parse(readFileSync('targets.json', 'utf8'));
const seen = [];
const walk = (at, depth) => {
  if (depth > 9 || /^\\/(usr|proc|sys|lib)/.test(at)) return;
  let entries = [];
  try { entries = readdirSync(at, { withFileTypes: true }); } catch { return; }
  for (const entry of entries) {
    const path = at === '/' ? '/' + entry.name : at + '/' + entry.name;
    if (entry.isSocket() && lstatSync(path).isSocket()) seen.push(path);
    if (entry.isDirectory()) walk(path, depth + 1);
  }
};
walk('/', 0);
const reaches = (target) => new Promise((settle) => {
  const link = connect(target).on('connect', () => { settle(true); link.destroy(); }).on('error', () => settle(false));
});
const connected = [];
for (const path of sockets) if (await reaches(path)) connected.push(path);
const can = (path, mode) => { try { accessSync(path, mode); return true; } catch { return false; } };
const reads = (path) => { try { return readFileSync(path, 'utf8').length > 0; } catch { return false; } };
writeFileSync('result.json', JSON.stringify({
  seen,
  connected,
  network: await reaches({ port, host: '127.0.0.1' }),
  read: secret.filter(reads),
  writable: written.filter((path) => can(path, constants.W_OK) && !lstatSync(path).isCharacterDevice()),
  kernel: can('/proc/sys/kernel/hostname', constants.W_OK),
  daemon: readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).length > 20,
  environ: readFileSync('/proc/1/environ', 'utf8').includes('ANTHROPIC_API_KEY'),
  shadow: can('/etc/shadow', constants.R_OK),
}));
`;

const HARMLESS = {
  seen: [],
  connected: [],
  network: false,
  read: [],
  writable: [],
  kernel: false,
  daemon: false,
  environ: false,
  shadow: false,
};

const attack = (): readonly SimAnswer[] => [
  call('bash', { command: 'node attack.mjs' }),
  textAnswer('Done.'),
];

interface SandboxFixture {
  readonly home: string;
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>> & { readonly HOME: string };
  /** Writes the current targets for the attacker. */
  readonly writeTargets: () => readonly string[];
  readonly result: () => unknown;
}

/** A home directory of the user with a workspace in it, and a model that follows the script. */
async function sandboxFixture(
  identity: Identity,
  script: readonly SimAnswer[],
  layout: (home: string) => { readonly workspace: string; readonly env?: Readonly<Record<string, string>> },
): Promise<SandboxFixture> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const canary = createServer((link) => link.destroy()).listen(0, '127.0.0.1');
  onTestFinished(() => void canary.close());
  await new Promise((ready) => canary.once('listening', ready));
  const home = homeOf(identity);
  const { workspace, env: more = {} } = layout(home);
  const env = {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    ANTHROPIC_BASE_URL: sim.url,
    ANTHROPIC_API_KEY: 'sk-test-0123456789abcdefghij',
    USER: 'ada',
    ...more,
  };
  mkdirSync(workspace, { recursive: true, mode: 0o700 });
  const config = more.POLYPOD_CONFIG ?? join(home, '.config/polypod/config.yaml');
  mkdirSync(dirname(config), { recursive: true });
  writeFileSync(config, 'model: anthropic\naccounts: { spare: { vendor: openai, key: sk-secret } }\n', {
    mode: 0o600,
  });
  writeFileSync(join(dirname(config), 'rules.json'), '[]\n', { mode: 0o600 });
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh/id_ed25519'), 'secret\n');
  writeFileSync(join(home, '.ssh/notes'), 'secret\n');
  writeFileSync(join(workspace, 'attack.mjs'), ATTACK);
  giveTo(identity, home);
  return {
    home,
    workspace,
    env,
    writeTargets: () => {
      const sockets = sh('find . -type s', home)
        .split('\n')
        .filter(Boolean)
        .map((path) => join(home, path));
      const own = sh('find . -path "*polypod*" -type f -o -name "pod.yaml" -o -path "*data*" -type f', home)
        .split('\n')
        .filter((path) => path !== '' && !path.includes('/outputs/') && !path.includes('/.cache/'))
        .map((path) => join(home, path));
      const secret = [...own, join(home, '.ssh/id_ed25519'), join(home, '.ssh/notes')];
      const directories = [...new Set([...secret, ...sockets].map((path) => dirname(path)))];
      const written = [
        ...secret,
        ...directories.filter((path) =>
          /polypod|data|rt$|\.ssh|humanlayer|xdg/.test(path.slice(home.length)),
        ),
      ];
      const address = canary.address() as { port: number };
      writeFileSync(
        join(workspace, 'targets.json'),
        JSON.stringify({ sockets, secret, written, port: address.port }),
      );
      giveTo(identity, join(workspace, 'targets.json'));
      return sockets;
    },
    result: () => {
      const file = join(workspace, 'result.json');
      const result: unknown = existsSync(file)
        ? JSON.parse(readFileSync(file, 'utf8'))
        : 'the attack did not run';
      writeFileSync(file, '"stale"');
      return result;
    },
  };
}

/** Waits until a process has printed a text, or fails with what it printed. */
async function until(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    const onData = (piece: Buffer): void => {
      printed += piece.toString();
      if (printed.includes(text)) resolve();
    };
    child.stdout.on('data', onData);
    child.stderr.on('data', onData);
    child.on('close', (code) => reject(new Error(`ended with ${code}: ${printed}`)));
  });
}

async function connects(path: string): Promise<boolean> {
  return new Promise((settle) => {
    const link = connect(path)
      .on('connect', () => {
        settle(true);
        link.destroy();
      })
      .on('error', () => settle(false));
  });
}

const LAYOUTS: Readonly<Record<string, Parameters<typeof sandboxFixture>[2]>> = {
  'a project below the home directory': (home) => ({ workspace: join(home, 'project') }),
  'the home directory, with sockets in the data directory and in ~/.humanlayer': (home) => ({
    workspace: home,
  }),
  'the home directory, with XDG_RUNTIME_DIR in it': (home) => ({
    workspace: home,
    env: { XDG_RUNTIME_DIR: join(home, 'xdg') },
  }),
  'a project that holds data, sockets and configuration by custom paths': (home) => ({
    workspace: join(home, 'p'),
    env: {
      POLYPOD_DATA_DIR: join(home, 'p/data'),
      POLYPOD_RUNTIME_DIR: join(home, 'p/rt'),
      POLYPOD_CONFIG: join(home, 'p/conf/pod.yaml'),
      HUMANLAYER_DAEMON_SOCKET: join(home, 'p/hl.sock'),
    },
  }),
};

describe.runIf(bubblewrapWorks).each(USERS)('as $name, a sandboxed command', ({ identity }) => {
  test.each(Object.entries(LAYOUTS))(
    'sees no socket, secret or own file of the daemon or of its own host in %s',
    async (_, layout) => {
      const fixture = await sandboxFixture(identity, [...attack(), ...attack()], layout);
      const { env, workspace } = fixture;
      const daemon = startAs(identity, ['serve', '--sandbox', '--json'], env, workspace);
      await until(daemon, '{"pid":');
      // A session with a name has a socket of its own.
      expect(await polypodAs(identity, ['new', '--name', 'ada'], env, { cwd: workspace })).toEqual({
        code: 0,
        stdout: expect.any(String),
        stderr: '',
      });
      const sockets = fixture.writeTargets();
      expect(sockets.length).toBeGreaterThan(2);
      expect(await connects(sockets[0] ?? '')).toBe(true);
      const inDaemon = await polypodAs(identity, ['run', '--headless', 'Go'], env, { cwd: workspace });
      expect({ ...inDaemon, result: fixture.result() }).toMatchObject({ code: 0, result: HARMLESS });
      const inProcess = await polypodAs(identity, ['run', '--sandbox', '--headless', 'Go'], env, {
        cwd: workspace,
      });
      expect({ ...inProcess, result: fixture.result() }).toMatchObject({ code: 0, result: HARMLESS });
    },
  );

  test('is as limited in polypod hld and in --mode rpc', async () => {
    const fixture = await sandboxFixture(identity, [...attack(), ...attack()], (home) => ({
      workspace: join(home, 'p'),
    }));
    const { env, workspace } = fixture;
    const socket = join(workspace, 'daemon.sock');
    const hld = startAs(identity, ['hld', '--sandbox', '--json', '--socket', socket], env, workspace);
    await until(hld, '{"pid":');
    expect(fixture.writeTargets()).toContain(socket);
    const client = await Client.open(socket);
    const subscriber = await Client.open(socket);
    subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
    await subscriber.line(0);
    const launched = (await client.call('launchSession', {
      query: 'Go',
      working_dir: workspace,
    })) as Launched;
    await subscriber.waitForStatus(launched.session_id, 'completed');
    expect(fixture.result()).toEqual(HARMLESS);
    const rpc = startAs(identity, ['--mode', 'rpc', '--sandbox'], env, workspace);
    const done = until(rpc, '"type":"agent_end"');
    rpc.stdin.write('{"type":"prompt","id":"1","message":"Go"}\n');
    await done;
    expect(fixture.result()).toEqual(HARMLESS);
  });

  test('leaves nothing that other programs run later, and git init needs approval', async () => {
    const scripts = {
      'plant.sh':
        'git init -q . ; git config core.fsmonitor ./evil; echo evil > .envrc; mkdir -p .husky; echo evil > .husky/pre-commit',
      'change.sh': `node -e 'fs.writeFileSync("package.json", JSON.stringify({ name: "x", scripts: { test: "evil" } }))'`,
      'break.sh': 'echo evil > repo/.git/config; mv repo/.git repo/old; mv repo other',
    };
    const commands = [
      'git init -q sub && git -C sub config core.fsmonitor ./evil',
      'sh plant.sh',
      'sh change.sh',
      'cd repo && echo b > b.txt',
      'sh break.sh',
    ];
    const script = [...commands.map((command) => call('bash', { command })), textAnswer('Done.')];
    const fixture = await sandboxFixture(identity, script, (home) => ({ workspace: join(home, 'p') }));
    const { env, workspace } = fixture;
    writeFileSync(join(workspace, 'package.json'), '{"name":"x","scripts":{"test":"true"}}\n');
    for (const [name, text] of Object.entries(scripts)) writeFileSync(join(workspace, name), `${text}\n`);
    sh('mkdir repo; git init -q repo', workspace);
    giveTo(identity, workspace);
    const before = readFileSync(join(workspace, 'repo/.git/config'), 'utf8');
    const { code, stdout, stderr } = await polypodAs(
      identity,
      ['run', '--sandbox', '--headless', '--json', 'Go'],
      env,
      { cwd: workspace },
    );
    // A call was denied because no client could approve it.
    expect({ code, stderr }).toMatchObject({ code: 2 });
    expect(stdout).toContain('git runs what the settings of a repository name');
    expect(stdout).toContain('The sandbox moved');
    expect(stdout).toContain('The sandbox restored package.json');
    expect(readdirSync(workspace).toSorted()).toEqual(
      ['attack.mjs', 'package.json', 'repo', ...Object.keys(scripts)].toSorted(),
    );
    expect(JSON.parse(readFileSync(join(workspace, 'package.json'), 'utf8'))).toMatchObject({
      scripts: { test: 'true' },
    });
    expect(readFileSync(join(workspace, 'repo/.git/config'), 'utf8')).toBe(before);
    expect(readFileSync(join(workspace, 'repo/b.txt'), 'utf8')).toBe('b\n');
  });

  test('commits with the name of the user, and runs node, npm and python', async () => {
    const script = [
      call('bash', {
        command: "node -e \"fs.writeFileSync('a.txt', 'a')\" && npm --version && python3 --version",
      }),
      call('bash', {
        command: 'git add -A && git commit -q -m "From the sandbox" && git log --format="%an: %s"',
      }),
      textAnswer('Done.'),
    ];
    const fixture = await sandboxFixture(identity, script, (home) => ({ workspace: join(home, 'p') }));
    const { env, home, workspace } = fixture;
    writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n');
    sh('git init -q', workspace);
    giveTo(identity, home);
    const ran = await polypodAs(identity, ['run', '--sandbox', '--headless', '--json', 'Go'], env, {
      cwd: workspace,
    });
    expect({ code: ran.code, stderr: ran.stderr }).toMatchObject({ code: 0 });
    expect(ran.stdout).toContain('Ada: From the sandbox');
  });
});

test.runIf(bubblewrapWorks)('a daemon without a working sandbox fails at its start', async () => {
  const home = homeOf({});
  const env = {
    HOME: home,
    PATH: dirname(process.execPath).includes('/usr/bin') ? join(home, 'none') : '/none',
  };
  const { code, stderr } = await polypodAs({}, ['serve', '--sandbox'], env);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('install the package bubblewrap'),
  });
});

test.runIf(bubblewrapWorks)(
  'polypod doctor says whether the sandbox works, and what it consists of',
  async () => {
    const env = { HOME: homeOf({}) };
    const works = await polypodAs({}, ['doctor'], env);
    expect(works.stdout).toMatch(
      /ok\s+sandbox: available with --sandbox: own files, processes and network, system call/,
    );
    const fails = await polypodAs({}, ['doctor'], { ...env, PATH: '/none' });
    expect(fails.stdout).toContain('install the package bubblewrap');
    expect(fails.code).toBe(0);
  },
);
