import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the agents for the tests are installed. */
export const agentsDirectory =
  process.env.POLYPOD_TEST_AGENTS ?? fileURLToPath(new URL('../../.agents', import.meta.url));

/** The agents for the tests, with the versions that are tested. `bin` is the program; `node` a Node.js that it needs. */
export const AGENTS = {
  claude: { packages: ['@anthropic-ai/claude-code@2.1.327'], bin: 'claude' },
  codex: { packages: ['@openai/codex@0.169.0'], bin: 'codex' },
  gemini: { packages: ['@google/gemini-cli@0.61.0', 'node@22.23.3'], bin: 'gemini', node: true },
  opencode: { packages: ['opencode-ai@1.18.33'], bin: 'opencode' },
  pi: { packages: ['@earendil-works/pi-coding-agent@0.87.1', 'node@22.23.3'], bin: 'pi', node: true },
};

/** The command that starts an installed agent. */
export function agentCommand(name) {
  const { bin, node = false } = AGENTS[name];
  const bins = join(agentsDirectory, name, 'node_modules/.bin');
  return node ? [join(bins, 'node'), join(bins, bin)] : [join(bins, bin)];
}
