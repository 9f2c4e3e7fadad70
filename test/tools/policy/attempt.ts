import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Access, prepareReadOnlyRun } from '../../../src/tools/index.ts';
import {
  examine,
  fileFacts,
  guardFor,
  judge,
  type PermissionMode,
  type Policy,
  realPath,
  type Rule,
  scopeFrom,
  type Verdict,
} from '../../../src/tools/policy/index.ts';
import { environmentOf, runAllowed, type Workspace } from './workspace.ts';

/** An action that a model may try. Paths are relative to the workspace; ROOT is the directory above it. */
export type Attempt =
  | { readonly tool: 'bash'; readonly command: string; readonly cwd?: string }
  | { readonly tool: 'read' | 'write'; readonly path: string };

export interface Circumstances {
  readonly mode: PermissionMode;
  readonly rules: readonly Rule[];
  readonly allowPaths: readonly string[];
  readonly sandboxed: boolean;
}

export const usual: Circumstances = {
  mode: 'workspace-write',
  rules: [],
  allowPaths: [],
  sandboxed: false,
};

export async function policyFor(circumstances: Circumstances, { root, cwd }: Workspace): Promise<Policy> {
  const location = (text: string) => text.replaceAll('ROOT', root);
  const rules = circumstances.rules.map((rule) =>
    rule.path === undefined ? rule : { ...rule, path: location(rule.path) },
  );
  const scope = await scopeFrom(cwd, circumstances.allowPaths.map(location), realPath);
  return { mode: circumstances.mode, rules, scope, sandboxed: circumstances.sandboxed };
}

export function accessOf(attempt: Attempt, { root, cwd }: Workspace): Access {
  const location = (text: string) => text.replaceAll('ROOT', root);
  if (attempt.tool !== 'bash') return { type: attempt.tool, path: resolve(cwd, location(attempt.path)) };
  return {
    type: 'command',
    command: location(attempt.command),
    cwd: resolve(cwd, location(attempt.cwd ?? '')),
  };
}

export async function judgeAttempt(
  attempt: Attempt,
  circumstances: Circumstances,
  workspace: Workspace,
): Promise<Verdict> {
  const access = await examine([accessOf(attempt, workspace)], fileFacts);
  return judge({ tool: attempt.tool, access }, await policyFor(circumstances, workspace));
}

/** Performs an allowed action like the tools do, and returns the result. */
export async function perform(
  attempt: Attempt,
  circumstances: Circumstances,
  workspace: Workspace,
): Promise<string> {
  const access = accessOf(attempt, workspace);
  if (access.type === 'foreign' || access.type === 'web') return '';
  const call = { tool: attempt.tool, access: await examine([access], fileFacts) };
  const policy = await policyFor(circumstances, workspace);
  if (access.type === 'command') {
    const own = { env: environmentOf(workspace), scratch: join(workspace.root, 'scratch') };
    const onlyReads = judge(call, policy).onlyReads === true;
    const readOnlyRun = onlyReads ? await prepareReadOnlyRun(call, () => policy, fileFacts)(own) : undefined;
    const output = await runAllowed(access.command, { ...workspace, cwd: access.cwd }, readOnlyRun);
    await readOnlyRun?.close();
    return output;
  }
  const guard = guardFor(call, policy, realPath);
  const real = await guard(access.path, access.type);
  if (access.type === 'read') return await readFile(real, 'utf8').catch(String);
  await writeFile(real, 'written').catch(String);
  return '';
}
