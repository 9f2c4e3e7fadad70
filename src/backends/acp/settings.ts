import { constants } from 'node:fs';
import { access, copyFile, lstat, mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type JsonObject, objectOf, parseObject, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { PrepareLaunch, PrepareProbe } from './program.ts';

/**
 * The rules of the highest tier: everything asks. A rule with a pattern for the arguments is needed for commands: without one, Gemini CLI
 * runs commands that it considers safe without asking. Agents of the agent cannot ask over ACP.
 */
const GEMINI_POLICY = `[[rule]]
toolName = "*"
decision = "ask_user"
priority = 900

[[rule]]
toolName = "run_shell_command"
argsPattern = "."
decision = "ask_user"
priority = 950

[[rule]]
toolName = ["write_todos", "update_topic", "complete_task", "get_internal_docs", "cli_help"]
decision = "allow"
priority = 950

[[rule]]
toolName = ["invoke_agent", "codebase_investigator"]
decision = "deny"
priority = 960
`;

/** Starts Gemini CLI so that every call asks, and so that the project is not trusted, whatever the user's list of trusted folders contains. */
export const prepareGemini: PrepareLaunch = async ({ directory, trustProject, cwd }) => {
  const policy = join(directory, 'gemini-policy.toml');
  await writeFile(policy, GEMINI_POLICY, { mode: 0o600 });
  return {
    args: ['--approval-mode', 'default', '--admin-policy', policy],
    env: {
      GEMINI_CLI_TRUST_WORKSPACE: trustProject ? 'true' : 'false',
      // Otherwise it starts itself again with other options for memory: a second process, and half a second.
      GEMINI_CLI_NO_RELAUNCH: 'true',
    },
    // It does not read them in a folder that is not trusted.
    instructions: trustProject ? '' : await instructionText(cwd, ['GEMINI.md', 'AGENTS.md']),
  };
};

/** A directory of its own for sessions and logs, with the user's settings and policies, which may weaken ours. */
export const probeGemini: PrepareProbe = async (url, { env, home }) => {
  const user = join(env.GEMINI_CLI_HOME || env.HOME || '/', '.gemini');
  const own = join(home, '.gemini');
  await mkdir(join(own, 'policies'), { recursive: true });
  const { security, ...settings } =
    parseObject(await readFile(join(user, 'settings.json'), 'utf8').catch(() => '')) ?? {};
  const { auth: _, ...rest } = objectOf(security);
  await writeFile(join(own, 'settings.json'), JSON.stringify({ ...settings, security: rest }), {
    mode: 0o600,
  });
  for (const name of await readdir(join(user, 'policies')).catch(() => []))
    await copyFile(join(user, 'policies', name), join(own, 'policies', name)).catch(() => undefined);
  return {
    args: ['--model', 'gemini-2.5-flash'],
    env: {
      GEMINI_CLI_HOME: home,
      GEMINI_API_KEY: 'probe',
      GEMINI_DEFAULT_AUTH_TYPE: 'gemini-api-key',
      GOOGLE_GEMINI_BASE_URL: url,
      GOOGLE_GENAI_USE_VERTEXAI: '',
      GOOGLE_GENAI_USE_GCA: '',
    },
    tool: 'run_shell_command',
  };
};

/**
 * Every tool asks, except those that only change the agent's own notes. The check for directories outside the project is left to our policy,
 * which judges the call itself. Agents of the agent cannot ask over ACP: their requests are never answered.
 */
const OPENCODE_PERMISSION = {
  '*': 'ask',
  read: 'ask',
  edit: 'ask',
  glob: 'ask',
  grep: 'ask',
  list: 'ask',
  bash: 'ask',
  webfetch: 'ask',
  websearch: 'ask',
  codesearch: 'ask',
  skill: 'ask',
  lsp: 'ask',
  doom_loop: 'ask',
  todowrite: 'allow',
  todoread: 'allow',
  external_directory: 'allow',
  task: 'deny',
  question: 'deny',
};

/**
 * Starts opencode so that every call asks, and without the configuration of the project. Since opencode 1.18 loads the plugins of a project
 * even if it is started without the project's configuration, a project with such files is refused.
 */
export const prepareOpencode: PrepareLaunch = async ({ env, trustProject, cwd }) => {
  const found = trustProject ? undefined : await projectConfig(cwd, env.HOME);
  if (found !== undefined)
    throw new PolypodError(
      'denied',
      `opencode would load the configuration of this project (${found}), which can run programs and allow calls. Remove it, or set trust_project: true for this back end if you trust the project.`,
    );
  const stated = parseObject(env.OPENCODE_CONFIG_CONTENT ?? '') ?? {};
  const instructions = trustProject ? [] : await opencodeInstructions(cwd);
  const config: JsonObject = {
    ...stated,
    instructions: [...(Array.isArray(stated.instructions) ? stated.instructions : []), ...instructions],
    // A denial is a result for the model, not the end of the turn.
    experimental: { ...objectOf(stated.experimental), continue_loop_on_deny: true },
  };
  return {
    args: [],
    env: withoutUndefined({
      OPENCODE_PERMISSION: JSON.stringify(OPENCODE_PERMISSION),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
      OPENCODE_DISABLE_PROJECT_CONFIG: trustProject ? undefined : '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
    }),
    instructions: '',
  };
};

/** The first file or directory of opencode in the project: opencode looks in all directories up to the root of the repository. */
async function projectConfig(cwd: string, home: string | undefined): Promise<string | undefined> {
  for (const directory of await directoriesUpToRepository(cwd, true)) {
    // The user's own, which opencode reads for every project.
    if (directory === home) continue;
    for (const name of ['opencode.json', 'opencode.jsonc', '.opencode']) {
      const path = join(directory, name);
      const exists = await lstat(path).then(
        () => true,
        () => false,
      );
      if (exists) return path;
    }
  }
  return undefined;
}

/** The files that opencode reads by itself in a project with its configuration: those with the first name that exists. */
async function opencodeInstructions(cwd: string): Promise<readonly string[]> {
  for (const name of ['AGENTS.md', 'CLAUDE.md', 'CONTEXT.md']) {
    const found = await instructionFiles(cwd, [name]);
    if (found.length > 0) return found;
  }
  return [];
}

/** Directories of its own for sessions and logs; the user's configuration, which may weaken ours, stays. */
export const probeOpencode: PrepareProbe = async (url, { env, home }) => {
  const stated = parseObject(env.OPENCODE_CONFIG_CONTENT ?? '') ?? {};
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'Probe',
    options: { baseURL: `${url}/v1`, apiKey: 'probe' },
    models: { probe: { name: 'probe', limit: { context: 100_000, output: 1_000 } } },
  };
  const config = {
    ...stated,
    model: 'probe/probe',
    small_model: 'probe/probe',
    provider: { ...objectOf(stated.provider), probe: provider },
  };
  return {
    args: [],
    env: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      XDG_DATA_HOME: join(home, 'data'),
      XDG_STATE_HOME: join(home, 'state'),
      XDG_CACHE_HOME: join(home, 'cache'),
    },
    tool: 'bash',
  };
};

/** The project's instructions as one text. */
async function instructionText(cwd: string, names: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for (const path of await instructionFiles(cwd, names)) {
    const text = await readStart(path);
    if (text.trim() !== '') texts.push(`Instructions of the project (${path}):\n\n${text.trim()}`);
  }
  return texts.join('\n\n');
}

/** The files with these names from the root of the repository to the directory. Links are skipped: they may lead out of the project. */
async function instructionFiles(cwd: string, names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const directory of await directoriesUpToRepository(cwd))
    for (const name of names) {
      const path = join(directory, name);
      const isFile = await lstat(path).then(
        (stats) => stats.isFile(),
        () => false,
      );
      if (isFile) found.unshift(path);
    }
  return found;
}

/** The directory and those above it, to the root of the repository. Outside of one: the directory, or all above it. */
async function directoriesUpToRepository(cwd: string, all = false): Promise<readonly string[]> {
  const directories: string[] = [];
  for (let directory = cwd; ; directory = dirname(directory)) {
    directories.push(directory);
    const isRepository = await access(join(directory, '.git')).then(
      () => true,
      () => false,
    );
    if (isRepository) return directories;
    if (dirname(directory) === directory) return all ? directories : [cwd];
  }
}

async function readStart(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (handle === undefined) return '';
  try {
    const buffer = Buffer.alloc(MAX_INSTRUCTION_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await handle.close();
  }
}

const MAX_INSTRUCTION_BYTES = 64 * 1024;
