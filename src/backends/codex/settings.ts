import { dirname } from 'node:path';
import type { JsonObject } from '../../base/index.ts';
import type { ThinkingLevel } from '../../llm/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import type { AgentSettings } from '../agent-program.ts';

/** The arguments that start Codex as a server on its standard streams. */
export const SERVER_ARGS: readonly string[] = ['app-server', ...overrides()];

/**
 * Overrides of the user's configuration, so that nothing happens without a request for permission:
 * - A command gets no terminal. Codex sends input to a terminal without asking, so an approved shell could be made to run anything.
 * - Images are not read from the disk by Codex itself, since it does not ask for that.
 * - A skill does not install MCP servers.
 * - A prompt is one turn: a goal would start turns by itself.
 * - Commands do not receive the keys of Codex.
 */
function overrides(): readonly string[] {
  const values = [
    'features.unified_exec_tty=false',
    'features.view_image=false',
    'features.skill_mcp_dependency_install=false',
    'features.goals=false',
    'shell_environment_policy.ignore_default_excludes=false',
  ];
  return values.flatMap((value) => ['-c', value]);
}

/**
 * Every command and every patch asks, also those that only read. The sandbox of the thread is for commands outside a turn, of which
 * there are none.
 */
const POLICY = { approvalPolicy: 'untrusted', approvalsReviewer: 'user' } as const;
const THREAD_SANDBOX = 'read-only';

/**
 * Commands of a turn run outside the sandbox of Codex, because each of them was approved. In its sandbox, an approved command that
 * fails is run again outside it without another request, so its effects may happen twice; and where the system has no sandbox,
 * every command fails. This policy says that we are responsible, and unlike `dangerFullAccess` it does not make web searches live.
 */
const TURN_SANDBOX = { type: 'externalSandbox', networkAccess: 'enabled' } as const;

export interface ThreadParts {
  readonly cwd: string;
  /** `cwd` without links. */
  readonly realCwd: string;
  readonly trustProject: boolean;
  readonly settings: AgentSettings;
  readonly mcpServers: readonly McpServerSpec[];
  /** The instructions of the project, which Codex does not read in a project that is not trusted. */
  readonly instructions: string | undefined;
  /** The user's own setting. */
  readonly webSearch: unknown;
}

/** The parameters of a new, resumed or forked thread. */
export function threadParams(parts: ThreadParts): JsonObject {
  const { cwd, realCwd, trustProject, settings, mcpServers, instructions, webSearch } = parts;
  const { model, system, appendSystem } = settings;
  const developer = [appendSystem, instructions].filter((text) => text !== undefined).join('\n\n');
  return {
    cwd,
    ...POLICY,
    sandbox: THREAD_SANDBOX,
    ...(model === undefined ? {} : { model }),
    ...(system === undefined ? {} : { baseInstructions: system }),
    ...(developer === '' ? {} : { developerInstructions: developer }),
    config: {
      projects: trustLevels(cwd, realCwd, trustProject),
      // A live search is a request to the web that nobody approved.
      web_search: webSearch === 'disabled' ? 'disabled' : 'cached',
      ...(mcpServers.length === 0 ? {} : { mcp_servers: Object.fromEntries(mcpServers.map(mcpServer)) }),
    },
  };
}

/** Why the thread must not be used: Codex has not accepted that it must ask. */
export function policyProblem(thread: JsonObject): string | undefined {
  if (
    thread.approvalPolicy === POLICY.approvalPolicy &&
    thread.approvalsReviewer === POLICY.approvalsReviewer
  )
    return undefined;
  const chosen = JSON.stringify([thread.approvalPolicy, thread.approvalsReviewer]);
  return `it does not ask for permission before every command (it chose ${chosen}); check the requirements of your organization for Codex`;
}

/**
 * Codex applies the trust that the user gave to the repository, or to the main working tree of it, to every directory in it. And it
 * writes down that a project is trusted if it is not told otherwise. So each directory above the project gets its own entry. They
 * are sent with the thread and not saved.
 */
function trustLevels(cwd: string, realCwd: string, trustProject: boolean): JsonObject {
  if (trustProject) return { [cwd]: { trust_level: 'trusted' }, [realCwd]: { trust_level: 'trusted' } };
  const directories = new Set([...withParents(cwd), ...withParents(realCwd)]);
  return Object.fromEntries([...directories].map((path) => [path, { trust_level: 'untrusted' }]));
}

/** The directory and all directories above it. */
export function withParents(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...withParents(parent)];
}

/** Every tool of the pod's servers asks, also one that says that it only reads. */
function mcpServer(spec: McpServerSpec): [string, JsonObject] {
  const timeout =
    spec.callTimeoutMs === undefined ? {} : { tool_timeout_sec: Math.ceil(spec.callTimeoutMs / 1_000) };
  const common = { default_tools_approval_mode: 'prompt', ...timeout };
  const name = spec.name.replaceAll(/[^\w-]/g, '_');
  if (spec.transport === 'http') return [name, { url: spec.url, http_headers: spec.headers, ...common }];
  const { command, args, env, passEnv, cwd } = spec;
  return [name, { command, args, env, env_vars: passEnv, ...(cwd === undefined ? {} : { cwd }), ...common }];
}

/** The parameters of a turn that a setting changes. */
export function turnParams({ model, thinking, paths }: AgentSettings, cwd: string): JsonObject {
  return {
    runtimeWorkspaceRoots: [cwd, ...paths],
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { effort: EFFORTS[thinking] }),
    ...POLICY,
    sandboxPolicy: TURN_SANDBOX,
  };
}

/** The models of Codex reason at least a little. */
const EFFORTS: Readonly<Record<ThinkingLevel, string>> = {
  off: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
};
