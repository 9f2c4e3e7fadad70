import { PolypodError } from '../../../base/index.ts';
import type { Host, PermissionMode } from '../../../pod/index.ts';
import type { Inventory } from '../../inventory.ts';
import type { AcpParts } from '../parts.ts';
import type { AvailableCommand } from '../wire.ts';
import type { AcpLinkHeader } from './link-header.ts';

export interface LinkContext {
  readonly host: Host;
  readonly version: string;
  readonly inventory: Pick<Inventory, 'models' | 'model' | 'promptFiles'>;
  readonly mode: PermissionMode;
  readonly survivesClient: boolean;
}

/** What a connection is served with. */
export function linkParts(
  { by, setup, terminals = false }: AcpLinkHeader,
  { host, version, inventory, mode, survivesClient }: LinkContext,
): AcpParts {
  return {
    host,
    version,
    by,
    setup,
    terminals,
    models: inventory.models,
    defaultModel: async () => {
      const { model, notices } = await inventory.model();
      // Without an account the simulated model is chosen with a notice; --offline chooses it without one.
      if (`${model.provider}/${model.id}` === SIMULATED && notices.length > 0) throw noAccount();
      return model;
    },
    mode,
    commands: async (cwd) => [
      COMPACT,
      ...(await inventory.promptFiles(cwd).list()).map(({ name, description }) => ({ name, description })),
    ],
    expand: (cwd, text) => inventory.promptFiles(cwd).expand(text),
    survivesClient,
  };
}

const SIMULATED = 'sim/offline';

function noAccount(): PolypodError {
  return new PolypodError(
    'denied',
    'no provider account: run "polypod accounts add" in a terminal, or start the agent with --offline for the simulated model',
  );
}

const COMPACT: AvailableCommand = {
  name: 'compact',
  description: 'Replace the conversation so far with a summary.',
  input: { hint: 'instructions for the summary' },
};
