import type { AuditLog } from '../../audit/index.ts';
import { type Log, withoutUndefined } from '../../base/index.ts';
import { Host } from '../../pod/index.ts';
import { agentsFrom } from '../../setup/index.ts';
import type { Setup } from '../setup.ts';
import { refuseRevoked } from '../tasks/refuse-revoked.ts';
import type { DaemonOptions } from './options.ts';

export interface HostParts {
  readonly options: DaemonOptions;
  readonly setup: Setup;
  readonly log: Log;
  readonly audit: AuditLog;
  /** Files of the tasks agents, which no agent may change. */
  readonly ownFiles: () => readonly string[];
}

/** Opens the host of a daemon's pods. `failures` counts the logs that could not be written. */
export async function openHost({
  options: { env, dataPaths, version, sandbox = false, offline = false },
  setup,
  log,
  audit,
  ownFiles,
}: HostParts): Promise<{ readonly host: Host; readonly failures: () => number }> {
  const { hibernateAfterMs, durability, limits, approvals } = setup.config.daemon;
  let failures = 0;
  const host = await Host.open({
    directory: dataPaths.dataDirectory,
    // Tools and MCP servers are loaded with the first agent, not with the daemon.
    agents: agentsFrom({
      sandbox,
      offline,
      env,
      dataPaths,
      version,
      get config() {
        return setup.config;
      },
      get models() {
        return setup.models;
      },
      ownFiles,
      audit: audit.record,
      onExtensionError: (pod, path, event, error) =>
        log.warn('an extension failed', { pod, path, event, error }),
      onTitleFailure: (pod, error) => log.warn('no title was written', { pod, error }),
      onServerChange: (pod, { name, state, error }) => log.info('MCP server', { pod, name, state, error }),
    }),
    defaultBackend: () => (offline ? undefined : setup.config.backend),
    limits,
    approvals,
    audit: audit.record,
    refuseStart: refuseRevoked(dataPaths),
    ...withoutUndefined({ hibernateAfterMs, durability }),
    onFailure: (error, pod) => {
      failures += 1;
      log.error(error.message, { code: error.code, pod });
    },
  });
  return { host, failures: () => failures };
}
