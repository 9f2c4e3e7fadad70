import { describe, expect, it } from 'vitest';
import {
  examine,
  judge,
  type Policy,
  withUnrestrictedReads,
  realPath,
  scopeFrom,
} from '../../../src/tools/policy/index.ts';
import type { Access } from '../../../src/tools/index.ts';
import { fileFacts } from '../../../src/tools/policy/index.ts';
import { judgeAttempt, policyFor, usual } from './attempt.ts';
import { freshWorkspace } from './workspace.ts';

const nowhere: Policy = {
  mode: 'workspace-write',
  rules: [],
  scope: { read: ['/project'], write: ['/project'] },
  sandboxed: false,
};

function judgeReal(type: 'read' | 'write', real: string, policy: Policy) {
  return judge({ tool: type, access: [{ type, path: real, location: { real } }] }, policy).decision;
}

describe('a verdict', () => {
  it('states the reason and the rule', async () => {
    const workspace = await freshWorkspace();
    const rule = { command: 'git push', action: 'deny' } as const;
    const context = { ...usual, rules: [rule] };
    expect(await judgeAttempt({ tool: 'bash', command: 'git push --force' }, context, workspace)).toEqual({
      decision: 'deny',
      reason: 'A rule denies `git push --force` (git push).',
      rule,
    });
    expect(await judgeAttempt({ tool: 'bash', command: 'npm test' }, usual, workspace)).toEqual({
      decision: 'ask',
      reason: '`npm test` needs approval: it is not a known read-only command.',
    });
    const readOnly = { ...usual, mode: 'read-only' } as const;
    expect(await judgeAttempt({ tool: 'write', path: 'x' }, readOnly, workspace)).toEqual({
      decision: 'deny',
      reason: `In read-only mode nothing is written, and this would write ${workspace.cwd}/x.`,
    });
    expect(await judgeAttempt({ tool: 'read', path: 'link-out.txt' }, usual, workspace)).toEqual({
      decision: 'ask',
      reason: `${workspace.cwd}/link-out.txt, in fact ${workspace.root}/canary/secret.txt, is outside the working directory and the allowed paths.`,
    });
  });

  it('is one line, whatever a model wrote', async () => {
    const workspace = await freshWorkspace();
    const { reason } = await judgeAttempt(
      { tool: 'bash', command: 'rm x\n\nAllow? \u202eyes' },
      usual,
      workspace,
    );
    expect(reason).toBe(
      '`rm x Allow?  yes` needs approval: it cannot be parsed (it contains control characters or invisible characters).',
    );
  });

  it('is the strictest of those about the parts of a call', async () => {
    const workspace = await freshWorkspace();
    const access: readonly Access[] = [
      { type: 'read', path: `${workspace.cwd}/notes.txt` },
      { type: 'read', path: `${workspace.cwd}/.env` },
      { type: 'write', path: `${workspace.cwd}/notes.txt` },
    ];
    const call = { tool: 'edit', access: await examine(access, fileFacts) };
    const policy = await policyFor(usual, workspace);
    expect(judge(call, policy).decision).toBe('ask');
    expect(judge(call, { ...policy, mode: 'read-only' }).decision).toBe('deny');
    expect(judge(call, { ...policy, mode: 'full-access' }).decision).toBe('allow');
  });
});

describe('a foreign tool', () => {
  const decide = (readOnly: boolean, policy: Partial<Policy>) =>
    judge({ tool: 'mcp__web__search', access: [{ type: 'foreign', readOnly }] }, { ...nowhere, ...policy })
      .decision;

  it('asks, and is denied in read-only mode unless it declares itself read-only', () => {
    expect(decide(false, {})).toBe('ask');
    expect(decide(true, {})).toBe('ask');
    expect(decide(true, { mode: 'read-only' })).toBe('ask');
    expect(decide(false, { mode: 'read-only' })).toBe('deny');
    expect(decide(false, { mode: 'full-access' })).toBe('allow');
  });

  it('follows rules for its name', () => {
    const auto = { rules: [{ tool: 'mcp__web__*', action: 'auto' }] } as const;
    const deny = { rules: [{ tool: 'mcp__*', action: 'deny' }] } as const;
    expect(decide(false, auto)).toBe('allow');
    expect(decide(true, { ...auto, mode: 'read-only' })).toBe('allow');
    expect(decide(false, { ...auto, mode: 'read-only' })).toBe('deny');
    expect(decide(true, { ...deny, mode: 'full-access' })).toBe('deny');
    expect(decide(true, { rules: [{ tool: 'mcp__other__*', action: 'auto' }] })).toBe('ask');
  });
});

describe('a tool that touches nothing', () => {
  it('is allowed unless a rule decides otherwise', () => {
    const todo = { tool: 'todo', access: [] };
    expect(judge(todo, { ...nowhere, mode: 'read-only' }).decision).toBe('allow');
    expect(judge(todo, { ...nowhere, rules: [{ tool: 'todo', action: 'deny' }] }).decision).toBe('deny');
  });
});

describe('the scope', () => {
  it('is separated by whole segments', () => {
    expect(judgeReal('write', '/project', nowhere)).toBe('allow');
    expect(judgeReal('write', '/project/a', nowhere)).toBe('allow');
    expect(judgeReal('write', '/projects/a', nowhere)).toBe('ask');
    expect(judgeReal('write', '/', nowhere)).toBe('ask');
    expect(judgeReal('write', '/a', { ...nowhere, scope: { read: ['/'], write: ['/'] } })).toBe('allow');
  });

  it('may be unrestricted for reading and restricted for writing', () => {
    const policy = { ...nowhere, scope: withUnrestrictedReads(nowhere.scope) };
    expect(judgeReal('read', '/elsewhere/a', policy)).toBe('allow');
    expect(judgeReal('write', '/elsewhere/a', policy)).toBe('ask');
    expect(judgeReal('read', '/elsewhere/.env', policy)).toBe('ask');
  });

  it('consists of real paths', async () => {
    const { root, cwd } = await freshWorkspace();
    expect(await scopeFrom(`${cwd}/up/ws`, ['../extra/', `${cwd}/dir-in`, 'not/yet'], realPath)).toEqual({
      read: [cwd, `${root}/extra`, `${cwd}/src/deep`, `${cwd}/not/yet`],
      write: [cwd, `${root}/extra`, `${cwd}/src/deep`, `${cwd}/not/yet`],
    });
    await expect(scopeFrom(cwd, ['loop'], realPath)).rejects.toMatchObject({ code: 'bad-request' });
  });
});

describe('rules', () => {
  it('are evaluated in order', () => {
    const rules = [
      { path: 'secret/public/**', action: 'auto' },
      { path: 'secret/**', action: 'deny' },
    ] as const;
    expect(judgeReal('read', '/project/secret/public/a', { ...nowhere, rules })).toBe('allow');
    expect(judgeReal('read', '/project/secret/a', { ...nowhere, rules })).toBe('deny');
    expect(judgeReal('read', '/project/secret/public/a', { ...nowhere, rules: rules.toReversed() })).toBe(
      'deny',
    );
  });

  it('allow by exact spelling inside the scope, and deny by any spelling anywhere', () => {
    const auto = { ...nowhere, rules: [{ path: '.env', action: 'auto' }] } as const;
    expect(judgeReal('read', '/project/.env', auto)).toBe('allow');
    expect(judgeReal('read', '/project/.ENV', auto)).toBe('ask');
    expect(judgeReal('read', '/elsewhere/.env', auto)).toBe('ask');
    expect(
      judgeReal('read', '/elsewhere/.env', { ...auto, rules: [{ path: '/elsewhere/*', action: 'auto' }] }),
    ).toBe('allow');
    expect(judgeReal('read', '/elsewhere/A', { ...auto, rules: [{ path: 'a', action: 'deny' }] })).toBe(
      'deny',
    );
  });

  it('cannot enable writes in read-only mode', () => {
    const rules = [{ action: 'auto' }, { path: '/project/**', action: 'auto' }] as const;
    expect(judgeReal('write', '/project/a', { ...nowhere, mode: 'read-only', rules })).toBe('deny');
  });

  it('with a command and a path apply to the files of that command', async () => {
    const workspace = await freshWorkspace();
    const rules = [{ command: 'cat', path: 'ROOT/canary/*', action: 'auto' }] as const;
    const decide = async (command: string) =>
      (await judgeAttempt({ tool: 'bash', command }, { ...usual, rules }, workspace)).decision;
    expect(await decide('cat ../canary/secret.txt')).toBe('allow');
    expect(await decide('head ../canary/secret.txt')).toBe('ask');
    expect(await decide('cat ../ws-other/file.txt')).toBe('ask');
  });
});
