import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeAttempt, usual } from './attempt.ts';
import { freshWorkspace, type Workspace } from './workspace.ts';

async function decide(workspace: Workspace, command = 'git status'): Promise<string> {
  return (await judgeAttempt({ tool: 'bash', command }, usual, workspace)).decision;
}

describe('git runs unasked only where its repository runs nothing', () => {
  it.each([
    '[core]\n\tfsmonitor = touch x',
    '[CORE]\n\tFSMonitor = touch x',
    '[core] fsmonitor = touch x',
    '[core]\n\tfsmonitor',
    '[diff]\n\texternal = touch x',
    '[diff "a"]\n\ttextconv = touch x',
    '[filter "a"]\n\tclean = touch x',
    '[include]\n\tpath = ../x',
    '[includeIf "gitdir:x"]\n\tpath = ../x',
    '[core]\n\tpager = touch x',
    '[gpg]\n\tprogram = touch x',
    '[alias]\n\tstatus = !touch x',
    '[remote "origin"]\n\tpromisor = true',
    '[core]\n\tworktree = ..',
    '[core]\n\thooksPath = ~/x',
    '[user]\n\tname = a\\\n[core]\n\tfsmonitor = touch x',
    'not a configuration',
  ])('not with %j', async (text) => {
    const workspace = await freshWorkspace();
    expect(await decide(workspace)).toBe('allow');
    appendFileSync(join(workspace.cwd, '.git/config'), `${text}\n`);
    expect(await decide(workspace)).toBe('ask');
  });

  it('as with what git itself writes', async () => {
    const workspace = await freshWorkspace();
    const git = (...args: readonly string[]) =>
      execFileSync('git', args, { cwd: workspace.cwd, stdio: 'ignore' });
    git('remote', 'add', 'origin', 'https://example.com/a.git');
    git('config', 'branch.main.remote', 'origin');
    git('config', 'user.name', '# ; "odd" \\ name');
    git('config', 'core.hooksPath', '.husky/_');
    expect(await decide(workspace)).toBe('allow');
    git('worktree', 'add', '-q', '../tree', 'HEAD');
    const worktree = { ...workspace, cwd: join(workspace.root, 'tree') };
    expect(await decide(worktree)).toBe('allow');
    git('config', 'core.fsmonitor', 'touch x');
    expect(await decide(worktree)).toBe('ask');
  });

  it.each(['.git/hooks', '.husky/_'])('not with a hook for looking in %s', async (directory) => {
    const workspace = await freshWorkspace();
    appendFileSync(join(workspace.cwd, '.git/config'), '[core]\n\thooksPath = .husky/_\n');
    expect(await decide(workspace, 'git diff')).toBe('allow');
    const hook = join(workspace.cwd, directory, 'post-index-change');
    mkdirSync(join(hook, '..'), { recursive: true });
    writeFileSync(hook, '#!/bin/sh\ntouch x\n');
    chmodSync(hook, 0o755);
    expect(await decide(workspace, 'git diff')).toBe('ask');
  });

  it('not in a directory that only looks like a repository', async () => {
    const workspace = await freshWorkspace();
    expect(await decide({ ...workspace, cwd: join(workspace.cwd, 'bare') })).toBe('ask');
    expect(await decide(workspace, 'cd bare; git log')).toBe('ask');
    expect(await decide(workspace, 'cd src; git log')).toBe('allow');
  });

  it.each([2, 3, 4])('and shows no tracked secret, with an index of version %i', async (version) => {
    const workspace = await freshWorkspace();
    const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: workspace.cwd });
    const shown = [
      'git diff',
      'git diff --stat -U3',
      'git show',
      'git grep one',
      'git log -p',
      'git log -U1',
      'git stash show',
    ];
    const told = [
      'git status',
      'git diff --stat',
      'git log',
      'git grep -l one',
      'git log --stat',
      'git stash list',
    ];
    const decisions = (commands: readonly string[]) =>
      Promise.all(commands.map((command) => decide(workspace, command)));
    git('update-index', `--index-version=${version}`);
    expect(new Set(await decisions([...shown, ...told]))).toEqual(new Set(['allow']));
    git('add', '-f', '.env.example', 'src/deep/c.ts', 'certs');
    git(
      'update-index',
      '--index-version',
      String(version),
      '--skip-worktree',
      ...(version === 2 ? [] : ['notes.txt']),
    );
    expect(new Set(await decisions(shown))).toEqual(new Set(['ask']));
    expect(new Set(await decisions(told))).toEqual(new Set(['allow']));
  });

  it('and shows nothing when it cannot be told what is tracked', async () => {
    const workspace = await freshWorkspace();
    execFileSync('git', ['update-index', '--split-index'], { cwd: workspace.cwd });
    expect(await decide(workspace, 'git status')).toBe('allow');
    expect(await decide(workspace, 'git diff')).toBe('ask');
    writeFileSync(join(workspace.cwd, '.git/index'), 'DIRC');
    expect(await decide(workspace, 'git diff')).toBe('ask');
  });

  it('where there is none', async () => {
    const workspace = await freshWorkspace();
    expect(await decide({ ...workspace, cwd: join(workspace.root, 'extra') })).toBe('allow');
  });
});
