import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { agentCommand } from '../../../scripts/agents/agents.mjs';
import type { ScriptedCall } from '../../../src/sim/index.ts';

/** What differs between the agents that pass the contract: their tools, and how they find the simulated model. */
export interface TestedAgent {
  /** The name of the back end. */
  readonly name: string;
  /** Undefined for our own worker. */
  readonly command: readonly string[] | undefined;
  readonly bash: (command: string) => ScriptedCall;
  /** Prepares the home directory, and returns the environment of the agent. */
  readonly prepare: (home: string, url: string) => Readonly<Record<string, string>>;
  /** Whether the reason of a denial reaches the model. */
  readonly sendsReasons: boolean;
  /** Whether the tokens of a request are reported. */
  readonly reportsUsage: boolean;
}

const described = (command: string) => ({ command, description: 'a test' });

export const AGENTS: readonly TestedAgent[] = [
  {
    name: 'polypod',
    command: undefined,
    bash: (command) => ({ name: 'bash', arguments: { command } }),
    prepare: () => ({}),
    sendsReasons: true,
    reportsUsage: true,
  },
  {
    name: 'claude',
    command: agentCommand('claude'),
    bash: (command) => ({ name: 'Bash', arguments: described(command) }),
    prepare: (home, url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'key-for-tests',
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
    }),
    sendsReasons: true,
    reportsUsage: true,
  },
  {
    name: 'codex',
    command: agentCommand('codex'),
    bash: (command) => ({ name: 'exec_command', arguments: { cmd: command } }),
    prepare: (home, url) => {
      write(
        join(home, '.codex/config.toml'),
        `model = "gpt-test"
model_provider = "sim"
[model_providers.sim]
name = "sim"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SIM_API_KEY"
request_max_retries = 0
stream_max_retries = 1
`,
      );
      return { CODEX_HOME: join(home, '.codex'), SIM_API_KEY: 'key-for-tests' };
    },
    sendsReasons: false,
    reportsUsage: true,
  },
  {
    name: 'gemini',
    command: agentCommand('gemini'),
    bash: (command) => ({ name: 'run_shell_command', arguments: described(command) }),
    prepare: (_, url) => ({
      GEMINI_API_KEY: 'key-for-tests',
      GEMINI_MODEL: 'gemini-2.5-flash',
      GOOGLE_GEMINI_BASE_URL: url,
    }),
    sendsReasons: false,
    reportsUsage: true,
  },
  {
    name: 'opencode',
    command: agentCommand('opencode'),
    bash: (command) => ({ name: 'bash', arguments: described(command) }),
    prepare: (_, url) => ({
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: 'sim/sim',
        small_model: 'sim/small',
        provider: {
          sim: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Sim',
            options: { baseURL: `${url}/v1`, apiKey: 'key-for-tests' },
            models: Object.fromEntries(
              ['sim', 'small'].map((name) => [
                name,
                { name, limit: { context: 100_000, output: 1_000 }, cost: { input: 1, output: 2 } },
              ]),
            ),
          },
        },
      }),
    }),
    sendsReasons: false,
    reportsUsage: true,
  },
  {
    name: 'pi',
    command: agentCommand('pi'),
    bash: (command) => ({ name: 'bash', arguments: { command } }),
    prepare: (home, url) => {
      const model = { id: 'first', input: ['text'], contextWindow: 100_000, maxTokens: 1_000 };
      const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
      const sim = {
        baseUrl: url,
        api: 'anthropic-messages',
        apiKey: 'key-for-tests',
        models: [{ ...model, name: 'First', reasoning: false, cost }],
      };
      write(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { sim } }));
      write(
        join(home, '.pi/agent/settings.json'),
        JSON.stringify({ defaultProvider: 'sim', defaultModel: 'first' }),
      );
      return { PI_OFFLINE: '1' };
    },
    sendsReasons: true,
    reportsUsage: true,
  },
];

export function isInstalled({ command = [] }: TestedAgent): boolean {
  return command.every((part) => existsSync(part));
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
