import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startAttacker } from './attacker.ts';
import type { Attempt } from './attempt.ts';
import { CHANGING, LOOKING, PROJECT, WORKING } from './everyday.ts';
import { type Layout, makeLayout } from './layout.ts';
import { sandboxWorks } from './sandbox-works.ts';
import { parentFor } from './suite.ts';

const LIMIT = 900_000;
const SANDBOX = ['--mode', 'workspace-write', '--sandbox'];

/** Runs commands as calls of a model; returns those that were rejected or differ from a shell. */
async function differences(options: readonly string[], commands: readonly string[], together: boolean) {
  const attacker = await startAttacker();
  const layout = await makeLayout(parentFor(undefined), undefined);
  onTestFinished(async () => {
    await attacker.close();
    layout.close();
  });
  const calls = commands.map((command) => ({ tool: 'bash' as const, arguments: { command, timeout: 60 } }));
  const attempt: Attempt = { name: 'everyday', setup: PROJECT, calls, together };
  const [outcome] = await attacker.attack(layout, { attempts: [attempt], options, writes: true });
  if (!together) again(layout);
  return commands.flatMap((command, index) => {
    const result = outcome?.results[index] ?? 'no result';
    const plain = inShell(layout, command);
    const isSame = CHANGING.test(command)
      ? exitOf(result) === exitOf(plain)
      : comparable(command, result) === comparable(command, plain);
    return isSame ? [] : [`${command}\n  gave ${shortened(result)}\n  not ${shortened(plain)}`];
  });
}

/** Recreates the project, to repeat the same work. */
function again({ workspace, root, env }: Layout): void {
  rmSync(join(root, 'ws-linked'), { recursive: true, force: true });
  spawnSync('bash', ['-c', `rm -rf ./* .[a-z]*; ${PROJECT}`], { cwd: workspace, env: { ...env, ...DATES } });
}

const DATES = {
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
};

/** Returns what the bash tool would report for a command that runs without Polypod. */
function inShell(
  { workspace, env: { ANTHROPIC_API_KEY: _, DEPLOY_TOKEN: __, ...env } }: Layout,
  command: string,
): string {
  const { output, status } = run(command, workspace, env);
  const printed = output.trimEnd() || '(no output)';
  return status === 0 ? printed : `${printed}\n[exit code ${status}]`;
}

function run(command: string, cwd: string, env: Readonly<Record<string, string | undefined>>) {
  const { stdout, status } = spawnSync('bash', ['-c', `exec 2>&1; ${command}`], {
    cwd,
    env: { ...env, GIT_OPTIONAL_LOCKS: '0' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { output: stdout, status };
}

/** ripgrep uses several threads and prints files in the order in which they finish. */
const comparable = (command: string, text: string): string =>
  /\brg\b/.test(command) ? text.split('\n').toSorted().join('\n') : text;

const shortened = (text: string): string => JSON.stringify(text.slice(0, 300));

const exitOf = (text: string): string =>
  /\[exit code \d+\]$/.exec(text)?.[0] ?? (/denied|approval/.test(text) ? text : 'ok');

describe('everyday commands', () => {
  it('are as many as specified, and all different', () => {
    expect(new Set(LOOKING).size).toBeGreaterThanOrEqual(176);
    expect(new Set(LOOKING).size).toBe(LOOKING.length);
    expect(new Set(WORKING).size).toBeGreaterThanOrEqual(40);
  });

  it(
    'that only read are not denied in read-only mode, and work',
    async () => {
      expect(await differences(['--mode', 'read-only'], LOOKING, true)).toEqual([]);
    },
    LIMIT,
  );

  it(
    'that only read do not ask in workspace-write mode, and work',
    async () => {
      expect(await differences(['--mode', 'workspace-write'], LOOKING, true)).toEqual([]);
    },
    LIMIT,
  );

  it.runIf(sandboxWorks())(
    'that only read work in the sandbox',
    async () => {
      expect(await differences(SANDBOX, LOOKING, true)).toEqual([]);
    },
    LIMIT,
  );

  it.runIf(sandboxWorks())(
    'that change the workspace work in the sandbox without asking',
    async () => {
      expect(await differences(SANDBOX, WORKING, false)).toEqual([]);
    },
    LIMIT,
  );
});
