import { ACP_PROGRAMS, acpProgram } from '../backends/acp/index.ts';
import { claude } from '../backends/claude/index.ts';
import { codex } from '../backends/codex/index.ts';
import type { AgentProgram } from '../backends/index.ts';
import { pi } from '../backends/pi/index.ts';

/** Other agents that can do the work of a session. Their code is loaded with the first session. */
export const backends: readonly AgentProgram[] = [claude, codex, ...ACP_PROGRAMS, pi];

/** A known back end, or any program that speaks ACP; undefined if the name is unknown and no command is given. */
export function backendProgram(
  name: string,
  command: readonly [string, ...string[]] | undefined,
): AgentProgram | undefined {
  const known = backends.find((candidate) => candidate.name === name);
  if (known !== undefined || command === undefined) return known;
  const install = `correct its command in config.yaml (backends.${name}.command)`;
  const signIn = 'sign in with the program itself, or pass its key with pass_env';
  return acpProgram({
    name,
    title: name,
    command,
    install,
    signIn,
    env: [],
    // Tried, because only its answer to `initialize` says what it can do.
    capabilities: { resume: true, fork: true },
    clientAccess: true,
  });
}
