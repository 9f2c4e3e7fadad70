import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { bash } from '../../src/tools/bash.ts';
import {
  openSandboxes,
  type SandboxOptions,
  type SandboxScope,
  type ToolOutput,
} from '../../src/tools/index.ts';
import { callTool, type ToolFixture, outputText } from './fixture.ts';

export const ENV = { PATH: process.env.PATH ?? '', HOME: homedir() };

export interface Setting extends Partial<SandboxOptions>, Partial<SandboxScope> {
  readonly approved?: boolean;
  readonly cwd?: string;
}

/** Runs a command in a sandbox for the directory of the fixture. */
export async function run(
  fixture: ToolFixture,
  command: string,
  setting: Setting = {},
  signal?: AbortSignal,
): Promise<{ readonly output: ToolOutput; readonly text: string }> {
  const {
    approved = false,
    cwd,
    mode = 'workspace-write',
    writable = [fixture.directory],
    ...options
  } = setting;
  const scope: SandboxScope = { writable, mode };
  const sandboxes = await openSandboxes({ env: ENV, home: homedir(), ...options }, scope);
  const context = { ...fixture.context, env: options.env ?? ENV, sandbox: sandboxes.around(scope), approved };
  const output = await callTool(bash, { command }, { ...context, cwd: cwd ?? fixture.directory }, signal);
  return { output, text: outputText(output) };
}

/** Runs a script outside the sandbox. */
export const sh = (script: string, cwd: string): string =>
  execFileSync('sh', ['-ec', script], { cwd, encoding: 'utf8' });

/** Whether bubblewrap is installed and may create namespaces: some containers do not allow it. */
export const bubblewrapWorks = (() => {
  try {
    sh('bwrap --ro-bind / / --unshare-user --unshare-pid --unshare-net true', '/');
    return true;
  } catch {
    return false;
  }
})();
