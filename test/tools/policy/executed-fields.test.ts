import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { builtinTools } from '../../../src/tools/index.ts';
import {
  examine,
  fileFacts,
  guardFor,
  judge,
  type Policy,
  realPath,
} from '../../../src/tools/policy/index.ts';
import { policyFor, usual } from './attempt.ts';
import { plainWorkspace, type Workspace } from './workspace.ts';

const MANIFEST = '{\n  "name": "a",\n  "version": "1.0.0",\n  "scripts": { "test": "true" }\n}\n';

/** What is decided about a call of a built-in tool. */
async function decide(
  tool: string,
  input: Readonly<Record<string, unknown>>,
  workspace: Workspace,
  change: Partial<Policy> = {},
): Promise<string> {
  const prepared = builtinTools.find(({ name }) => name === tool)?.prepare(input, workspace.cwd);
  if (prepared === undefined || 'invalid' in prepared) throw new Error('not a call');
  const policy = { ...(await policyFor(usual, workspace)), ...change };
  return judge({ tool, access: await examine(prepared.access, fileFacts) }, policy).decision;
}

function workspaceWithManifest(): Workspace {
  const workspace = plainWorkspace();
  writeFileSync(join(workspace.cwd, 'package.json'), MANIFEST);
  return workspace;
}

describe('a package.json', () => {
  it('is edited without approval if the executed parts do not change', async () => {
    const workspace = workspaceWithManifest();
    const path = 'package.json';
    expect(await decide('edit', { path, old: '1.0.0', new: '1.0.1' }, workspace)).toBe('allow');
    expect(await decide('write', { path, content: MANIFEST.replace('"a"', '"b"') }, workspace)).toBe('allow');
    expect(await decide('write', { path: 'new/package.json', content: '{"name":"b"}' }, workspace)).toBe(
      'allow',
    );
  });

  it.each([
    ['edit', { path: 'package.json', old: '"true"', new: '"touch x"' }],
    ['edit', { path: 'package.json', old: 'not there', new: 'x' }],
    ['edit', { path: 'package.json', old: '"version"', new: '"packageManager": "npm@https://x", "version"' }],
    ['write', { path: 'package.json', content: '{"scripts":{"test":"touch x"}}' }],
    [
      'write',
      { path: 'package.json', content: '{"scripts":{"test":"true"},"s\\u0063ripts":{"test":"touch x"}}' },
    ],
    ['write', { path: 'package.json', content: '{"scripts":{"test":"true"}} // x' }],
    ['write', { path: 'PACKAGE.JSON', content: '{"scripts":{"postinstall":"touch x"}}' }],
    ['write', { path: 'new/package.json', content: '{"scripts":{"postinstall":"touch x"}}' }],
    ['write', { path: 'p.json', content: '{"scripts":{"test":"touch x"}}' }],
    ['write', { path: 'new/HEAD', content: 'ref: refs/heads/main\n' }],
    ['write', { path: 'new/commondir', content: 'x\n' }],
  ])('asks before %s %j', async (tool, input) => {
    const workspace = workspaceWithManifest();
    symlinkSync('package.json', join(workspace.cwd, 'p.json'));
    expect(await decide(tool, input, workspace)).toBe('ask');
    expect(await decide(tool, input, workspace, { mode: 'read-only' })).toBe('deny');
    expect(await decide(tool, input, workspace, { mode: 'full-access' })).toBe('allow');
    const rules = [{ tool, action: 'auto' }] as const;
    expect(await decide(tool, input, workspace, { rules })).toBe('ask');
    expect(await decide(tool, input, workspace, { sandboxed: true })).toBe('ask');
  });

  it('is judged again when it is written: an earlier call may have changed it', async () => {
    const workspace = workspaceWithManifest();
    const file = join(workspace.cwd, 'package.json');
    const after = (before: string | undefined) => before?.replaceAll('dummy', 'scripts');
    // Nothing to replace yet, so the call is harmless.
    writeFileSync(file, '{ "name": "dummy" }\n');
    const access = await examine(
      [{ type: 'write', path: file, after: () => '{ "name": "scripts" }' }],
      fileFacts,
    );
    const guard = guardFor({ tool: 'edit', access }, await policyFor(usual, workspace), realPath);
    expect(await guard(file, 'write', '{ "name": "scripts" }')).toBe(file);
    writeFileSync(file, '{ "dummy": { "postinstall": "touch x" } }\n');
    await expect(guard(file, 'write', after('{ "dummy": { "postinstall": "touch x" } }'))).rejects.toThrow(
      'run later',
    );
  });

  it('does not apply to other files named head', async () => {
    const workspace = workspaceWithManifest();
    expect(await decide('write', { path: 'head', content: 'any text\n' }, workspace)).toBe('allow');
  });
});

describe("Polypod's own files", () => {
  it.each([
    ['write', { path: 'own/rules.json', content: '' }],
    ['edit', { path: 'own/rules.json', old: 'a', new: 'b' }],
    ['write', { path: 'link/new/file', content: '' }],
    ['bash', { command: 'echo x > own/rules.json' }],
    ['bash', { command: 'cp notes.txt own/rules.json' }],
    ['bash', { command: 'cd own && tee rules.json < ../notes.txt' }],
  ])('are not written by %s %j, whatever the rules', async (tool, input) => {
    const workspace = plainWorkspace();
    mkdirSync(join(workspace.cwd, 'own'));
    writeFileSync(join(workspace.cwd, 'own/rules.json'), 'a');
    symlinkSync('own', join(workspace.cwd, 'link'));
    const protectedPaths = [join(workspace.cwd, 'own')];
    const rules = [
      { path: '**', action: 'auto' },
      { tool: 'bash', action: 'auto' },
    ] as const;
    for (const change of [{}, { rules }, { sandboxed: true }, { mode: 'read-only' }] as const)
      expect(await decide(tool, input, workspace, { protectedPaths, ...change })).toBe('deny');
    expect(await decide(tool, input, workspace, { protectedPaths, mode: 'full-access' })).toBe('allow');
  });

  it('are readable only with approval', async () => {
    const workspace = plainWorkspace();
    const protectedPaths = [join(workspace.cwd, 'docs')];
    expect(await decide('read', { path: 'docs/guide.md' }, workspace, { protectedPaths })).toBe('ask');
    expect(await decide('bash', { command: 'cat docs/guide.md' }, workspace, { protectedPaths })).toBe('ask');
    expect(await decide('read', { path: 'README.md' }, workspace, { protectedPaths })).toBe('allow');
  });
});
