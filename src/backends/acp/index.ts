/** Agents that speak the Agent Client Protocol, and a function that makes one from a description. */
import type { AgentCapabilities, AgentProgram } from '../agent-program.ts';
import type { AcpDescription } from './program.ts';

export type { AcpDescription } from './program.ts';

/** What every agent of this protocol can do. */
const MINIMUM: AgentCapabilities = {
  steer: false,
  editInput: false,
  denyReason: false,
  resume: false,
  fork: false,
  compact: false,
  model: false,
  images: false,
};

/** Makes an agent from its description. */
export function acpProgram(description: AcpDescription): AgentProgram {
  const { name, title, command, install, signIn, env } = description;
  return {
    name,
    title,
    command,
    install,
    signIn,
    env,
    capabilities: { ...MINIMUM, ...description.capabilities },
    connect: async (options) => (await import('./connection.ts')).connectAcp(description, options),
    describe: async (options) => (await import('./probe.ts')).describeAcp(description, options),
    ...(description.probeModel !== undefined && {
      probe: async (options) => (await import('./probe.ts')).probeAcp(description, options),
    }),
  };
}

/** The agents that need no description in the configuration. */
export const ACP_PROGRAMS: readonly AgentProgram[] = (
  [
    {
      name: 'gemini',
      title: 'Gemini CLI',
      command: ['gemini'],
      args: ['--acp'],
      install: 'npm install -g @google/gemini-cli',
      signIn: 'set GEMINI_API_KEY, or start "gemini" in a terminal and sign in',
      env: ['GEMINI_API_KEY', 'GEMINI_MODEL', 'GOOGLE_*', 'GEMINI_CLI_HOME', 'GEMINI_DEFAULT_AUTH_TYPE'],
      capabilities: { images: true, model: true },
      // `session/load` answers with an error, and damages the stored session.
      without: ['resume', 'fork'],
      commandInTitle: true,
      reportsSignIn: true,
      prepare: async (launch) => (await import('./settings.ts')).prepareGemini(launch),
      probeModel: async (url, launch) => (await import('./settings.ts')).probeGemini(url, launch),
    },
    {
      name: 'opencode',
      title: 'opencode',
      command: ['opencode'],
      args: ['acp'],
      install: 'npm install -g opencode-ai',
      signIn: 'run "opencode auth login"',
      env: [
        'OPENCODE_API_KEY',
        'OPENCODE_CONFIG',
        'OPENCODE_CONFIG_DIR',
        'OPENCODE_CONFIG_CONTENT',
        'OPENCODE_DISABLE_*',
        'OPENCODE_MODELS_*',
      ],
      capabilities: { images: true, model: true, resume: true, fork: true },
      prepare: async (launch) => (await import('./settings.ts')).prepareOpencode(launch),
      probeModel: async (url, launch) => (await import('./settings.ts')).probeOpencode(url, launch),
    },
    {
      name: 'goose',
      title: 'goose',
      command: ['goose'],
      args: ['acp'],
      install: 'see https://github.com/block/goose',
      signIn: 'run "goose configure"',
      env: ['GOOSE_*'],
      // Everything asks; the default decides by itself.
      prepare: () => Promise.resolve({ args: [], env: { GOOSE_MODE: 'approve' }, instructions: '' }),
    },
    {
      name: 'claude-acp',
      title: 'Claude Code over ACP',
      command: ['claude-agent-acp'],
      install: 'npm install -g @agentclientprotocol/claude-agent-acp',
      signIn: 'set ANTHROPIC_API_KEY, or run "claude" and sign in',
      env: ['ANTHROPIC_*', 'CLAUDE_*'],
      askMode: 'default',
      sessionMeta: ({ trustProject }) => ({
        claudeCode: {
          options: {
            settingSources: trustProject ? ['user', 'project', 'local'] : ['user'],
            strictMcpConfig: true,
            allowDangerouslySkipPermissions: false,
            settings: { permissions: { ask: ['*'] }, disableAutoMode: 'disable' },
          },
        },
      }),
    },
    {
      name: 'codex-acp',
      title: 'Codex over ACP',
      command: ['codex-acp'],
      install: 'npm install -g @agentclientprotocol/codex-acp',
      signIn: 'set OPENAI_API_KEY, or run "codex login"',
      env: ['OPENAI_*', 'CODEX_*'],
      askMode: 'read-only',
      reportsSignIn: true,
    },
  ] satisfies readonly AcpDescription[]
).map(acpProgram);
