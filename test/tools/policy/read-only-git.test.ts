import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeAttempt, perform, usual } from './attempt.ts';
import { canaryOf, git, hasRun, plant, put, VECTORS } from './hostile-repository.ts';
import { environmentOf, freshWorkspace, hasCanary, snapshot, type Workspace } from './workspace.ts';

const readOnly = { ...usual, mode: 'read-only' } as const;

async function decide(workspace: Workspace, command: string): Promise<string> {
  return (await judgeAttempt({ tool: 'bash', command }, usual, workspace)).decision;
}

describe('git that runs without approval runs nothing of its repository', () => {
  it.each(VECTORS.map((vector) => [vector.name, vector] as const))('%s', async (_, vector) => {
    const workspace = await freshWorkspace();
    plant(vector, workspace);
    rmSync(canaryOf(workspace), { force: true });
    const before = snapshot(workspace.root);
    const decisions: string[] = [];
    for (const command of vector.commands)
      decisions.push((await judgeAttempt({ tool: 'bash', command }, usual, workspace)).decision);
    if (vector.asks !== undefined) expect(decisions).toEqual(decisions.map(() => 'ask'));
    const allowed = vector.commands.filter((_command, index) => decisions[index] === 'allow');
    const attempt = { tool: 'bash', command: inOneLine(allowed) } as const;
    if (allowed.length > 0) {
      expect(await judgeAttempt(attempt, readOnly, workspace)).toMatchObject({ decision: 'allow' });
      const output = await perform(attempt, readOnly, workspace);
      expect(hasRun(workspace), output).toBe(false);
      expect(hasCanary(output), output).toBe(false);
    }
    expect(snapshot(workspace.root)).toEqual(before);
  });

  it('although plain git runs it', async () => {
    const ran: string[] = [];
    for (const vector of VECTORS) {
      const workspace = await freshWorkspace();
      plant(vector, workspace);
      rmSync(canaryOf(workspace), { force: true });
      spawnSync('timeout', ['5', 'bash', '-c', inOneLine(vector.commands)], {
        cwd: workspace.cwd,
        env: environmentOf(workspace),
        stdio: 'ignore',
      });
      if (hasRun(workspace)) ran.push(vector.name);
    }
    expect(ran).toEqual(
      expect.arrayContaining([
        'core.fsmonitor',
        'hooks',
        'core.hooksPath',
        'textconv',
        'external diff',
        'clean, smudge and process filters',
        'info/attributes',
        'a nested repository with a filter',
        'a submodule that is not to be ignored',
        'a promisor remote',
        'signature programs',
        'an include',
        'config.worktree',
        'a file .git that leads elsewhere',
        'a file .git that ends in " "',
        'a directory with only HEAD and commondir',
      ]),
    );
  });
});

/** Starting many shells takes most of the time. */
function inOneLine(commands: readonly string[]): string {
  return commands.map((command) => `( ${command} )`).join('; ');
}

/** Nothing runs in it. */
let unchanged: Promise<Workspace> | undefined;

describe('git asks', () => {
  it.each([
    '/usr/bin/git status',
    'env git status',
    './git status',
    'PATH=. git status',
    'GIT_DIR=x git status',
    'exec git status',
    'git -c core.fsmonitor=x status',
    'git --git-dir=bare log',
    'git --work-tree=.. status',
    'git --exec-path=. status',
    'git --config-env=core.fsmonitor=X status',
    'git -C .. -C ws status',
    'git status -vv',
    'git status -v',
    'git status --ignore-submodules=none',
    'git diff --ext-diff',
    'git diff --textconv',
    'git diff --submodule=diff',
    'git diff --ignore-submodules=none',
    'git diff --output=x',
    'git diff --no-index a b',
    'git log --ext-diff -p',
    'git log --alternate-refs',
    'git log --show-signature',
    'git log --format=%G?',
    'git show --output=x',
    'git describe --dirty',
    'git blame --contents x notes.txt',
    'git blame --cont x notes.txt',
    'git blame --ignore-revs-file=x notes.txt',
    'git grep -f x',
    'git grep --open-files-in-pager x',
    'git grep --open-f x',
    'git grep --recurse-submodules x',
    'git grep --textconv x',
    'git check-ignore -v x',
    'git cat-file --textconv HEAD:notes.txt',
    'git cat-file --filters HEAD:notes.txt',
    'git archive HEAD',
    'git submodule status',
    'git ls-remote',
    'git fetch',
    'git remote show origin',
    'git remote update',
    'git config --get user.name',
    'git config alias.x !y',
    'git log --help',
    'git help log',
    'git difftool',
    'git worktree add x',
    'git stash',
    'git branch new',
    'git tag new',
    'git x',
  ])('before %s', async (command) => {
    expect(await decide(await (unchanged ??= freshWorkspace()), command)).toBe('ask');
  });

  it('if its repository is outside the working directory', async () => {
    const workspace = await freshWorkspace();
    const inside = { ...workspace, cwd: join(workspace.cwd, 'src') };
    expect(await decide(inside, 'git status')).toBe('ask');
    expect(await decide(workspace, 'cd src && git status')).toBe('allow');
    expect(await decide(workspace, 'git -C src status')).toBe('allow');
    expect(await decide(workspace, 'git -C .. status')).toBe('ask');
  });

  it('if another user owns the repository', async () => {
    if (process.getuid?.() !== 0) return;
    const workspace = await freshWorkspace();
    execFileSync('chown', ['-R', '1234:1234', workspace.cwd]);
    expect(await decide(workspace, 'git status')).toBe('ask');
  });
});

const SAME = [
  'git status',
  'git status --short',
  'git status -sb',
  'git status --porcelain',
  'git diff',
  'git diff --stat',
  'git diff --cached',
  'git diff HEAD~1',
  'git diff --name-only HEAD~1',
  'git log',
  'git log --oneline --graph --all --decorate',
  'git log -p -2',
  'git log --stat -3',
  'git log --follow README.md',
  'git log -1 --pretty=%B',
  'git show',
  'git show HEAD~1 --stat',
  'git show HEAD:README.md',
  'git blame README.md',
  'git branch',
  'git branch -a',
  'git branch -vv',
  'git branch --show-current',
  'git tag -l',
  'git remote',
  'git remote -v',
  'git remote get-url origin',
  'git ls-files',
  'git ls-files -m',
  'git rev-parse HEAD',
  'git rev-parse --show-toplevel',
  'git rev-parse --git-dir',
  'git rev-parse --abbrev-ref HEAD',
  'git reflog',
  'git reflog -5',
  'git stash list',
  'git stash show',
  'git cat-file -p HEAD',
  'git cat-file -t HEAD',
  'git ls-tree -r HEAD --name-only',
  'git rev-list --count HEAD',
  'git shortlog -sn HEAD',
  'git grep const',
  'git merge-base HEAD HEAD~1',
  'git show-ref',
  'git check-ignore ignored.log',
  'git worktree list',
  'git describe --tags',
  'git for-each-ref',
  'git --version',
  'git --no-pager log -3',
  'git -C src status',
  'git -C src diff',
  'cd src && git status',
  'cd src && git log --oneline -- .',
  'git diff | head -5',
  'git status && git diff --stat; git log --oneline | wc -l',
  '(cd docs && git status --short)',
  'command git status',
  '\\git status',
  'timeout 5 git status',
  'git diff --quiet; echo "$?"',
  'git log nothing-of-that-name',
];

/** A typical repository: a remote, a branch that is ahead, a stash, a tag, a second worktree, ignored files. */
async function everydayRepository(): Promise<Workspace> {
  const workspace = await freshWorkspace();
  const { cwd, root } = workspace;
  put(join(cwd, '.gitignore'), '*.log\n.env\n');
  put(join(cwd, 'ignored.log'), '');
  git(cwd, 'add', '.gitignore');
  git(cwd, 'commit', '-qm', 'second');
  git(cwd, 'tag', '-a', 'v1', '-m', 'v1');
  git(cwd, 'remote', 'add', 'origin', 'https://example.com/a.git');
  git(cwd, 'update-ref', 'refs/remotes/origin/main', 'HEAD~1');
  git(cwd, 'config', 'branch.main.remote', 'origin');
  git(cwd, 'config', 'branch.main.merge', 'refs/heads/main');
  put(join(cwd, 'src/stashed.ts'), 'stashed\n');
  git(cwd, 'add', 'src/stashed.ts');
  git(cwd, 'stash', '-q', '--', 'src/stashed.ts');
  git(cwd, 'worktree', 'add', '-q', '-b', 'second', join(root, 'tree'));
  writeFileSync(join(cwd, 'src/b.ts'), 'export const b = 22;\n');
  writeFileSync(join(root, 'tree/src/b.ts'), 'export const b = 33;\n');
  put(join(cwd, 'src/untracked.ts'), '');
  return workspace;
}

function plainly(command: string, workspace: Workspace): string {
  const { stdout, stderr } = spawnSync('bash', ['-c', command], {
    cwd: workspace.cwd,
    env: environmentOf(workspace),
    encoding: 'utf8',
  });
  return stdout + stderr;
}

describe('git that runs without approval prints what plain git prints', () => {
  it.each(['ws', 'tree'])('in the worktree %s', async (name) => {
    const workspace = await everydayRepository();
    const target = { ...workspace, cwd: join(workspace.root, name) };
    for (let at = 0; at < SAME.length; at += 8) {
      const command = inOneLine(SAME.slice(at, at + 8));
      const attempt = { tool: 'bash', command } as const;
      expect(await judgeAttempt(attempt, usual, target), command).toMatchObject({
        decision: 'allow',
        onlyReads: true,
      });
      expect(await perform(attempt, usual, target), command).toBe(plainly(command, target));
    }
  });

  it('during a merge with conflicts', async () => {
    const workspace = await everydayRepository();
    const { cwd } = workspace;
    git(cwd, 'checkout', '-q', '-f');
    git(join(workspace.root, 'tree'), 'commit', '-qam', 'other');
    writeFileSync(join(cwd, 'src/b.ts'), 'export const b = 22;\n');
    git(cwd, 'commit', '-qam', 'mine');
    expect(() => git(cwd, 'merge', 'second')).toThrow();
    for (const command of ['git status', 'git diff', 'git ls-files -u', 'git log --oneline MERGE_HEAD'])
      expect(await perform({ tool: 'bash', command }, usual, workspace), command).toBe(
        plainly(command, workspace),
      );
  });

  it('without a repository', async () => {
    const workspace = await freshWorkspace();
    const target = { ...workspace, cwd: join(workspace.root, 'extra') };
    expect(await decide(target, 'git status')).toBe('allow');
    expect(await perform({ tool: 'bash', command: 'git status' }, usual, target)).toBe(
      plainly('git status', target),
    );
  });
});

describe('what was judged is what runs', () => {
  it('a repository that is created after the decision is not used', async () => {
    const workspace = await freshWorkspace();
    const attempt = { tool: 'bash', command: 'git status' } as const;
    expect(await decide(workspace, attempt.command)).toBe('allow');
    appendFileSync(join(workspace.cwd, '.git/config'), '[core]\n\tbare = true\n');
    await expect(perform(attempt, usual, workspace)).resolves.not.toContain('On branch');
  });

  it('the shim runs no other verb and in no other directory', async () => {
    const workspace = await freshWorkspace();
    const { prepareReadOnlyRun } = await import('../../../src/tools/index.ts');
    const { examine, fileFacts } = await import('../../../src/tools/policy/index.ts');
    const { accessOf, policyFor } = await import('./attempt.ts');
    const attempt = { tool: 'bash', command: 'git status' } as const;
    const call = { tool: 'bash', access: await examine([accessOf(attempt, workspace)], fileFacts) };
    const policy = await policyFor(usual, workspace);
    const run = await prepareReadOnlyRun(
      call,
      () => policy,
      fileFacts,
    )({
      env: environmentOf(workspace),
      scratch: join(workspace.root, 'scratch'),
    });
    const shell = (command: string, cwd = workspace.cwd) =>
      spawnSync(run.program, [...run.args(command)], { cwd, env: run.env, encoding: 'utf8' });
    expect(shell('git status').stdout).toContain('On branch main');
    expect(shell('git commit --allow-empty -m x').stderr).toContain('does not run without approval');
    expect(shell('git -c core.pager=x status').stderr).toContain('does not run without approval');
    expect(shell('git status', join(workspace.cwd, 'src')).stderr).toContain('did not examine');
    await run.close();
    expect(readdirSync(join(workspace.root, 'scratch'))).toEqual(['.keep']);
  });
});
