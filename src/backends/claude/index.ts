/** Claude Code as a back end, over its stream of JSON lines. */
import type { AgentProgram } from '../agent-program.ts';

export const claude: AgentProgram = {
  name: 'claude',
  title: 'Claude Code',
  capabilities: {
    steer: true,
    editInput: true,
    denyReason: true,
    resume: true,
    fork: true,
    compact: true,
    model: true,
    images: true,
    totalCost: true,
  },
  command: ['claude'],
  install: 'npm install -g @anthropic-ai/claude-code',
  signIn: 'run "claude" once and sign in, or set ANTHROPIC_API_KEY',
  env: [
    'ANTHROPIC_*',
    'CLAUDE_CONFIG_DIR',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CLAUDE_CODE_USE_*',
    'CLAUDE_CODE_SKIP_*',
    'AWS_*',
    'CLOUD_ML_REGION',
    'VERTEX_REGION_*',
    'GOOGLE_APPLICATION_CREDENTIALS',
  ],
  async connect(options) {
    const { connectClaude } = await import('./connection.ts');
    return connectClaude(options);
  },
  async probe(options) {
    const { probeClaude } = await import('./probe.ts');
    return probeClaude(options);
  },
  async describe(options) {
    const { describeClaude } = await import('./probe.ts');
    return describeClaude(options);
  },
};
