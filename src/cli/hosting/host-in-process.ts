import type { Audit } from '../../audit/index.ts';
import { PolypodError } from '../../base/index.ts';
import { loadSetup, openAudit, refuseRevoked, type Setup } from '../../daemon/index.ts';
import {
  agentsFrom,
  DEFAULT_CONFIG,
  makeDataDirectory,
  type DataPaths,
  readConfig,
} from '../../setup/index.ts';
import type { AgentsOptions } from '../../setup/index.ts';
import type { Host } from '../../pod/index.ts';
import type { CommandContext } from '../command.ts';
import { version } from '../version.ts';

export interface InProcessOptions
  extends Pick<
    AgentsOptions,
    'allowPaths' | 'sandbox' | 'mcpServers' | 'onServerChange' | 'extensions' | 'onExtensionError'
  > {
  readonly dataPaths: DataPaths;
  /** The default model. */
  readonly model?: string | undefined;
  /** Use only the simulated model, and no configured accounts. */
  readonly offline?: boolean;
  /** Store nothing. */
  readonly isEphemeral?: boolean;
}

/** Pods in this process, with their configuration. */
export interface InProcess {
  readonly host: Host;
  readonly setup: Setup;
  readonly warnings: readonly string[];
  /** Undefined if nothing is stored. */
  readonly audit: Audit | undefined;
  readonly close: () => Promise<void>;
}

/** Hosts pods in this process, on the same files as a daemon. */
export async function openHostInProcess(
  options: InProcessOptions,
  { env }: CommandContext,
): Promise<InProcess> {
  const { dataPaths, model, offline = false, isEphemeral = false, ...agentOptions } = options;
  const { setup, warnings } = await loadSetup({
    env,
    dataPaths,
    offline,
    reference: model,
    ...(offline && { read: withoutAccounts }),
  });
  const [{ Host }, { memoryFiles }] = await Promise.all([
    import('../../pod/index.ts'),
    import('../../store/index.ts'),
  ]);
  if (!isEphemeral) await makeDataDirectory(dataPaths);
  const { durability, approvals } = setup.config.daemon;
  const audit = isEphemeral ? undefined : await openAudit(dataPaths, setup.config.daemon.audit);
  const host = await Host.open({
    directory: dataPaths.dataDirectory,
    ...(audit && { audit: audit.record }),
    refuseStart: refuseRevoked(dataPaths),
    agents: agentsFrom({
      env,
      dataPaths,
      get config() {
        return setup.config;
      },
      get models() {
        return setup.models;
      },
      version: version(),
      audit: audit?.record,
      offline,
      ...agentOptions,
    }),
    defaultBackend: () => (offline ? undefined : setup.config.backend),
    approvals,
    ...(isEphemeral
      ? { files: memoryFiles(), durability: 'none' }
      : durability === undefined
        ? {}
        : { durability }),
  });
  const close = async (): Promise<void> => {
    await host.shutdown();
    await audit?.close();
    await setup.close();
  };
  return { host, setup, warnings, audit: audit?.record, close };
}

/** A host for changes to sessions that need no agent: it reads no configuration and connects no model. */
export async function hostFiles({ dataDirectory }: DataPaths): Promise<Host> {
  const { Host } = await import('../../pod/index.ts');
  const agents = (): never => {
    throw new PolypodError('internal', 'an agent was opened on a host that only changes files');
  };
  return Host.open({ directory: dataDirectory, agents });
}

/** Permissions and MCP servers apply offline as well; keys and models do not. */
async function withoutAccounts(dataPaths: Parameters<typeof readConfig>[0]): ReturnType<typeof readConfig> {
  const { config } = await readConfig(dataPaths);
  const { model: _, ...rest } = config;
  return { config: { ...rest, accounts: DEFAULT_CONFIG.accounts }, warnings: [] };
}
