import { describe, expect, it } from 'vitest';
import { examine, fileFacts, judge, ruleFor } from '../../../src/tools/policy/index.ts';
import { type Attempt, accessOf, policyFor, usual } from './attempt.ts';
import { freshWorkspace } from './workspace.ts';

async function remembered(attempt: Attempt, circumstances = usual) {
  const workspace = await freshWorkspace();
  const policy = await policyFor(circumstances, workspace);
  const call = { tool: attempt.tool, access: await examine([accessOf(attempt, workspace)], fileFacts) };
  const rule = ruleFor(call, policy);
  const location = (text: string) => text.replaceAll(workspace.root, 'ROOT');
  const shown = rule?.path === undefined ? rule : { ...rule, path: location(rule.path) };
  if (rule !== undefined) expect(judge(call, { ...policy, rules: [rule] }).decision).toBe('allow');
  return shown;
}

const sh = (command: string): Attempt => ({ tool: 'bash', command });

describe('an "always" answer', () => {
  it.each([
    ['npm test -- -x', { command: 'npm test' }],
    ['npm run build --verbose', { command: 'npm run build' }],
    ['npm test 2>&1 | tail -5', { command: 'npm test' }],
    ['cd src && npm test', { command: 'npm test' }],
    ['timeout 60 cargo test', { command: 'cargo test' }],
    ['rm -rf build', { command: 'rm -rf build', exact: true }],
    ['git commit -m "it\'s; done *"', { command: "git commit -m 'it'\\''s; done *'", exact: true }],
    ['npm install', { command: 'npm install', exact: true }],
    ['bash -c ls', { command: 'bash -c ls', exact: true }],
  ])('to %j covers exactly that', async (command, rule) => {
    expect(await remembered(sh(command))).toEqual({ tool: 'bash', ...rule, action: 'auto' });
  });

  it.each([
    'echo $(npm test)',
    'npm test $X',
    'rm *.log',
    'PATH=. npm test',
    'npm test && rm x',
    'npm test > ../canary/x',
    'docker run --env-file=.env x',
    'ls',
    'for f in a; do rm $f; done',
  ])('to %j is not possible', async (command) => {
    expect(await remembered(sh(command))).toBeUndefined();
  });

  it('to a file covers that file and tool', async () => {
    expect(await remembered({ tool: 'read', path: 'link-out.txt' })).toEqual({
      tool: 'read',
      path: 'ROOT/canary/secret.txt',
      action: 'auto',
    });
    expect(await remembered({ tool: 'write', path: '../w*ld?' })).toMatchObject({ path: 'ROOT/w\\*ld\\?' });
    expect(await remembered({ tool: 'write', path: '../[id]{a}' })).toMatchObject({
      path: 'ROOT/\\[id\\]\\{a\\}',
    });
    expect(await remembered(sh('cat ../canary/secret.txt'))).toEqual({
      tool: 'bash',
      path: 'ROOT/canary/secret.txt',
      action: 'auto',
    });
  });

  it('does not override a rule that asks', async () => {
    const context = { ...usual, rules: [{ command: 'npm test', action: 'ask' }] } as const;
    expect(await remembered(sh('npm test'), context)).toBeUndefined();
  });

  it('to a foreign tool covers its name', async () => {
    const policy = await policyFor(usual, await freshWorkspace());
    const call = { tool: 'mcp__a__b', access: [{ type: 'foreign', readOnly: false }] } as const;
    expect(ruleFor(call, policy)).toEqual({ tool: 'mcp__a__b', action: 'auto' });
  });
});
