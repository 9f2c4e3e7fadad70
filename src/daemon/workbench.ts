import { mkdir } from 'node:fs/promises';
import { safeEnv } from '../base/index.ts';
import { type McpServerSpec, McpServers, type McpServerStatus } from '../mcp/index.ts';
import {
  bubblewrapSandbox,
  builtinTools,
  ground,
  type Mode,
  type OwnSurroundings,
  type Policy,
  quietGit,
  type Rule,
  type Scope,
  scopeFrom,
  type Tool,
  type TodoItem,
  todoTool,
} from '../tools/index.ts';
import {
  type Approve,
  approveByPolicy,
  type PermissionAnswer,
  type PermissionQuestion,
} from '../worker/index.ts';
import type { Permissions } from './config.ts';

/** What an agent works with: its tools, what it may do with them, and the world they see. */
export interface Workbench {
  /** All tools there are now; those of MCP servers come and go. */
  readonly tools: () => Promise<readonly Tool[]>;
  readonly approve: Approve;
  readonly surroundings: (callId: string) => OwnSurroundings;
  readonly todos: () => readonly TodoItem[];
  readonly servers: () => readonly McpServerStatus[];
  readonly close: () => Promise<void>;
}

export interface WorkbenchOptions {
  readonly cwd: string;
  readonly permissions: Permissions;
  readonly mode: Mode;
  readonly allowPaths: readonly string[];
  readonly sandbox: boolean;
  readonly mcpServers: readonly McpServerSpec[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables that hold keys although their names do not tell. */
  readonly secretEnv: readonly string[];
  /** Where full outputs go. */
  readonly outputs: string;
  readonly version: string;
  readonly ask: (question: PermissionQuestion, signal: AbortSignal) => Promise<AskedAnswer>;
  readonly onServerChange: (status: McpServerStatus) => void;
}

/** An answer, and whether it holds for the rest of the session. */
export type AskedAnswer = PermissionAnswer & { readonly remember?: boolean };

export async function openWorkbench(options: WorkbenchOptions): Promise<Workbench> {
  const { cwd, permissions, env } = options;
  await mkdir(options.outputs, { recursive: true, mode: 0o700 });
  const scope = await scopeOf(options);
  const toolEnv = { ...safeEnv(env, { secret: options.secretEnv, pass: permissions.passEnv }), ...quietGit };
  const sandbox = options.sandbox
    ? await bubblewrapSandbox({ writable: scope.write, hidden: [], env: toolEnv })
    : undefined;
  const remembered: Rule[] = [];
  const policy = (): Policy => ({
    mode: options.mode,
    rules: [...remembered, ...permissions.rules],
    scope,
    sandboxed: sandbox !== undefined,
  });
  const servers = new McpServers(options.mcpServers, {
    env,
    secretEnv: options.secretEnv,
    cwd,
    clientVersion: options.version,
    onChange: options.onServerChange,
  });
  let todos: readonly TodoItem[] = [];
  const own = [
    ...builtinTools,
    todoTool({
      get: () => todos,
      set: (items) => {
        todos = items;
      },
    }),
  ];
  return {
    tools: async () => (options.mcpServers.length === 0 ? own : [...own, ...(await servers.tools())]),
    approve: approveByPolicy({
      policy,
      ground,
      async ask(question, signal) {
        const { remember, ...answer } = await options.ask(question, signal);
        if (remember && question.rule !== undefined) remembered.unshift(question.rule);
        return answer;
      },
    }),
    surroundings: () => ({ env: toolEnv, scratch: options.outputs, sandbox }),
    todos: () => todos,
    servers: () => servers.status(),
    close: () => servers.close(),
  };
}

/** Outputs that were too long to show may be read on, although they are kept elsewhere. */
async function scopeOf({ cwd, permissions, allowPaths, outputs }: WorkbenchOptions): Promise<Scope> {
  const [scope, kept] = await Promise.all([
    scopeFrom(cwd, [...permissions.allowPaths, ...allowPaths], ground.realPath),
    scopeFrom(outputs, [], ground.realPath),
  ]);
  return { read: [...scope.write, ...kept.write], write: scope.write };
}
