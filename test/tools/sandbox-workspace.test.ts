import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bubblewrapWorks, ENV, run, sh } from './bubblewrap.ts';
import { homedir } from 'node:os';
import { bash } from '../../src/tools/bash.ts';
import { openSandboxes } from '../../src/tools/index.ts';
import { addFiles, callTool, toolFixture, outputText } from './fixture.ts';

const IDENTITY = 'git config user.name Ada; git config user.email ada@example.org;';
const repository = (files: Readonly<Record<string, string>> = {}) => {
  const fixture = toolFixture({ 'a.txt': 'a\n', ...files });
  sh(`git init -q; ${IDENTITY} git add -A; git commit -q -m first`, fixture.directory);
  return fixture;
};

describe.runIf(bubblewrapWorks)('a repository in the sandbox', () => {
  test('is readable, and no program can change anything in .git', async () => {
    const fixture = repository();
    const config = fixture.text('.git/config');
    const { text } = await run(
      fixture,
      [
        'git status --short; git log --format=%s',
        'git config core.fsmonitor /tmp/x; sh -c "echo evil > .git/config"; sh -c "echo x > .git/commondir"',
        'sh -c "echo x > .git/hooks/pre-commit"; mv .git .old; rm -rf .git; ln .git/config mine',
        'ls -A',
      ].join('\n'),
    );
    expect(text).toContain('first');
    expect(text).toContain('Read-only file system');
    expect(fixture.text('.git/config')).toBe(config);
    expect(existsSync(fixture.path('.git/commondir'))).toBe(false);
    expect(readdirSync(fixture.directory).toSorted()).toEqual(['.git', 'a.txt']);
  });

  test('accepts commits by commands that run only git', async () => {
    const fixture = repository();
    writeFileSync(fixture.path('b.txt'), 'b\n');
    const second = await run(
      fixture,
      'git add -A && git commit -q -m "second commit" && git log --format="%s by %an"',
    );
    expect(second.text).toBe('second commit by Ada\nfirst by Ada');
    const branched = await run(
      fixture,
      'git switch -q -c topic && git tag v1 && git stash list && git branch --show-current',
    );
    expect(branched.text).toBe('topic');
    expect(sh('git status --short; git tag', fixture.directory)).toBe('v1\n');
  });

  test('keeps its settings while a commit hook runs a program that changes them', async () => {
    const fixture = repository();
    writeFileSync(
      fixture.path('.git/hooks/pre-commit'),
      '#!/bin/sh\necho evil >> .git/config; echo evil > .git/hooks/post-commit; mkdir -p .git/x; echo ../evil > .git/commondir; echo hooked\n',
      { mode: 0o755 },
    );
    const config = fixture.text('.git/config');
    const { text } = await run(fixture, 'git commit -q --allow-empty -m hooked');
    expect(text).toContain('hooked');
    expect(text).toContain('commondir');
    expect(fixture.text('.git/config')).toBe(config);
    expect(existsSync(fixture.path('.git/commondir'))).toBe(false);
    expect(existsSync(fixture.path('.git/hooks/post-commit'))).toBe(false);
  });

  test('gets no objects of another repository, and no list of programs for a rebase', async () => {
    const other = repository({ 'private.txt': 'private\n' });
    const blob = sh('git rev-parse HEAD:private.txt', other.directory).trim();
    const fixture = repository();
    writeFileSync(fixture.path('.git/objects/info/alternates'), `${other.path('.git/objects')}\n`);
    writeFileSync(
      fixture.path('.git/hooks/pre-commit'),
      '#!/bin/sh\nmkdir -p .git/rebase-merge; echo "exec evil" > .git/rebase-merge/git-rebase-todo\n',
      { mode: 0o755 },
    );
    expect((await run(fixture, `git cat-file -p ${blob}`)).text).not.toContain('private');
    expect((await run(fixture, 'git commit -q --allow-empty -m x')).text).toContain('rebase-merge');
    expect(existsSync(fixture.path('.git/rebase-merge'))).toBe(false);
  });

  test('is read-only for git next to other programs, and the result explains how to commit', async () => {
    const fixture = repository();
    const { text } = await run(fixture, 'make --version > /dev/null; git commit --allow-empty -m x');
    expect(text).toContain('Read-only file system');
    expect(text).toContain('Run git add, git commit and the like as a command of their own');
  });

  test('can be changed by an approved command', async () => {
    const fixture = repository();
    await run(fixture, 'git config core.editor true; sh -c "echo x > .envrc"', { approved: true });
    expect(fixture.text('.git/config')).toContain('editor');
    expect(fixture.text('.envrc')).toBe('x\n');
    await run(fixture, 'git config core.pager cat', { mode: 'full-access' });
    expect(fixture.text('.git/config')).toContain('pager');
  });

  test('is protected at any depth, and its parents cannot be renamed', async () => {
    const fixture = toolFixture({ 'deep/er/in/x.txt': 'x\n', 'deep/other.txt': '' });
    sh('git init -q deep/er/in', fixture.directory);
    const { text } = await run(
      fixture,
      'mv deep gone; mv deep/er gone; mv deep/er/in gone; echo x > deep/er/in/.git/config; touch deep/new deep/er/new deep/er/in/new; ls',
    );
    expect(text).toContain('busy');
    expect(text).toMatch(/^deep$/m);
    expect(fixture.text('deep/er/in/.git/config')).toContain('[core]');
    // A directory of another mount is moved by copying it, and the copy of the repository does not stay.
    expect(sh('find . -name .git', fixture.directory)).toBe('./deep/er/in/.git\n');
  });

  test.each([
    ['git init', 'git init -q . && git config core.fsmonitor "touch /tmp/x"', '.git'],
    ['git init below', 'mkdir sub && git init -q sub', 'sub/.git'],
    ['git clone', 'git init -q --bare /tmp/r && git clone -q /tmp/r copy 2>/dev/null', 'copy/.git'],
    ['a .git file', 'mkdir /tmp/r; echo "gitdir: evil" > .git', '.git'],
    ['a .git link', 'mkdir evil; ln -s evil .git', '.git'],
    ['a bare repository', 'git init -q --bare bare', 'bare/HEAD'],
    [
      'HEAD and commondir',
      'mkdir d; echo "ref: refs/heads/x" > d/HEAD; echo ../evil > d/commondir',
      'd/commondir',
    ],
    ['a closed directory', 'mkdir c; git init -q c; chmod 000 c', 'c/.git'],
    ['a renamed one', 'mkdir x; git init -q x; mv x y', 'y/.git'],
  ])('that a command creates is moved away: %s', async (_, command, planted) => {
    const fixture = toolFixture({ 'a.txt': '' });
    const { text } = await run(fixture, command);
    expect(text).toContain(`The sandbox moved`);
    expect(text).toContain(planted);
    expect(text).toContain('git init or git clone as a command of its own: both ask for approval');
    expect(existsSync(fixture.path(planted))).toBe(false);
    const kept = readdirSync(fixture.context.scratch).filter((name) => name.startsWith('removed-'));
    expect(kept).toHaveLength(1);
  });

  test('is rejected if .git is a link or its configuration has a second name', async () => {
    const linked = toolFixture({ 'real/x': '' });
    symlinkSync('real', linked.path('.git'));
    await expect(run(linked, 'true')).rejects.toThrow(/\.git, because it is a symbolic link/);
    const shared = repository();
    linkSync(shared.path('.git/config'), shared.path('other-name'));
    await expect(run(shared, 'true')).rejects.toThrow(/\.git\/config, because the file has a second name/);
  });

  test('is found for a linked worktree and a submodule, and only if it belongs to them', async () => {
    const main = repository();
    const tree = toolFixture();
    sh(`git worktree add -q ${tree.path('wt')} -b topic`, main.directory);
    const wt = { ...tree, directory: tree.path('wt'), context: { ...tree.context, cwd: tree.path('wt') } };
    const config = main.text('.git/config');
    const read = await run(
      wt,
      `git log --format=%s; echo evil > ${main.path('.git/config')}; ls ${main.directory}`,
    );
    expect(read.text).toMatch(/^first\n/);
    expect(read.text).toContain('Read-only file system');
    expect(read.text).not.toContain('a.txt');
    writeFileSync(join(wt.directory, 'b.txt'), 'b\n');
    const write = await run(wt, 'git add -A && git commit -q -m "in a worktree" && git log --format=%s');
    expect(write.text).toBe('in a worktree\nfirst');
    expect(main.text('.git/config')).toBe(config);

    const foreign = toolFixture({ 'secret/HEAD': 'secret\n', 'secret/config': 'x', 'ws/a': '' });
    writeFileSync(foreign.path('ws/.git'), `gitdir: ${foreign.path('secret')}\n`);
    const ws = { ...foreign, directory: foreign.path('ws') };
    expect((await run(ws, `cat ${foreign.path('secret/HEAD')}`)).text).toContain('No such file');
  });

  test("has the committer's identity and no other setting of the user", async () => {
    const home = toolFixture({
      '.gitconfig':
        '[user]\n\tname = Ada L\n\temail = ada@example.org\n[credential]\n\thelper = store\n[core]\n\tpager = evil\n',
      '.git-credentials': 'https://u:p@h\n',
    });
    const fixture = toolFixture({ 'a.txt': '' });
    sh('git init -q', fixture.directory);
    const env = { ...ENV, HOME: home.directory };
    const { text } = await run(fixture, 'git add -A && git commit -q -m x && git log --format="%an <%ae>"', {
      env,
      home: home.directory,
    });
    expect(text).toBe('Ada L <ada@example.org>');
    const settings = await run(fixture, 'git config --list; ls -A ~', { env, home: home.directory });
    expect(settings.text).not.toMatch(/credential|pager|git-credentials/);
  });
});

describe.runIf(bubblewrapWorks)('a file that other programs run later', () => {
  const EXISTING = {
    '.envrc': 'a\n',
    '.husky/pre-commit': 'a\n',
    '.vscode/tasks.json': '{}\n',
    '.claude/settings.json': '{}\n',
    '.mcp.json': '{}\n',
    '.devcontainer/devcontainer.json': '{}\n',
    'sub/.envrc': 'a\n',
    'sub/src.txt': 'a\n',
  };

  test('cannot be changed, replaced or removed', async () => {
    const fixture = toolFixture(EXISTING);
    const names = Object.keys(EXISTING).filter((name) => name !== 'sub/src.txt');
    const { text } = await run(
      fixture,
      names
        .map(
          (name) => `echo evil > ${name}; echo evil > t; mv -f t ${name}; rm -f ${name}; chmod 777 ${name}`,
        )
        .join('\n'),
    );
    expect(text).toContain('Change them with the edit or write tool, which asks for approval');
    for (const name of names)
      expect({ [name]: fixture.text(name) }).toEqual({ [name]: EXISTING[name as keyof typeof EXISTING] });
  });

  test('is moved away if a command creates it', async () => {
    const names = Object.keys(EXISTING).filter((name) => name !== 'sub/src.txt');
    const fixture = toolFixture({ 'a.txt': '' });
    const { text } = await run(
      fixture,
      names.map((name) => `mkdir -p $(dirname ${name}); echo evil > ${name}`).join('\n'),
    );
    expect(text).toContain('.husky');
    expect(text).toContain('To create them, use the write tool');
    for (const name of names) expect({ [name]: existsSync(fixture.path(name)) }).toEqual({ [name]: false });
  });

  test('is moved away if it replaces another by a renamed directory, and a renamed one may stay', async () => {
    const fixture = toolFixture({ 'sub/.envrc': 'mine\n' });
    await run(fixture, 'mv sub old; mkdir sub; echo evil > sub/.envrc');
    expect(existsSync(fixture.path('sub/.envrc'))).toBe(false);
    expect(fixture.text('old/.envrc')).toBe('mine\n');
  });

  test('is restored if it was written through a second name, or was a link', async () => {
    const fixture = toolFixture({ '.envrc': 'mine\n', 'target.txt': 't\n' });
    linkSync(fixture.path('.envrc'), fixture.path('other-name'));
    symlinkSync('target.txt', fixture.path('.mcp.json'));
    const { text } = await run(fixture, 'echo evil > other-name; rm .mcp.json; echo evil > .mcp.json');
    expect(text).toContain('restored');
    expect(fixture.text('.envrc')).toBe('mine\n');
    expect(readlinkSync(fixture.path('.mcp.json'))).toBe('target.txt');
  });

  test('is protected in a workspace that is itself in node_modules', async () => {
    const fixture = toolFixture({
      'node_modules/x/.envrc': 'a\n',
      'node_modules/x/package.json': '{"scripts":{"test":"true"}}\n',
    });
    const patched = { ...fixture, directory: fixture.path('node_modules/x') };
    await run(
      patched,
      'echo evil > .envrc; echo evil > .mcp.json; echo \'{"scripts":{"test":"evil"}}\' > package.json',
    );
    expect(fixture.text('node_modules/x/.envrc')).toBe('a\n');
    expect(existsSync(fixture.path('node_modules/x/.mcp.json'))).toBe(false);
    expect(fixture.text('node_modules/x/package.json')).not.toContain('evil');
  });

  test('in node_modules is not protected, except for repositories', async () => {
    const fixture = toolFixture({ 'node_modules/x/.npmrc': 'a\n' });
    const { text } = await run(
      fixture,
      'echo b > node_modules/x/.npmrc; mkdir -p node_modules/y/.vscode; git init -q node_modules/y',
    );
    expect(fixture.text('node_modules/x/.npmrc')).toBe('b\n');
    expect(existsSync(fixture.path('node_modules/y/.vscode'))).toBe(true);
    expect(text).toContain('node_modules/y/.git');
  });
});

describe.runIf(bubblewrapWorks)('the scripts of a package.json', () => {
  const PACKAGE = '{\n    "name": "x",\n    "scripts": { "test": "true" },\n    "version": "1.0.0"\n}\n';

  test('are restored, while other changes stay', async () => {
    const fixture = toolFixture({ 'package.json': PACKAGE, 'lib/package.json': '{"name":"lib"}\n' });
    const { text } = await run(
      fixture,
      `npm pkg set scripts.postinstall=evil version=2.0.0; node -e 'require("fs").writeFileSync("lib/package.json", JSON.stringify({ name: "lib", scripts: { test: "evil" }, private: true }))'`,
    );
    expect(text).toContain('The sandbox restored');
    const kept = /changed version is in (\S+)\./.exec(text)?.[1] ?? '';
    expect(readFileSync(join(kept, 'package.json'), 'utf8')).toContain('evil');
    expect(text).toContain('package.json');
    expect(JSON.parse(fixture.text('package.json'))).toEqual({
      name: 'x',
      scripts: { test: 'true' },
      version: '2.0.0',
    });
    expect(JSON.parse(fixture.text('lib/package.json'))).toEqual({ name: 'lib', private: true });
  });

  test('are not accepted from a new file, a link or a file with a byte order mark', async () => {
    const fixture = toolFixture({ 'package.json': PACKAGE });
    const { text } = await run(
      fixture,
      `mkdir n b; echo '{"name":"n","scripts":{"test":"evil"}}' > n/package.json; printf '\\xef\\xbb\\xbf{"scripts":{"test":"evil"}}' > b/package.json; echo '{"scripts":{"test":"evil"}}' > evil.json; rm package.json; ln -s evil.json package.json; mkfifo x; mkdir p; mkfifo p/package.json`,
    );
    expect(text).toContain('The sandbox moved');
    expect(JSON.parse(fixture.text('n/package.json'))).toEqual({ name: 'n' });
    expect(fixture.text('b/package.json')).not.toContain('evil');
    expect(existsSync(fixture.path('package.json'))).toBe(false);
  });

  test('are not accepted from a file that is too large, nested too deep or has comments', async () => {
    const fixture = toolFixture({ 'package.json': PACKAGE, 'broken/package.json': '{"scripts":' });
    const { text } = await run(
      fixture,
      `mkdir large deep comment empty; touch empty/package.json
      python3 - <<'END'
evil = '{"scripts":{"test":"evil"},"x":'
open('package.json', 'w').write(evil + '"' + 'x' * 5000000 + '"}')
open('large/package.json', 'w').write(evil + '"' + 'x' * 5000000 + '"}')
open('deep/package.json', 'w').write(evil + '[' * 600 + ']' * 600 + '}')
open('comment/package.json', 'w').write('// evil\\n' + evil + '1}')
END`,
    );
    expect(text).toContain('The sandbox moved');
    const left = ['', 'large', 'deep', 'comment', 'empty', 'broken'].filter((directory) =>
      existsSync(fixture.path(join(directory, 'package.json'))),
    );
    expect(left).toEqual(['empty', 'broken']);
  });

  test('move with their package, and may be copied', async () => {
    const fixture = toolFixture({ 'a/package.json': PACKAGE });
    expect((await run(fixture, 'cp -r a c; mv a b')).text).not.toContain('sandbox');
    expect(fixture.text('b/package.json')).toBe(PACKAGE);
    expect(fixture.text('c/package.json')).toBe(PACKAGE);
  });

  test('may stay as they are', async () => {
    const fixture = toolFixture({ 'package.json': PACKAGE });
    expect(
      (await run(fixture, 'cat package.json > /dev/null; touch package.json; npm pkg get scripts')).text,
    ).not.toContain('sandbox');
    expect(fixture.text('package.json')).toBe(PACKAGE);
  });
});

describe.runIf(bubblewrapWorks)('a file of the workspace whose name suggests secrets', () => {
  const READ =
    'cat .e""nv cer*/*; python3 -c "print(open(chr(46) + \'env\').read())"; cp .e?v copy; cat copy; cat .npmrc';
  const FILES = {
    '.env': 'TOKEN=secret\n',
    'certs/a.key': 'secret\n',
    '.npmrc': 'registry=https://r.example\n',
    '.aws/credentials': 'secret\n',
  };

  test('is empty for commands without approval, while settings without credentials are readable', async () => {
    const fixture = toolFixture(FILES);
    for (const mode of ['workspace-write', 'read-only'] as const) {
      const { text } = await run(fixture, `${READ}; cat .aws/*; echo x >> .e""nv`, { mode });
      expect(text).not.toContain('secret\n');
      expect(text).toContain('registry=https://r.example');
      expect(text).toMatch(/\.env: (?:Permission denied|Read-only file system)/);
      expect(text).toContain('has no content, because its name suggests secrets');
    }
    expect(fixture.text('.env')).toBe('TOKEN=secret\n');
    expect((await run(fixture, 'cat .env', { approved: true })).text).toBe('TOKEN=secret');
    expect((await run(fixture, 'cat .env', { shown: [fixture.path('.env')] })).text).toBe('TOKEN=secret');
  });

  test('is readable if the repository tracks it, but not if a command made it tracked', async () => {
    const fixture = repository({ 'test/fixtures/server.key': 'a test key\n' });
    addFiles(fixture.directory, FILES);
    expect((await run(fixture, 'cat test/fixtures/server.key')).text).toBe('a test key');
    // One sandbox, as an agent has it.
    const scope = { writable: [fixture.directory], mode: 'workspace-write' } as const;
    const sandbox = (await openSandboxes({ env: ENV, home: homedir() }, scope)).around(scope);
    const context = { ...fixture.context, env: ENV, sandbox };
    await callTool(bash, { command: 'ls' }, context);
    const added = await callTool(bash, { command: 'git add -A && git commit -q -m all' }, context);
    expect(outputText(added)).toBe('(no output)');
    expect(sh('git show HEAD:.env', fixture.directory)).toBe('TOKEN=secret\n');
    expect(outputText(await callTool(bash, { command: READ }, context))).not.toContain('secret\n');
    const beside = 'git tag x && grep -r . .';
    expect(outputText(await callTool(bash, { command: beside }, context))).not.toContain('TOKEN=secret');
  });
});

describe.runIf(bubblewrapWorks)('a workspace that holds more than a project', () => {
  test('shows no socket in it, wherever it is', async () => {
    const fixture = toolFixture({ 'deep/er/': '', 'a.txt': '' });
    for (const path of ['s.sock', 'deep/er/t']) {
      const server = createServer((socket) => socket.end('connected\n')).listen(fixture.path(path));
      onTestFinished(() => void server.close());
      await new Promise((ready) => server.once('listening', ready));
    }
    const connect = (path: string) =>
      `node -e 'require("net").connect("${path}").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`;
    for (const mode of ['workspace-write', 'read-only'] as const) {
      const { text } = await run(
        fixture,
        `${connect('s.sock')}; ${connect('deep/er/t')}; mv deep gone; mv s.sock t`,
        { mode },
      );
      expect(text).not.toContain('connected');
      expect(text).toMatch(/ECONNREFUSED|ENOTSOCK/);
    }
    expect(lstatSync(fixture.path('s.sock')).isSocket()).toBe(true);
  });

  test('hides secrets and keeps toolchains and start-up files if it is the home directory', async () => {
    const home = toolFixture({
      '.ssh/id_ed25519': 'secret\n',
      '.aws/credentials': 'secret\n',
      '.config/gh/hosts.yml': 'secret\n',
      '.netrc': 'secret\n',
      '.local/share/keyrings/login.keyring': 'secret\n',
      '.bashrc': 'mine\n',
      'bin/tool': '#!/bin/sh\necho tool\n',
      'project/a.txt': 'a\n',
    });
    sh('chmod 755 bin/tool', home.directory);
    const env = { PATH: `${home.path('bin')}:${ENV.PATH}`, HOME: home.directory };
    const { text } = await run(
      home,
      'cat .ssh/id_ed25519 .aws/credentials .config/gh/hosts.yml .netrc .local/share/keyrings/*; tool; echo x >> .bashrc; echo x >> bin/tool; echo b > project/b.txt; mv .ssh old; mkdir -p .config/systemd/user; echo x > .config/systemd/user/x.service; cat project/*',
      { env, home: home.directory },
    );
    expect(text).not.toContain('secret\n');
    expect(text).toContain('tool\n');
    expect(text).toContain('a\nb');
    expect(home.text('.bashrc')).toBe('mine\n');
    expect(home.text('bin/tool')).not.toContain('x\n');
    expect(existsSync(home.path('.config/systemd'))).toBe(false);
    expect(home.text('.ssh/id_ed25519')).toBe('secret\n');
  });

  test('hides own files, including those that do not exist yet', async () => {
    const fixture = toolFixture({ 'conf/polypod/config.yaml': 'key: secret\n', 'pod.yaml': 'key: secret\n' });
    const hidden = ['conf/polypod', 'pod.yaml', 'rules.json', 'run/daemon.sock', 'later/polypod'].map(
      (name) => fixture.path(name),
    );
    const { text } = await run(
      fixture,
      'cat conf/polypod/config.yaml pod.yaml; mv conf old; echo "[]" > rules.json; mkdir -p run later/polypod; echo x > run/daemon.sock; echo x > pod.yaml; ls conf/polypod',
      { hidden },
    );
    expect(text).not.toContain('secret');
    expect(text).toContain('rules.json');
    for (const name of ['rules.json', 'run/daemon.sock', 'later/polypod', 'old'])
      expect({ [name]: existsSync(fixture.path(name)) }).toEqual({ [name]: false });
    expect(fixture.text('pod.yaml')).toBe('key: secret\n');
  });

  test('is watched with any number of repositories', async () => {
    const fixture = toolFixture();
    for (let at = 0; at < 450; at += 1) {
      mkdirSync(fixture.path(`many/r${at}/.git`), { recursive: true });
      writeFileSync(fixture.path(`many/r${at}/.git/config`), '');
    }
    addFiles(fixture.directory, { 'src/a.txt': '' });
    const { text } = await run(
      fixture,
      'echo x > many/r7/.git/config; echo x > many/r449/.git/commondir; echo b > src/b.txt; ls src',
    );
    expect(text).toContain('b.txt');
    expect(readFileSync(fixture.path('many/r7/.git/config'), 'utf8')).toBe('');
    expect(existsSync(fixture.path('many/r449/.git/commondir'))).toBe(false);
  });
});
