import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sim, startSim } from '../../../src/sim/index.ts';
import { giveTo, homeOf, type Identity, polypodAs, USERS } from '../../ordinary-user.ts';

interface Call {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

const bash = (command: string): Call => ({ tool: 'bash', input: { command } });

let sim: Sim;
let calls: readonly Call[] = [];
let results: string[] = [];

beforeAll(async () => {
  sim = await startSim({
    script: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') results.push(...last.toolResults.map(({ text }) => text));
      const next = calls[results.length];
      if (next === undefined) return { parts: [{ text: 'done' }] };
      return { parts: [{ toolCall: { name: next.tool, arguments: next.input } }] };
    },
  });
});

afterAll(() => sim.close());

/** Makes the calls in one run, one after the other, and returns the results that the model received. No client approves anything. */
async function run(
  prepared: HostileHome,
  made: readonly Call[],
  { options = [], env = {}, cwd = prepared.workspace }: RunOptions = {},
): Promise<readonly string[]> {
  calls = made;
  results = [];
  const end = await polypodAs(
    prepared.identity,
    ['run', '--headless', '--quiet', '--no-daemon', ...options, 'go'],
    { HOME: prepared.home, ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: sim.url, ...env },
    { cwd },
  );
  expect(results.length, end.stderr).toBe(made.length);
  return results;
}

interface RunOptions {
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

interface HostileHome {
  readonly identity: Identity;
  readonly home: string;
  readonly workspace: string;
  /** Created by any command that ran without approval. */
  readonly canary: string;
  readonly trap: string;
}

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
}

/** A workspace with a repository that has a commit; `prepare` makes it hostile. */
function hostileHome(identity: Identity, prepare: (prepared: HostileHome) => void): HostileHome {
  const home = realpathSync(homeOf(identity));
  const workspace = join(home, 'work');
  const canary = join(home, 'ran');
  const prepared = { identity, home, workspace, canary, trap: join(home, 'trap.sh') };
  put(prepared.trap, `#!/bin/sh\necho "$0 $*" >> '${canary}'\ncat 2> /dev/null\nexit 0\n`, 0o755);
  put(join(workspace, 'a.txt'), 'one\n');
  put(join(workspace, 'package.json'), '{ "version": "1.0.0", "scripts": { "test": "true" } }\n');
  git(workspace, 'init', '-q', '-b', 'main', '--template=');
  git(workspace, 'add', '.');
  git(workspace, 'commit', '-qm', 'first');
  writeFileSync(join(workspace, 'a.txt'), 'two\n');
  prepare(prepared);
  giveTo(identity, home);
  return prepared;
}

function git(cwd: string, ...args: readonly string[]): void {
  const own = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  execFileSync('git', [...own, ...args], { cwd, stdio: 'ignore' });
}

/** Settings with which git runs a program during read-only commands, a planted directory, and a nested repository. */
function plantAll({ workspace, trap }: HostileHome): void {
  const settings = `[core]\n\tfsmonitor = ${trap}\n[diff]\n\texternal = ${trap}\n[diff "evil"]\n\ttextconv = ${trap}\n[filter "evil"]\n\tclean = ${trap}\n`;
  execFileSync('cp', ['-a', join(workspace, '.git'), join(workspace, 'planted.common')]);
  put(join(workspace, 'planted/HEAD'), 'ref: refs/heads/main\n');
  put(join(workspace, 'planted/commondir'), '../planted.common\n');
  put(join(workspace, 'planted.common/info/attributes'), '* diff=evil\n');
  appendFileSync(join(workspace, 'planted.common/config'), settings);
  put(join(workspace, 'nested/b.txt'), 'one\n');
  git(join(workspace, 'nested'), 'init', '-q', '--template=');
  git(join(workspace, 'nested'), 'add', '.');
  git(join(workspace, 'nested'), 'commit', '-qm', 'nested');
  git(workspace, 'add', 'nested');
  put(join(workspace, 'nested/.gitattributes'), '* filter=evil\n');
  writeFileSync(join(workspace, 'nested/b.txt'), 'two\n');
  for (const repository of ['.git', 'nested/.git'])
    appendFileSync(join(workspace, repository, 'config'), settings);
  put(join(workspace, '.gitattributes'), '*.txt diff=evil filter=evil\n');
  put(join(workspace, '.git/hooks/post-index-change'), `#!/bin/sh\n${trap}\n`, 0o755);
}

describe.each(USERS)('as $name', ({ identity }) => {
  it.each(['workspace-write', 'read-only'])(
    'in %s mode git runs nothing that a hostile repository names',
    async (mode) => {
      const prepared = hostileHome(identity, plantAll);
      const found = await run(
        prepared,
        [
          bash('git status --short'),
          bash('git diff'),
          bash('git log -p && git show HEAD:a.txt'),
          bash('cd nested && git status && git diff'),
          bash('cd planted && git show'),
          bash('git -C planted.common log -p'),
        ],
        { options: ['--mode', mode] },
      );
      expect(existsSync(prepared.canary)).toBe(false);
      expect(found[0]).toContain('M a.txt');
      expect(found[1]).toContain('+two');
      expect(found[2]).toContain('first');
      expect(found[3]).toContain('-one');
      expect(found[4]).not.toContain('first');
      expect(found[5]).not.toContain('first');
    },
  );

  it('git runs as usual if a rule of the user allows it', async () => {
    const prepared = hostileHome(identity, (own) => {
      plantAll(own);
      put(
        join(own.home, '.config/polypod/config.yaml'),
        'permissions: { rules: [{ command: git status, action: auto }] }\n',
      );
    });
    await run(prepared, [bash('git status --short')]);
    expect(existsSync(prepared.canary)).toBe(true);
  });

  it('a read-only command gets no variables that make programs run something', async () => {
    const prepared = hostileHome(identity, ({ workspace, trap }) => {
      put(join(workspace, 'rgrc'), `--pre=${trap}\n`);
      mkdirSync(join(workspace, 'bin'));
      execFileSync('cp', ['/bin/cat', join(workspace, 'bin/cat')]);
      put(join(workspace, 'bin/git'), `#!/bin/sh\n${trap}\n`, 0o755);
      put(join(workspace, 'bashrc'), `${trap} bash\n`);
    });
    const { workspace, trap } = prepared;
    const found = await run(
      prepared,
      [bash('ls; wc -l a.txt'), bash('rg two'), bash('echo x'), bash('git diff'), bash('cat a.txt')],
      {
        env: {
          PATH: `.:${workspace}/bin:/usr/local/bin:/usr/bin:/bin`,
          BASH_ENV: join(workspace, 'bashrc'),
          ENV: join(workspace, 'bashrc'),
          'BASH_FUNC_echo%%': `() { ${trap}; }`,
          'BASH_FUNC_ls%%': `() { ${trap}; }`,
          RIPGREP_CONFIG_PATH: join(workspace, 'rgrc'),
          GIT_EXTERNAL_DIFF: trap,
          GIT_CONFIG_COUNT: '1',
          GIT_CONFIG_KEY_0: 'core.fsmonitor',
          GIT_CONFIG_VALUE_0: trap,
        },
      },
    );
    expect(existsSync(prepared.canary)).toBe(false);
    expect(found[0]).toContain('a.txt');
    expect(found[2]).toContain('x');
    // PATH finds these two in the workspace first.
    expect(found[3]).toContain('not part of the system');
    expect(found[4]).toContain('may write');
  });

  it('files that other programs execute are written only with approval', async () => {
    const prepared = hostileHome(identity, ({ workspace }) =>
      linkSync(join(workspace, '.git/config'), join(workspace, 'plain.txt')),
    );
    const written = [
      '.git/hooks/pre-commit',
      '.git/config',
      '.husky/pre-commit',
      '.envrc',
      '.claude/settings.json',
      '.mcp.json',
      '.vscode/tasks.json',
      '.devcontainer/devcontainer.json',
      '.config/systemd/user/a.service',
      '.bashrc',
      '.exrc',
      'sub/HEAD',
    ];
    const found = await run(prepared, [
      ...written.map((path) => ({ tool: 'write', input: { path, content: 'ref: x\n' } })),
      { tool: 'edit', input: { path: 'package.json', old: '"true"', new: '"touch x"' } },
      bash('echo x > .envrc'),
      bash('printf x >> .husky/pre-commit'),
      { tool: 'edit', input: { path: 'package.json', old: '1.0.0', new: '1.0.1' } },
      { tool: 'write', input: { path: 'Makefile', content: 'all:\n' } },
      // The file tools replace one of several hard links with a new file.
      { tool: 'write', input: { path: 'plain.txt', content: '[core]\n' } },
    ]);
    for (const path of written.filter((name) => name !== '.git/config'))
      expect(existsSync(join(prepared.workspace, path)), path).toBe(false);
    expect(readFileSync(join(prepared.workspace, '.git/config'), 'utf8')).toContain(
      'repositoryformatversion',
    );
    expect(readFileSync(join(prepared.workspace, 'package.json'), 'utf8')).toBe(
      '{ "version": "1.0.1", "scripts": { "test": "true" } }\n',
    );
    expect(existsSync(join(prepared.workspace, 'Makefile'))).toBe(true);
    expect(found.slice(0, -3).filter((text) => /run later|repository/.test(text)).length).toBe(
      written.length + 3,
    );
  });

  it('no tool writes the rules of Polypod if the home directory is the working directory', async () => {
    const rules = '.config/polypod/rules.json';
    const prepared = hostileHome(identity, ({ home }) => put(join(home, rules), '[]\n'));
    const content = '[{"tool":"bash","action":"auto"}]\n';
    const found = await run(
      prepared,
      [
        { tool: 'write', input: { path: rules, content } },
        { tool: 'edit', input: { path: rules, old: '[]', new: '[{"action":"auto"}]' } },
        bash(`echo x > ${rules}`),
        bash(`cd .config && cp ../trap.sh polypod/rules.json`),
        { tool: 'write', input: { path: '.local/share/polypod/tasks/keys.json', content } },
      ],
      { cwd: prepared.home },
    );
    expect(readFileSync(join(prepared.home, rules), 'utf8')).toBe('[]\n');
    expect(existsSync(join(prepared.home, '.local/share/polypod/tasks/keys.json'))).toBe(false);
    for (const text of found) expect(text).toContain('belongs to Polypod itself');
  });
});
