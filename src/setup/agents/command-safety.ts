import { safeEnv } from '../../base/index.ts';
import type { Environment } from '../../llm/index.ts';
import { type IsolationState, type LimitState, pidNamespace } from '../../tools/index.ts';
import type { Config } from '../config/config.ts';
import { createCommandLimiter } from './command-limits.ts';

/** How agents' commands are isolated and limited on this machine. */
export interface CommandSafety {
  readonly isolation: IsolationState;
  readonly limits: LimitState;
}

/** Detects what works on this machine; the first call takes tens of milliseconds. */
export async function commandSafety(env: Environment, config: Config): Promise<CommandSafety> {
  const toolEnv = safeEnv(env, { secret: [], pass: [] });
  const isolation: IsolationState =
    config.permissions.isolateCommands === false
      ? { state: 'off', why: 'permissions.isolate_commands is off' }
      : await pidNamespace({ env: toolEnv, hidden: () => [] }).state();
  return { isolation, limits: await createCommandLimiter(config, toolEnv).state(isolation.state === 'on') };
}

/** Describes isolation and limits in one line each. */
export function describeCommandSafety({ isolation, limits }: CommandSafety): {
  readonly isolation: string;
  readonly limits: string;
} {
  const together =
    limits.group === 'none' ? 'nothing for a command as a whole' : `a ${limits.group} per command`;
  const lacking = limits.unenforced.length === 0 ? '' : `; not limited here: ${limits.unenforced.join(', ')}`;
  return {
    isolation:
      isolation.state === 'on'
        ? 'commands outside of the sandbox run in a process namespace of their own'
        : `commands outside of the sandbox see all processes of the user: ${isolation.why}`,
    limits: `${together}, ${limits.each} per process${lacking}`,
  };
}
