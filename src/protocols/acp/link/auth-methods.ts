import type { AcpParts } from '../parts.ts';
import type { ClientCapabilities } from '../wire.ts';

/** The id of the only method. */
export const SETUP_METHOD = 'setup';

const NAME = 'Set up an account';
const DESCRIPTION = 'Choose a provider and enter its key, in a terminal.';

/**
 * How a person gets an account that works. Editors that can open a terminal run the set-up in it; others get the command to run.
 * The list is never empty, because the registry of agents requires a method.
 */
export function authMethods(
  { terminalAuth, legacyTerminalAuth }: ClientCapabilities,
  { command, args }: AcpParts['setup'],
): readonly object[] {
  const legacy = legacyTerminalAuth && {
    _meta: { 'terminal-auth': { command, args: [...args], label: NAME } },
  };
  const method = { id: SETUP_METHOD, name: NAME };
  return terminalAuth
    ? [{ type: 'terminal', ...method, description: DESCRIPTION, args: ['--setup'], ...legacy }]
    : [{ ...method, description: 'Run "polypod accounts add" in a terminal, then try again.', ...legacy }];
}
