import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { NewSession } from '../../daemon/index.ts';
import { existingDirectory, type DataPaths } from '../../setup/index.ts';
import { THINKING_LEVELS } from '../../llm/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import type { CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from './data-dir.ts';
import { MODEL } from './model-option.ts';
import { PERMISSION_MODES } from '../../tools/index.ts';
import type { Values } from '../options.ts';

/** Options that describe an agent and its session, shared by all commands that run one. */
export const AGENT_OPTIONS = {
  name: { type: 'text', short: 'n', value: 'NAME', help: 'the name of the new session' },
  backend: {
    type: 'text',
    short: 'b',
    value: 'NAME',
    completes: 'backends',
    help: 'the agent that does the work: claude, codex, …; see polypod backends (default: polypod)',
  },
  ...MODEL,
  mode: {
    type: 'choice',
    choices: PERMISSION_MODES,
    help: 'the permission mode (default: workspace-write)',
  },
  thinking: { type: 'choice', choices: THINKING_LEVELS, help: 'the thinking level' },
  'allow-path': {
    type: 'texts',
    value: 'PATH',
    help: 'an additional path that the agent can use; can be repeated',
  },
  sandbox: {
    type: 'flag',
    help: 'run commands in a bubblewrap sandbox: writes only in this directory, no network',
  },
  cwd: { type: 'text', short: 'C', value: 'DIR', help: 'the directory to work in (default: this one)' },
  system: { type: 'text', short: 's', value: 'TEXT', help: 'text to append to the system prompt' },
  'mcp-config': {
    type: 'text',
    value: 'FILE',
    help: 'MCP servers to use, as JSON: { "mcpServers": { … } }',
  },
  extension: {
    type: 'texts',
    short: 'e',
    value: 'FILE',
    help: 'an extension to load; can be repeated',
  },
  offline: { type: 'flag', help: 'use the built-in simulated model' },
  'no-session': { type: 'flag', help: 'do not store the session' },
  'no-daemon': { type: 'flag', help: 'run in this process, even if the daemon is running' },
  ...DATA_DIR,
} as const;

type AgentValues = Values<typeof AGENT_OPTIONS>;

/** The agent and session that the command line requests, and which process hosts them. */
export interface AgentRequest {
  readonly dataPaths: DataPaths;
  /** The session to create if none is resumed. */
  readonly fresh: NewSession;
  readonly offline: boolean;
  /** Do not store the session. */
  readonly isEphemeral: boolean;
  /** Host the pod in this process, even if a daemon is running. */
  readonly isInProcess: boolean;
  readonly allowPaths: readonly string[];
  readonly sandbox: boolean;
  readonly mcpServers: readonly McpServerSpec[];
  /** Absolute paths of modules. */
  readonly extensions: readonly string[];
}

/** Reads the paths and files that the options name. Rejects if a path does not exist. */
export async function readAgentRequest(values: AgentValues, context: CommandContext): Promise<AgentRequest> {
  const { name, backend, model, mode, thinking, system, sandbox, offline } = values;
  const { 'mcp-config': mcpConfig, 'no-session': isEphemeral } = values;
  return {
    dataPaths: dataPathsOf(values, context),
    fresh: {
      cwd: await existingDirectory(values.cwd ?? '.'),
      ...withoutUndefined({ name, backend, model, mode, thinking, appendSystem: system }),
    },
    offline,
    isEphemeral,
    isInProcess:
      values['no-daemon'] || isEphemeral || sandbox || mcpConfig !== undefined || values.extension.length > 0,
    allowPaths: await Promise.all(values['allow-path'].map((path) => existing(path, 'allow'))),
    sandbox,
    mcpServers: mcpConfig === undefined ? [] : await serversIn(mcpConfig),
    extensions: await Promise.all(values.extension.map((path) => existing(path, 'load'))),
  };
}

/** Rejects options that exclude each other; `continuedBy` is the option that continues an earlier session. */
export function refuseContradictions(
  values: Pick<AgentValues, 'offline' | 'backend' | 'model' | 'cwd' | 'name' | 'no-session'>,
  continuedBy: '--resume' | '--continue' | undefined,
): void {
  const { offline, backend, model, cwd, name, 'no-session': isEphemeral } = values;
  if (offline && model !== undefined) throw exclusive('--offline', '--model');
  if (offline && backend !== undefined) throw exclusive('--offline', '--backend');
  if (continuedBy === undefined) return;
  if (backend !== undefined)
    throw new PolypodError(
      'bad-request',
      `a session keeps its back end: leave out --backend or ${continuedBy}`,
    );
  if (isEphemeral) throw exclusive(continuedBy, '--no-session');
  if (name !== undefined)
    throw new PolypodError('bad-request', `--name is for a new session: leave out ${continuedBy}`);
  if (continuedBy === '--resume' && cwd !== undefined)
    throw new PolypodError('bad-request', 'a session always continues in its own directory: omit --cwd');
}

export function exclusive(one: string, other: string): PolypodError {
  return new PolypodError('bad-request', `${one} and ${other} exclude each other`);
}

async function existing(path: string, verb: string): Promise<string> {
  const full = resolve(path);
  await stat(full).catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot ${verb} ${path}: ${messageOf(thrown)}`, { cause: thrown });
  });
  return full;
}

async function serversIn(file: string): Promise<readonly McpServerSpec[]> {
  const { readMcpConfig } = await import('../../mcp/index.ts');
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the MCP servers: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  return readMcpConfig(text);
}
