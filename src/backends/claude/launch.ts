import { open, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Env } from '../../base/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import type { ThinkingLevel } from '../../llm/index.ts';
import type { AgentSettings, ConnectOptions, SessionStart } from '../agent-program.ts';
import { claudeToolNames } from './calls.ts';
import { projectInstructions } from './instructions.ts';

/** The options of Claude Code that make every call ask for permission and keep the project from changing that. */
export function productionArgs(trustProject: boolean): readonly string[] {
  return [
    '-p',
    '--input-format',
    'stream-json',
    '--output-format',
    'stream-json',
    '--verbose',
    '--include-partial-messages',
    '--forward-subagent-text',
    '--permission-prompt-tool',
    'stdio',
    '--permission-mode',
    'default',
    '--setting-sources',
    trustProject ? 'user,project,local' : 'user',
    '--settings',
    JSON.stringify(protectiveSettings(trustProject)),
    ...(trustProject ? [] : ['--strict-mcp-config']),
  ];
}

/** Settings on the command line override those of the user and of the project. */
function protectiveSettings(trustProject: boolean): object {
  return {
    permissions: { ask: ['*'], disableBypassPermissionsMode: 'disable' },
    disableAutoMode: 'disable',
    // Otherwise a user's setting lets commands in Claude Code's own sandbox run without a request.
    sandbox: { autoAllowBashIfSandboxed: false },
    // A hook for permission requests answers them before we can.
    ...(!trustProject && { disableAllHooks: true }),
  };
}

/** The environment of Claude Code. */
export function launchEnv(env: Env): Env {
  return {
    ...env,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // Otherwise a `cd` applies to later commands, which the policy judges in the working directory.
    CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR: '1',
    // Otherwise `@/etc/passwd` in a prompt sends the file to the model without a request.
    CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
  };
}

/** The user's home directory, which Claude Code puts in place of `~`. */
export function homeOf(env: Env): string {
  return env.HOME ?? homedir();
}

/** The file with the MCP servers of a session. */
export const MCP_FILE = 'mcp.json';

/** The arguments for a session. Writes the files that they refer to. */
export async function sessionArgs(
  { cwd, directory, mcpServers, trustProject }: ConnectOptions,
  settings: AgentSettings,
  start: SessionStart,
  sessionId: string,
): Promise<readonly string[]> {
  const { model, thinking, system, maxTurns, budget, paths } = settings;
  const instructions = trustProject ? '' : await projectInstructions(cwd);
  const appended = [instructions, settings.appendSystem ?? ''].filter((text) => text !== '').join('\n\n');
  const file = async (name: string, content: string): Promise<string> => {
    await writePrivate(join(directory, name), content);
    return join(directory, name);
  };
  return [
    ...productionArgs(trustProject),
    ...startArgs(start, sessionId),
    // The texts of this start apply, not those with which the session began.
    '--system-prompt-snapshot',
    'off',
    ...option('--model', model),
    ...option('--effort', thinking && EFFORTS[thinking]),
    ...option('--system-prompt-file', system && (await file('system-prompt.txt', system))),
    ...option('--append-system-prompt-file', appended && (await file('append-prompt.txt', appended))),
    ...option('--max-turns', maxTurns),
    ...option('--max-budget-usd', budget),
    ...toolArgs(settings, mcpServers),
    ...paths.flatMap((path) => option('--add-dir', path)),
    ...(mcpServers.length === 0
      ? []
      : option('--mcp-config', await file(MCP_FILE, JSON.stringify(mcpConfig(mcpServers, cwd))))),
  ];
}

/** The settings that Claude Code reads only when it starts. */
export function startSettings({ model: _model, mode: _mode, ...rest }: AgentSettings): string {
  return JSON.stringify(rest, Object.keys(rest).toSorted());
}

/** The tools that the model has. */
function toolArgs(settings: AgentSettings, servers: readonly McpServerSpec[]): readonly string[] {
  const { disallowedTools = [] } = settings;
  const allowedTools = disallowedTools.includes('*') ? [] : settings.allowedTools;
  const hidden = disallowedTools.flatMap(claudeToolNames);
  if (allowedTools === undefined) return hidden.flatMap((name) => option('--disallowedTools', name));
  const allowed = allowedTools.filter((name) => !name.startsWith('mcp__')).flatMap(claudeToolNames);
  // `--tools` limits only the built-in tools.
  const unused = servers
    .map(({ name }) => `mcp__${name}`)
    .filter((server) => !allowedTools.some((name) => name.startsWith(`${server}__`)));
  return [
    `--tools=${allowed.join(',')}`,
    ...[...hidden, ...unused].flatMap((name) => option('--disallowedTools', name)),
  ];
}

function startArgs(start: SessionStart, sessionId: string): readonly string[] {
  if (start.type === 'new') return option('--session-id', sessionId);
  const resume = option('--resume', start.sessionId);
  return start.type === 'resume'
    ? resume
    : [...resume, '--fork-session', ...option('--session-id', sessionId)];
}

/** One argument: a value of its own that starts with `-` would be another option. */
function option(name: string, value: string | number | undefined): readonly string[] {
  return value === undefined || value === '' ? [] : [`${name}=${value}`];
}

function mcpConfig(servers: readonly McpServerSpec[], cwd: string): object {
  return { mcpServers: Object.fromEntries(servers.map((server) => [server.name, mcpServer(server, cwd)])) };
}

function mcpServer(spec: McpServerSpec, cwd: string): object {
  const limit = spec.callTimeoutMs === undefined ? {} : { timeout: spec.callTimeoutMs };
  if (spec.transport === 'http') return { type: 'http', url: spec.url, headers: spec.headers, ...limit };
  const { command, args, env } = spec;
  if (spec.cwd === undefined) return { type: 'stdio', command, args, env, ...limit };
  // Claude Code starts all servers in its own working directory.
  const moved = ['-c', 'cd "$0" && exec "$@"', resolve(cwd, spec.cwd), command, ...args];
  return { type: 'stdio', command: '/bin/sh', args: moved, env, ...limit };
}

/** Never visible to other users, not even while it is written: it may contain keys. */
async function writePrivate(path: string, content: string): Promise<void> {
  const temporary = `${path}.new`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
}

const EFFORTS: Readonly<Record<ThinkingLevel, string>> = {
  off: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
};
