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
import { addFiles, callTool, stageWith, outputText } from './fixture.ts';

const IDENTITY = 'git config user.name Ada; git config user.email ada@example.org;';
const repository = (files: Readonly<Record<string, string>> = {}) => {
  const stage = stageWith({ 'a.txt': 'a\n', ...files });
  sh(`git init -q; ${IDENTITY} git add -A; git commit -q -m first`, stage.directory);
  return stage;
};

describe.runIf(bubblewrapWorks)('a repository in the sandbox', () => {
  test('is readable, and no program can change anything in .git', async () => {
    const stage = repository();
    const config = stage.text('.git/config');
    const { text } = await run(
      stage,
      [
        'git status --short; git log --format=%s',
        'git config core.fsmonitor /tmp/x; sh -c "echo evil > .git/config"; sh -c "echo x > .git/commondir"',
        'sh -c "echo x > .git/hooks/pre-commit"; mv .git .old; rm -rf .git; ln .git/config mine',
        'ls -A',
      ].join('\n'),
    );
    expect(text).toContain('first');
    expect(text).toContain('Read-only file system');
    expect(stage.text('.git/config')).toBe(config);
    expect(existsSync(stage.path('.git/commondir'))).toBe(false);
    expect(readdirSync(stage.directory).toSorted()).toEqual(['.git', 'a.txt']);
  });

  test('accepts commits by commands that run only git', async () => {
    const stage = repository();
    writeFileSync(stage.path('b.txt'), 'b\n');
    const second = await run(
      stage,
      'git add -A && git commit -q -m "second commit" && git log --format="%s by %an"',
    );
    expect(second.text).toBe('second commit by Ada\nfirst by Ada');
    const branched = await run(
      stage,
      'git switch -q -c topic && git tag v1 && git stash list && git branch --show-current',
    );
    expect(branched.text).toBe('topic');
    expect(sh('git status --short; git tag', stage.directory)).toBe('v1\n');
  });

  test('keeps its settings while a commit hook runs a program that changes them', async () => {
    const stage = repository();
    writeFileSync(
      stage.path('.git/hooks/pre-commit'),
      '#!/bin/sh\necho evil >> .git/config; echo evil > .git/hooks/post-commit; mkdir -p .git/x; echo ../evil > .git/commondir; echo hooked\n',
      { mode: 0o755 },
    );
    const config = stage.text('.git/config');
    const { text } = await run(stage, 'git commit -q --allow-empty -m hooked');
    expect(text).toContain('hooked');
    expect(text).toContain('commondir');
    expect(stage.text('.git/config')).toBe(config);
    expect(existsSync(stage.path('.git/commondir'))).toBe(false);
    expect(existsSync(stage.path('.git/hooks/post-commit'))).toBe(false);
  });

  test('gets no objects of another repository, and no list of programs for a rebase', async () => {
    const other = repository({ 'private.txt': 'private\n' });
    const blob = sh('git rev-parse HEAD:private.txt', other.directory).trim();
    const stage = repository();
    writeFileSync(stage.path('.git/objects/info/alternates'), `${other.path('.git/objects')}\n`);
    writeFileSync(
      stage.path('.git/hooks/pre-commit'),
      '#!/bin/sh\nmkdir -p .git/rebase-merge; echo "exec evil" > .git/rebase-merge/git-rebase-todo\n',
      { mode: 0o755 },
    );
    expect((await run(stage, `git cat-file -p ${blob}`)).text).not.toContain('private');
    expect((await run(stage, 'git commit -q --allow-empty -m x')).text).toContain('rebase-merge');
    expect(existsSync(stage.path('.git/rebase-merge'))).toBe(false);
  });

  test('is read-only for git next to other programs, and the result explains how to commit', async () => {
    const stage = repository();
    const { text } = await run(stage, 'make --version > /dev/null; git commit --allow-empty -m x');
    expect(text).toContain('Read-only file system');
    expect(text).toContain('Run git add, git commit and the like as a command of their own');
  });

  test('can be changed by an approved command', async () => {
    const stage = repository();
    await run(stage, 'git config core.editor true; sh -c "echo x > .envrc"', { approved: true });
    expect(stage.text('.git/config')).toContain('editor');
    expect(stage.text('.envrc')).toBe('x\n');
    await run(stage, 'git config core.pager cat', { mode: 'full-access' });
    expect(stage.text('.git/config')).toContain('pager');
  });

  test('is protected at any depth, and its parents cannot be renamed', async () => {
    const stage = stageWith({ 'deep/er/in/x.txt': 'x\n', 'deep/other.txt': '' });
    sh('git init -q deep/er/in', stage.directory);
    const { text } = await run(
      stage,
      'mv deep gone; mv deep/er gone; mv deep/er/in gone; echo x > deep/er/in/.git/config; touch deep/new deep/er/new deep/er/in/new; ls',
    );
    expect(text).toContain('busy');
    expect(text).toMatch(/^deep$/m);
    expect(stage.text('deep/er/in/.git/config')).toContain('[core]');
    // A directory of another mount is moved by copying it, and the copy of the repository does not stay.
    expect(sh('find . -name .git', stage.directory)).toBe('./deep/er/in/.git\n');
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
    const stage = stageWith({ 'a.txt': '' });
    const { text } = await run(stage, command);
    expect(text).toContain(`The sandbox moved`);
    expect(text).toContain(planted);
    expect(text).toContain('git init or git clone as a command of its own: both ask for approval');
    expect(existsSync(stage.path(planted))).toBe(false);
    const kept = readdirSync(stage.around.scratch).filter((name) => name.startsWith('removed-'));
    expect(kept).toHaveLength(1);
  });

  test('is rejected if .git is a link or its configuration has a second name', async () => {
    const linked = stageWith({ 'real/x': '' });
    symlinkSync('real', linked.path('.git'));
    await expect(run(linked, 'true')).rejects.toThrow(/\.git, because it is a symbolic link/);
    const shared = repository();
    linkSync(shared.path('.git/config'), shared.path('other-name'));
    await expect(run(shared, 'true')).rejects.toThrow(/\.git\/config, because the file has a second name/);
  });

  test('is found for a linked worktree and a submodule, and only if it belongs to them', async () => {
    const main = repository();
    const tree = stageWith();
    sh(`git worktree add -q ${tree.path('wt')} -b topic`, main.directory);
    const wt = { ...tree, directory: tree.path('wt'), around: { ...tree.around, cwd: tree.path('wt') } };
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

    const foreign = stageWith({ 'secret/HEAD': 'secret\n', 'secret/config': 'x', 'ws/a': '' });
    writeFileSync(foreign.path('ws/.git'), `gitdir: ${foreign.path('secret')}\n`);
    const ws = { ...foreign, directory: foreign.path('ws') };
    expect((await run(ws, `cat ${foreign.path('secret/HEAD')}`)).text).toContain('No such file');
  });

  test("has the committer's identity and no other setting of the user", async () => {
    const home = stageWith({
      '.gitconfig':
        '[user]\n\tname = Ada L\n\temail = ada@example.org\n[credential]\n\thelper = store\n[core]\n\tpager = evil\n',
      '.git-credentials': 'https://u:p@h\n',
    });
    const stage = stageWith({ 'a.txt': '' });
    sh('git init -q', stage.directory);
    const env = { ...ENV, HOME: home.directory };
    const { text } = await run(stage, 'git add -A && git commit -q -m x && git log --format="%an <%ae>"', {
      env,
      home: home.directory,
    });
    expect(text).toBe('Ada L <ada@example.org>');
    const settings = await run(stage, 'git config --list; ls -A ~', { env, home: home.directory });
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
    const stage = stageWith(EXISTING);
    const names = Object.keys(EXISTING).filter((name) => name !== 'sub/src.txt');
    const { text } = await run(
      stage,
      names
        .map(
          (name) => `echo evil > ${name}; echo evil > t; mv -f t ${name}; rm -f ${name}; chmod 777 ${name}`,
        )
        .join('\n'),
    );
    expect(text).toContain('Change them with the edit or write tool, which asks for approval');
    for (const name of names)
      expect({ [name]: stage.text(name) }).toEqual({ [name]: EXISTING[name as keyof typeof EXISTING] });
  });

  test('is moved away if a command creates it', async () => {
    const names = Object.keys(EXISTING).filter((name) => name !== 'sub/src.txt');
    const stage = stageWith({ 'a.txt': '' });
    const { text } = await run(
      stage,
      names.map((name) => `mkdir -p $(dirname ${name}); echo evil > ${name}`).join('\n'),
    );
    expect(text).toContain('.husky');
    expect(text).toContain('To create them, use the write tool');
    for (const name of names) expect({ [name]: existsSync(stage.path(name)) }).toEqual({ [name]: false });
  });

  test('is moved away if it replaces another by a renamed directory, and a renamed one may stay', async () => {
    const stage = stageWith({ 'sub/.envrc': 'mine\n' });
    await run(stage, 'mv sub old; mkdir sub; echo evil > sub/.envrc');
    expect(existsSync(stage.path('sub/.envrc'))).toBe(false);
    expect(stage.text('old/.envrc')).toBe('mine\n');
  });

  test('is restored if it was written through a second name, or was a link', async () => {
    const stage = stageWith({ '.envrc': 'mine\n', 'target.txt': 't\n' });
    linkSync(stage.path('.envrc'), stage.path('other-name'));
    symlinkSync('target.txt', stage.path('.mcp.json'));
    const { text } = await run(stage, 'echo evil > other-name; rm .mcp.json; echo evil > .mcp.json');
    expect(text).toContain('restored');
    expect(stage.text('.envrc')).toBe('mine\n');
    expect(readlinkSync(stage.path('.mcp.json'))).toBe('target.txt');
  });

  test('is protected in a workspace that is itself in node_modules', async () => {
    const stage = stageWith({
      'node_modules/x/.envrc': 'a\n',
      'node_modules/x/package.json': '{"scripts":{"test":"true"}}\n',
    });
    const patched = { ...stage, directory: stage.path('node_modules/x') };
    await run(
      patched,
      'echo evil > .envrc; echo evil > .mcp.json; echo \'{"scripts":{"test":"evil"}}\' > package.json',
    );
    expect(stage.text('node_modules/x/.envrc')).toBe('a\n');
    expect(existsSync(stage.path('node_modules/x/.mcp.json'))).toBe(false);
    expect(stage.text('node_modules/x/package.json')).not.toContain('evil');
  });

  test('in node_modules is not protected, except for repositories', async () => {
    const stage = stageWith({ 'node_modules/x/.npmrc': 'a\n' });
    const { text } = await run(
      stage,
      'echo b > node_modules/x/.npmrc; mkdir -p node_modules/y/.vscode; git init -q node_modules/y',
    );
    expect(stage.text('node_modules/x/.npmrc')).toBe('b\n');
    expect(existsSync(stage.path('node_modules/y/.vscode'))).toBe(true);
    expect(text).toContain('node_modules/y/.git');
  });
});

describe.runIf(bubblewrapWorks)('the scripts of a package.json', () => {
  const PACKAGE = '{\n    "name": "x",\n    "scripts": { "test": "true" },\n    "version": "1.0.0"\n}\n';

  test('are restored, while other changes stay', async () => {
    const stage = stageWith({ 'package.json': PACKAGE, 'lib/package.json': '{"name":"lib"}\n' });
    const { text } = await run(
      stage,
      `npm pkg set scripts.postinstall=evil version=2.0.0; node -e 'require("fs").writeFileSync("lib/package.json", JSON.stringify({ name: "lib", scripts: { test: "evil" }, private: true }))'`,
    );
    expect(text).toContain('The sandbox restored');
    const kept = /changed version is in (\S+)\./.exec(text)?.[1] ?? '';
    expect(readFileSync(join(kept, 'package.json'), 'utf8')).toContain('evil');
    expect(text).toContain('package.json');
    expect(JSON.parse(stage.text('package.json'))).toEqual({
      name: 'x',
      scripts: { test: 'true' },
      version: '2.0.0',
    });
    expect(JSON.parse(stage.text('lib/package.json'))).toEqual({ name: 'lib', private: true });
  });

  test('are not accepted from a new file, a link or a file with a byte order mark', async () => {
    const stage = stageWith({ 'package.json': PACKAGE });
    const { text } = await run(
      stage,
      `mkdir n b; echo '{"name":"n","scripts":{"test":"evil"}}' > n/package.json; printf '\\xef\\xbb\\xbf{"scripts":{"test":"evil"}}' > b/package.json; echo '{"scripts":{"test":"evil"}}' > evil.json; rm package.json; ln -s evil.json package.json; mkfifo x; mkdir p; mkfifo p/package.json`,
    );
    expect(text).toContain('The sandbox moved');
    expect(JSON.parse(stage.text('n/package.json'))).toEqual({ name: 'n' });
    expect(stage.text('b/package.json')).not.toContain('evil');
    expect(existsSync(stage.path('package.json'))).toBe(false);
  });

  test('are not accepted from a file that is too large, nested too deep or has comments', async () => {
    const stage = stageWith({ 'package.json': PACKAGE, 'broken/package.json': '{"scripts":' });
    const { text } = await run(
      stage,
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
      existsSync(stage.path(join(directory, 'package.json'))),
    );
    expect(left).toEqual(['empty', 'broken']);
  });

  test('move with their package, and may be copied', async () => {
    const stage = stageWith({ 'a/package.json': PACKAGE });
    expect((await run(stage, 'cp -r a c; mv a b')).text).not.toContain('sandbox');
    expect(stage.text('b/package.json')).toBe(PACKAGE);
    expect(stage.text('c/package.json')).toBe(PACKAGE);
  });

  test('may stay as they are', async () => {
    const stage = stageWith({ 'package.json': PACKAGE });
    expect(
      (await run(stage, 'cat package.json > /dev/null; touch package.json; npm pkg get scripts')).text,
    ).not.toContain('sandbox');
    expect(stage.text('package.json')).toBe(PACKAGE);
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
    const stage = stageWith(FILES);
    for (const mode of ['workspace-write', 'read-only'] as const) {
      const { text } = await run(stage, `${READ}; cat .aws/*; echo x >> .e""nv`, { mode });
      expect(text).not.toContain('secret\n');
      expect(text).toContain('registry=https://r.example');
      expect(text).toMatch(/\.env: (?:Permission denied|Read-only file system)/);
      expect(text).toContain('has no content, because its name suggests secrets');
    }
    expect(stage.text('.env')).toBe('TOKEN=secret\n');
    expect((await run(stage, 'cat .env', { approved: true })).text).toBe('TOKEN=secret');
    expect((await run(stage, 'cat .env', { shown: [stage.path('.env')] })).text).toBe('TOKEN=secret');
  });

  test('is readable if the repository tracks it, but not if a command made it tracked', async () => {
    const stage = repository({ 'test/fixtures/server.key': 'a test key\n' });
    addFiles(stage.directory, FILES);
    expect((await run(stage, 'cat test/fixtures/server.key')).text).toBe('a test key');
    // One sandbox, as an agent has it.
    const scope = { writable: [stage.directory], mode: 'workspace-write' } as const;
    const sandbox = (await openSandboxes({ env: ENV, home: homedir() }, scope)).around(scope);
    const around = { ...stage.around, env: ENV, sandbox };
    await callTool(bash, { command: 'ls' }, around);
    const added = await callTool(bash, { command: 'git add -A && git commit -q -m all' }, around);
    expect(outputText(added)).toBe('(no output)');
    expect(sh('git show HEAD:.env', stage.directory)).toBe('TOKEN=secret\n');
    expect(outputText(await callTool(bash, { command: READ }, around))).not.toContain('secret\n');
    const beside = 'git tag x && grep -r . .';
    expect(outputText(await callTool(bash, { command: beside }, around))).not.toContain('TOKEN=secret');
  });
});

describe.runIf(bubblewrapWorks)('a workspace that holds more than a project', () => {
  test('shows no socket in it, wherever it is', async () => {
    const stage = stageWith({ 'deep/er/': '', 'a.txt': '' });
    for (const path of ['s.sock', 'deep/er/t']) {
      const server = createServer((socket) => socket.end('connected\n')).listen(stage.path(path));
      onTestFinished(() => void server.close());
      await new Promise((ready) => server.once('listening', ready));
    }
    const connect = (path: string) =>
      `node -e 'require("net").connect("${path}").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`;
    for (const mode of ['workspace-write', 'read-only'] as const) {
      const { text } = await run(
        stage,
        `${connect('s.sock')}; ${connect('deep/er/t')}; mv deep gone; mv s.sock t`,
        { mode },
      );
      expect(text).not.toContain('connected');
      expect(text).toMatch(/ECONNREFUSED|ENOTSOCK/);
    }
    expect(lstatSync(stage.path('s.sock')).isSocket()).toBe(true);
  });

  test('hides secrets and keeps toolchains and start-up files if it is the home directory', async () => {
    const home = stageWith({
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
    const stage = stageWith({ 'conf/polypod/config.yaml': 'key: secret\n', 'pod.yaml': 'key: secret\n' });
    const hidden = ['conf/polypod', 'pod.yaml', 'rules.json', 'run/daemon.sock', 'later/polypod'].map(
      (name) => stage.path(name),
    );
    const { text } = await run(
      stage,
      'cat conf/polypod/config.yaml pod.yaml; mv conf old; echo "[]" > rules.json; mkdir -p run later/polypod; echo x > run/daemon.sock; echo x > pod.yaml; ls conf/polypod',
      { hidden },
    );
    expect(text).not.toContain('secret');
    expect(text).toContain('rules.json');
    for (const name of ['rules.json', 'run/daemon.sock', 'later/polypod', 'old'])
      expect({ [name]: existsSync(stage.path(name)) }).toEqual({ [name]: false });
    expect(stage.text('pod.yaml')).toBe('key: secret\n');
  });

  test('is watched with any number of repositories', async () => {
    const stage = stageWith();
    for (let at = 0; at < 450; at += 1) {
      mkdirSync(stage.path(`many/r${at}/.git`), { recursive: true });
      writeFileSync(stage.path(`many/r${at}/.git/config`), '');
    }
    addFiles(stage.directory, { 'src/a.txt': '' });
    const { text } = await run(
      stage,
      'echo x > many/r7/.git/config; echo x > many/r449/.git/commondir; echo b > src/b.txt; ls src',
    );
    expect(text).toContain('b.txt');
    expect(readFileSync(stage.path('many/r7/.git/config'), 'utf8')).toBe('');
    expect(existsSync(stage.path('many/r449/.git/commondir'))).toBe(false);
  });
});
