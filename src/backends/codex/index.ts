/** Codex as a back end, over the protocol of `codex app-server`. */
import type { AgentProgram } from '../agent-program.ts';

export const codex: AgentProgram = {
  name: 'codex',
  title: 'Codex',
  capabilities: {
    steer: true,
    editInput: false,
    denyReason: true,
    resume: true,
    fork: true,
    compact: true,
    model: true,
    images: true,
  },
  command: ['codex'],
  install: 'npm install -g @openai/codex',
  signIn: 'codex login',
  env: ['CODEX_*', 'OPENAI_*', 'AZURE_OPENAI_*'],
  connect: async (options) => (await import('./connection.ts')).connect(options),
  probe: async (options) => (await import('./probe.ts')).probe(options),
  describe: async (options) => (await import('./probe.ts')).describe(options),
};
