import { asPolypodError, isUnusableAccount } from '../../../base/index.ts';
import type { Host, PermissionMode } from '../../../pod/index.ts';
import type { Inventory } from '../../inventory.ts';
import { authRequired, invalidConfiguration } from '../errors.ts';
import type { AcpParts } from '../parts.ts';
import type { AvailableCommand } from '../wire.ts';
import type { AcpLinkHeader } from './link-header.ts';

export interface LinkContext {
  readonly host: Host;
  readonly version: string;
  readonly inventory: Pick<Inventory, 'models' | 'model' | 'promptFiles'>;
  readonly mode: () => PermissionMode;
  readonly reload: () => Promise<void>;
  readonly survivesClient: boolean;
}

/** What a connection is served with. */
export function linkParts(
  { by, setup, terminals = false, backend }: AcpLinkHeader,
  { host, version, inventory, mode, reload, survivesClient }: LinkContext,
): AcpParts {
  return {
    host,
    version,
    by,
    setup,
    terminals,
    settings: backend === undefined ? undefined : { backend },
    models: inventory.models,
    requireModel: async () => {
      const { model, notices } = await inventory.model().catch(refuse);
      // Without an account the simulated model is chosen with a notice; --offline chooses it without one.
      if (`${model.provider}/${model.id}` === SIMULATED && notices.length > 0) throw authRequired(NO_ACCOUNT);
    },
    reload: () => reload().catch(refuse),
    mode,
    commands: async (cwd) => [
      COMPACT,
      ...(await inventory.promptFiles(cwd).list()).map(({ name, description }) => ({ name, description })),
    ],
    expand: (cwd, text) => inventory.promptFiles(cwd).expand(text),
    survivesClient,
  };
}

function refuse(thrown: unknown): never {
  const { message } = asPolypodError(thrown);
  throw isUnusableAccount(thrown) ? authRequired(message) : invalidConfiguration(message);
}

const SIMULATED = 'sim/offline';

const NO_ACCOUNT =
  'no provider account: run "polypod accounts add" in a terminal, or start the agent with --offline for the simulated model';

const COMPACT: AvailableCommand = {
  name: 'compact',
  description: 'Replace the conversation so far with a summary.',
  input: { hint: 'instructions for the summary' },
};
