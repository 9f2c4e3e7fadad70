import type { Environment } from '../../llm/index.ts';
import type { Config } from '../../setup/config/index.ts';
import { loadBackends } from '../../setup/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import type { Finding } from './finding.ts';

/** Checks the configured back ends. Starts them only to ask for their version. */
export async function checkBackends(
  env: Environment,
  config: Config,
  dataPaths: DataPaths,
): Promise<readonly Finding[]> {
  const names = new Set([
    ...config.backends.keys(),
    ...(config.backend === undefined ? [] : [config.backend]),
  ]);
  names.delete('polypod');
  if (names.size === 0) return [];
  const { backendNames, inspectBackends } = await loadBackends();
  const known = backendNames(config);
  const findings: Finding[] = [...names]
    .filter((name) => !known.includes(name))
    .map((name) => ({
      check: 'back end',
      state: 'bad',
      text: `config.yaml names ${name}, which is not known`,
      next: 'choose one that polypod backends lists, or describe it under backends',
    }));
  const signal = AbortSignal.timeout(INSPECT_MS);
  const options = { env, config, dataPaths, probes: false, signal };
  for await (const found of inspectBackends({
    ...options,
    names: [...names].filter((name) => known.includes(name)),
  }))
    findings.push({
      check: 'back end',
      state: found.problem === undefined ? 'ok' : 'warning',
      text: `${found.title} ${found.version ?? 'is not installed'}`,
      ...(found.problem !== undefined && { next: found.problem }),
    });
  return findings;
}

const INSPECT_MS = 30_000;
