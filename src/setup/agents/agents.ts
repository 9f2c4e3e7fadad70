import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Audit } from '../../audit/index.ts';
import { safeEnv, userName } from '../../base/index.ts';
import { type Environment, referenceTo } from '../../llm/index.ts';
import type { McpServerSpec, McpServerStatus } from '../../mcp/index.ts';
import type { Agent, OpenAgent, Workplace } from '../../pod/index.ts';
import {
  builtinTools,
  fileFacts,
  fileFactsFor,
  type PermissionMode,
  openSandboxes,
  orphanNote,
  pidNamespace,
  type SandboxScope,
  type Scope,
  scopeFrom,
  todoTool,
} from '../../tools/index.ts';
import { systemPrompt } from '../../worker/index.ts';
import { commandModel, isCommandModel } from '../models/command-model.ts';
import type { Config } from '../config/config.ts';
import { instructionsIn } from './instructions.ts';
import { limiterFor } from './command-limits.ts';
import { SavedRules } from './saved-rules.ts';
import { keyVariables } from '../config/key-variables.ts';
import type { ModelAccess } from '../models/model-access.ts';
import { ownPaths, socketPaths } from './own-paths.ts';
import type { DataPaths } from '../paths/data-paths.ts';
import { PodMcpServers } from './pod-mcp-servers.ts';
import { commandLedger, endLeftCommands } from './running-commands.ts';

export interface AgentsOptions {
  readonly env: Environment;
  /** This and the models are looked at for every run: they may have been loaded anew. */
  readonly config: Config;
  readonly dataPaths: DataPaths;
  readonly models: ModelAccess;
  readonly version: string;
  /** In place of what the configuration says. */
  readonly mode?: PermissionMode | undefined;
  readonly allowPaths?: readonly string[];
  readonly sandbox?: boolean;
  /** Beside those of the configuration. */
  readonly mcpServers?: readonly McpServerSpec[];
  /** Added to what agents are told about themselves. */
  readonly system?: string | undefined;
  /** Files of ours that neither the environment nor the configuration names. */
  readonly ownFiles?: () => readonly string[];
  readonly onServerChange?: (podId: string, status: McpServerStatus) => void;
  /** Records the rules that people make. */
  readonly audit?: Audit | undefined;
}

/** Agents as the user has configured them: models by account, the built-in tools, MCP servers, permissions. */
export function agentsFrom(options: AgentsOptions): OpenAgent {
  let kept: Promise<SavedRules> | undefined;
  let swept: Promise<unknown> | undefined;
  return async (place) => {
    // Before a pod tells how its last calls ended.
    await (swept ??= endLeftCommands(options.dataPaths));
    return openAgent(options, place, await (kept ??= SavedRules.open(options.dataPaths.rulesFile)));
  };
}

async function openAgent(
  options: AgentsOptions,
  { podId, cwd, todos, settings }: Workplace,
  kept: SavedRules,
): Promise<Agent> {
  const { config, env, dataPaths, version } = options;
  const { permissions } = config;
  const secretEnv = keyVariables(config);
  const toolEnv = safeEnv(env, { secret: secretEnv, pass: permissions.passEnv });
  const protectedPaths = await ownPaths({ env, dataPaths, config, files: options.ownFiles?.() ?? [] }, cwd);
  const fromHome = (path: string): string => path.replace(/^~(?=\/)/, dataPaths.home);
  // Rules that a person makes here belong to this directory, wherever a link to it is.
  const project = await realpath(cwd).catch(() => cwd);
  const outputs = join(dataPaths.cacheDirectory, 'outputs', podId);
  const scope = (paths: readonly string[]): Promise<Scope> =>
    scopeOf(cwd, outputs, [
      ...options.config.permissions.allowPaths,
      ...(options.allowPaths ?? []),
      ...paths,
    ]);
  await mkdir(outputs, { recursive: true, mode: 0o700 });
  const { sandbox: settled } = config;
  const usual: SandboxScope = {
    writable: (await scope([])).write,
    mode: options.mode ?? permissions.mode ?? 'workspace-write',
  };
  const sandboxes =
    options.sandbox === true || settled.enabled === true
      ? await openSandboxes(
          {
            env: toolEnv,
            home: dataPaths.home,
            hidden: [...protectedPaths, ...(settled.hide ?? []).map(fromHome)],
            readable: [...(settled.read ?? []).map(fromHome), outputs],
            shown: (settled.show ?? []).map(fromHome),
            passEnv: permissions.passEnv,
            ...(settled.tmpBytes === undefined ? {} : { scratchBytes: settled.tmpBytes }),
          },
          usual,
        )
      : undefined;
  const servers = new PodMcpServers([...config.mcpServers, ...(options.mcpServers ?? [])], {
    env,
    secretEnv,
    cwd,
    clientVersion: version,
    onChange: (status) => options.onServerChange?.(podId, status),
  });
  const ledger = commandLedger(dataPaths);
  const isolation =
    permissions.isolateCommands === false
      ? undefined
      : pidNamespace({
          env: toolEnv,
          hidden: () =>
            options.config.daemon.allowAgentPeers === true ? [] : socketPaths({ env, dataPaths }),
        });
  const own = [...builtinTools, todoTool(todos)];
  await options.models.choose();
  return {
    get defaultModel() {
      const { account, id } = options.models.best;
      return { provider: account, modelId: id };
    },
    model: async (choice) => {
      if (isCommandModel(choice)) return commandModel();
      return options.models.choose(referenceTo({ account: choice.provider, id: choice.modelId }));
    },
    tools: async () => {
      await mkdir(outputs, { recursive: true, mode: 0o700 });
      return [...own, ...(await servers.tools(settings()))];
    },
    system: async () =>
      systemPrompt({
        cwd,
        platform: process.platform,
        today: new Date().toISOString().slice(0, 10),
        instructions: settings().contextFiles === false ? [] : await instructionsIn(cwd),
        addition: options.system,
      }),
    get mode() {
      return options.mode ?? options.config.permissions.mode ?? 'workspace-write';
    },
    get rules() {
      return options.config.permissions.rules;
    },
    rulesOf: (person) => kept.rulesFor(person, project),
    sandboxed: sandboxes !== undefined,
    protectedPaths,
    fileFacts: fileFactsFor(toolEnv),
    scope,
    surroundings: (callId, policy) => ({
      env: toolEnv,
      scratch: outputs,
      sandbox: sandboxes?.around(
        policy === undefined ? usual : { writable: policy.scope.write, mode: policy.mode },
      ),
      isolation,
      limiter: limiterFor(options.config, toolEnv),
      record: (entry) => ledger.open({ podId, callId }, entry),
    }),
    interruptionNote: (callId) => orphanNote(ledger, podId, callId),
    remember: async (rule, person) => {
      const { id } = await kept.keep(rule, person, project);
      options.audit?.({
        event: 'rule.created',
        door: 'process',
        by: person === 'local' ? userName(env) : person.owner,
        session: podId,
        target: id,
        details: { rule, directory: project },
      });
    },
    close: () => servers.close(),
  };
}

/** Outputs that were too long to show may be read on, although they are kept elsewhere. */
async function scopeOf(cwd: string, outputs: string, paths: readonly string[]): Promise<Scope> {
  const [scope, kept] = await Promise.all([
    scopeFrom(cwd, paths, fileFacts.realPath),
    scopeFrom(outputs, [], fileFacts.realPath),
  ]);
  return { read: [...scope.write, ...kept.write], write: scope.write };
}
