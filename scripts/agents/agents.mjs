import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the agents for the tests are installed. */
export const agentsDirectory =
  process.env.POLYPOD_TEST_AGENTS ?? fileURLToPath(new URL('../../.agents', import.meta.url));

const NODE = 'node@22.23.3';
const KEY = 'key-for-tests';
const described = (command) => ({ command, description: 'a test' });

/**
 * The agents for the tests, with the versions that are tested. `bin` is the program; `node`: it needs a newer Node.js, which is
 * installed with it. `prepare` writes the configuration of a user whose model is the simulator and returns the environment.
 * Gemini CLI reports a command that failed as completed: `marksFailures` is false.
 */
export const AGENTS = {
  claude: {
    packages: ['@anthropic-ai/claude-code@2.1.327'],
    bin: 'claude',
    bash: (command) => ({ name: 'Bash', arguments: described(command) }),
    prepare: (home, url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CONFIG_DIR: join(home, '.claude'),
    }),
    sendsReasons: true,
    marksFailures: true,
  },
  codex: {
    packages: ['@openai/codex@0.169.0'],
    bin: 'codex',
    bash: (cmd) => ({ name: 'exec_command', arguments: { cmd } }),
    prepare: (home, url) => {
      const config = `model = "gpt-test"
model_provider = "sim"
[model_providers.sim]
name = "sim"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SIM_API_KEY"
request_max_retries = 0
stream_max_retries = 1
`;
      write(join(home, '.codex/config.toml'), config);
      return { CODEX_HOME: join(home, '.codex'), SIM_API_KEY: KEY };
    },
    sendsReasons: false,
    marksFailures: true,
  },
  gemini: {
    packages: ['@google/gemini-cli@0.61.0', NODE],
    bin: 'gemini',
    node: true,
    bash: (command) => ({ name: 'run_shell_command', arguments: described(command) }),
    prepare: (_, url) => ({
      GEMINI_API_KEY: KEY,
      GEMINI_MODEL: 'gemini-2.5-flash',
      GOOGLE_GEMINI_BASE_URL: url,
    }),
    sendsReasons: false,
    marksFailures: false,
  },
  opencode: {
    packages: ['opencode-ai@1.18.33'],
    bin: 'opencode',
    bash: (command) => ({ name: 'bash', arguments: described(command) }),
    prepare: (_, url) => {
      const limits = { limit: { context: 100_000, output: 1_000 }, cost: { input: 1, output: 2 } };
      const sim = {
        npm: '@ai-sdk/openai-compatible',
        name: 'Sim',
        options: { baseURL: `${url}/v1`, apiKey: KEY },
        models: { sim: { name: 'sim', ...limits }, small: { name: 'small', ...limits } },
      };
      const config = { model: 'sim/sim', small_model: 'sim/small', provider: { sim } };
      return { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_CONFIG_CONTENT: JSON.stringify(config) };
    },
    sendsReasons: false,
    marksFailures: true,
  },
  pi: {
    packages: ['@earendil-works/pi-coding-agent@0.87.1', NODE],
    bin: 'pi',
    node: true,
    bash: (command) => ({ name: 'bash', arguments: { command } }),
    prepare: (home, url) => {
      const model = {
        id: 'first',
        name: 'First',
        reasoning: false,
        input: ['text'],
        contextWindow: 100_000,
        maxTokens: 1_000,
        cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
      };
      const sim = { baseUrl: url, api: 'anthropic-messages', apiKey: KEY, models: [model] };
      write(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { sim } }));
      const settings = { defaultProvider: 'sim', defaultModel: 'first' };
      write(join(home, '.pi/agent/settings.json'), JSON.stringify(settings));
      return { PI_OFFLINE: '1' };
    },
    sendsReasons: true,
    marksFailures: true,
  },
};

/** The command that starts an installed agent. */
export function agentCommand(name) {
  const { bin, node = false } = AGENTS[name];
  const bins = join(agentsDirectory, name, 'node_modules/.bin');
  return node ? [join(bins, 'node'), join(bins, bin)] : [join(bins, bin)];
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
