import { existsSync } from 'node:fs';
import { agentCommand, AGENTS as PROGRAMS, type TestAgent } from '../../../scripts/agents/agents.mjs';

/** What passes the contract: our own worker, or an installed agent. */
export interface TestedAgent extends Pick<TestAgent, 'bash' | 'prepare' | 'sendsReasons' | 'marksFailures'> {
  /** The name of the back end. */
  readonly name: string;
  /** Undefined for our own worker. */
  readonly command: readonly string[] | undefined;
}

const OWN_WORKER: TestedAgent = {
  name: 'polypod',
  command: undefined,
  bash: (command) => ({ name: 'bash', arguments: { command } }),
  prepare: () => ({}),
  sendsReasons: true,
  marksFailures: true,
};

export const AGENTS: readonly TestedAgent[] = [
  OWN_WORKER,
  ...Object.entries(PROGRAMS).map(([name, agent]) => ({ ...agent, name, command: agentCommand(name) })),
];

export function isInstalled({ command = [] }: TestedAgent): boolean {
  return command.every((part) => existsSync(part));
}
