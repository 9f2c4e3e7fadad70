import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { safeEnv } from '../../base/index.ts';
import type { Environment } from '../../llm/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';

/** Creates a sandbox around an empty directory and probes it. Returns what protects the host; throws why it does not work. */
export async function checkSandbox(
  env: Environment,
  { home }: Pick<DataPaths, 'home'>,
): Promise<readonly string[]> {
  const { openSandboxes } = await import('../../tools/index.ts');
  const directory = mkdtempSync(join(tmpdir(), 'polypod-sandbox-check-'));
  try {
    const toolEnv = safeEnv(env, { secret: [], pass: [] });
    const scope = { writable: [directory], mode: 'workspace-write' } as const;
    return (await openSandboxes({ env: toolEnv, home }, scope)).features;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
