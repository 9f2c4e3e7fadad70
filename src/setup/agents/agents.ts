import { mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Audit } from '../../audit/index.ts';
import { asPolypodError, safeEnv, userName, withoutUndefined } from '../../base/index.ts';
import { BUILT_IN_TYPES, SubagentSlots, subagentTool } from '../../delegation/index.ts';
import { type Environment, modelReference } from '../../llm/index.ts';
import type { McpServerSpec, McpServerStatus } from '../../mcp/index.ts';
import type { Agent, OpenAgent, AgentContext } from '../../pod/index.ts';
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
import { fetchFrom } from '../../wire/index.ts';
import { systemPrompt } from '../../worker/index.ts';
import { commandModel, isCommandModel } from '../models/command-model.ts';
import type { Config } from '../config/config.ts';
import { readAgentFiles, readInstructions, readSkills, skillTool } from '../project/index.ts';
import { withExtensions } from './agent-extensions.ts';
import { backgroundLimits, createCommandLimiter } from './command-limits.ts';
import { SavedRules } from './saved-rules.ts';
import { keyVariables } from '../config/key-variables.ts';
import type { ModelAccess } from '../models/model-access.ts';
import { ownPaths, socketPaths } from './own-paths.ts';
import type { DataPaths } from '../paths/data-paths.ts';
import { PodMcpServers } from './pod-mcp-servers.ts';
import { commandLedger, endOrphanedCommands } from './running-commands.ts';
import { titleWriter } from './title-writer.ts';
import { webTools } from './web-tools.ts';

export interface AgentsOptions {
  readonly env: Environment;
  /** Read for every run, like the models, because it can be reloaded. */
  readonly config: Config;
  readonly dataPaths: DataPaths;
  readonly models: ModelAccess;
  readonly version: string;
  /** Overrides the configuration. */
  readonly mode?: PermissionMode | undefined;
  readonly allowPaths?: readonly string[];
  readonly sandbox?: boolean;
  /** Agents get no tool that uses the network. */
  readonly offline?: boolean;
  /** Added to those of the configuration. */
  readonly mcpServers?: readonly McpServerSpec[];
  /** Extensions that are loaded besides those of the configuration, as absolute paths. */
  readonly extensions?: readonly string[];
  readonly onExtensionError?: (podId: string, path: string, event: string, error: string) => void;
  /** Added to the system prompt. */
  readonly system?: string | undefined;
  /** Polypod's own files that neither the environment nor the configuration names. */
  readonly ownFiles?: () => readonly string[];
  readonly onServerChange?: (podId: string, status: McpServerStatus) => void;
  /** Called when a model could not write the title of a session. */
  readonly onTitleFailure?: (podId: string, message: string) => void;
  /** Records new rules. */
  readonly audit?: Audit | undefined;
}

/** Agents as the user has configured them: models by account, the built-in tools, MCP servers, permissions. */
export function agentsFrom(options: AgentsOptions): OpenAgent {
  let savedRules: Promise<SavedRules> | undefined;
  let orphansEnded: Promise<unknown> | undefined;
  return async (context) => {
    // Must finish before a pod reports how its last calls ended.
    await (orphansEnded ??= endOrphanedCommands(options.dataPaths));
    const rules = await (savedRules ??= SavedRules.open(options.dataPaths.rulesFile));
    const agent = await openAgent(options, context, rules);
    return withExtensions(agent, {
      files: [...new Set([...options.config.extensions, ...(options.extensions ?? [])])],
      cwd: context.cwd,
      onError: (...failure) => options.onExtensionError?.(context.podId, ...failure),
    });
  };
}

async function openAgent(
  options: AgentsOptions,
  {
    podId,
    cwd,
    todos,
    background,
    settings,
    client = () => undefined,
    editorServerValues,
    children,
  }: AgentContext,
  savedRules: SavedRules,
): Promise<Agent> {
  const { config, env, dataPaths, version } = options;
  const { permissions } = config;
  const secretEnv = keyVariables(config);
  const toolEnv = safeEnv(env, { secret: secretEnv, pass: permissions.passEnv });
  const files = [...(options.extensions ?? []), ...(options.ownFiles?.() ?? [])];
  const protectedPaths = await ownPaths({ env, dataPaths, config, files }, cwd);
  const fromHome = (path: string): string => path.replace(/^~(?=\/)/, dataPaths.home);
  // Rules belong to the real directory, also if a link to it is used.
  const project = await realpath(cwd).catch(() => cwd);
  const outputs = join(dataPaths.cacheDirectory, 'outputs', podId);
  const scope = (paths: readonly string[]): Promise<Scope> =>
    createScope(cwd, outputs, [
      ...options.config.permissions.allowPaths,
      ...(options.allowPaths ?? []),
      ...paths,
    ]);
  await mkdir(outputs, { recursive: true, mode: 0o700 });
  const { sandbox: sandboxConfig } = config;
  const defaultScope: SandboxScope = {
    writable: (await scope([])).write,
    mode: options.mode ?? permissions.mode ?? 'workspace-write',
  };
  const sandboxes =
    options.sandbox === true || sandboxConfig.enabled === true
      ? await openSandboxes(
          {
            env: toolEnv,
            home: dataPaths.home,
            hidden: [...protectedPaths, ...(sandboxConfig.hide ?? []).map(fromHome)],
            readable: [...(sandboxConfig.read ?? []).map(fromHome), outputs],
            shown: (sandboxConfig.show ?? []).map(fromHome),
            passEnv: permissions.passEnv,
            ...withoutUndefined({ scratchBytes: sandboxConfig.tmpBytes }),
          },
          defaultScope,
        )
      : undefined;
  const servers = new PodMcpServers([...config.mcpServers, ...(options.mcpServers ?? [])], {
    env,
    secretEnv,
    cwd,
    clientVersion: version,
    ...withoutUndefined({ fetch: fetchFrom(env) }),
    ask: client,
    onChange: (status) => {
      options.onServerChange?.(podId, status);
      const { name, state, error = 'no reason is known' } = status;
      if (state === 'failed') client()?.warn?.(`The MCP server "${name}" is unavailable: ${error}`);
    },
  });
  /** An editor reports invalid servers to its user; the session works without them. */
  const serverTools = async () => {
    const { mcpConfig, mcpContext, editorServers } = settings();
    const others = withoutUndefined({ mcpConfig, mcpContext });
    try {
      return await servers.tools({
        ...others,
        ...withoutUndefined({ editorServers, editorValues: editorServerValues?.() }),
      });
    } catch (thrown) {
      const warn = client()?.warn;
      const { code, message } = asPolypodError(thrown);
      if (warn === undefined || code !== 'bad-request') throw thrown;
      warn(`The MCP servers of the editor are not used: ${message}`);
      return servers.tools(editorServers === undefined ? {} : others);
    }
  };
  const ledger = commandLedger(dataPaths);
  const isolation =
    permissions.isolateCommands === false
      ? undefined
      : pidNamespace({
          env: toolEnv,
          hidden: () =>
            options.config.daemon.allowAgentPeers === true ? [] : socketPaths({ env, dataPaths }),
        });
  const web = options.offline === true ? () => [] : webTools(env, () => options.config);
  const ownTools = [...builtinTools, todoTool(todos)];
  const userDirectory = dirname(dataPaths.configFile);
  const skills = async () => (settings().contextFiles === false ? [] : await readSkills(cwd, userDirectory));
  const slots = new SubagentSlots();
  const chosenModel = async (reference: string) => {
    const { model } = await options.models.choose(reference);
    return { provider: model.account, modelId: model.id };
  };
  const subagents = async () => {
    if (children === undefined) return [];
    const isBuiltInOnly = settings().contextFiles === false;
    const types = isBuiltInOnly ? BUILT_IN_TYPES : await readAgentFiles(cwd, userDirectory, BUILT_IN_TYPES);
    return [subagentTool({ types, children, settings, model: chosenModel, slots })];
  };
  const { backend: backendName } = settings();
  if (backendName === undefined) await options.models.choose();
  const agent: Agent = {
    get defaultModel() {
      const { account, id } = options.models.best;
      return { provider: account, modelId: id };
    },
    model: async (choice) => {
      if (isCommandModel(choice)) return commandModel();
      return options.models.choose(modelReference({ account: choice.provider, id: choice.modelId }));
    },
    tools: async () => {
      await mkdir(outputs, { recursive: true, mode: 0o700 });
      const readable = await skills();
      const skill = readable.length === 0 ? [] : [skillTool(readable)];
      return [...ownTools, ...web(), ...skill, ...(await subagents()), ...(await serverTools())];
    },
    system: async () =>
      systemPrompt({
        cwd,
        platform: process.platform,
        today: new Date().toISOString().slice(0, 10),
        instructions: settings().contextFiles === false ? [] : await readInstructions(cwd, userDirectory),
        skills: await skills(),
        addition: options.system,
      }),
    get mode() {
      return options.mode ?? options.config.permissions.mode ?? 'workspace-write';
    },
    get rules() {
      return options.config.permissions.rules;
    },
    rulesOf: (person) => savedRules.rulesFor(person, project),
    sandboxed: sandboxes !== undefined,
    protectedPaths,
    fileFacts: fileFactsFor(toolEnv),
    scope,
    toolContext: (callId, policy) => ({
      env: toolEnv,
      scratch: outputs,
      sandbox: sandboxes?.around(
        policy === undefined ? defaultScope : { writable: policy.scope.write, mode: policy.mode },
      ),
      isolation,
      limiter: createCommandLimiter(options.config, toolEnv),
      background: { commands: background, limits: backgroundLimits(options.config) },
      record: (entry) => ledger.open({ podId, callId }, entry),
    }),
    interruptionNote: (callId) => orphanNote(ledger, podId, callId),
    remember: async (rule, person) => {
      const { id } = await savedRules.save(rule, person, project);
      options.audit?.({
        event: 'rule.created',
        door: 'process',
        by: person === 'local' ? userName(env) : person.owner,
        session: podId,
        target: id,
        details: { rule, directory: project },
      });
    },
    title: titleWriter({
      settings: () => options.config.titles,
      models: () => options.models,
      onFailure: (message) => options.onTitleFailure?.(podId, message),
    }),
    close: () => servers.close(),
  };
  if (backendName === undefined) return agent;
  const { openBackend, withBackend } = await import('./backend.ts');
  const backend = await openBackend({
    name: backendName,
    podId,
    cwd,
    env,
    config: options.config,
    dataPaths,
    record: (entry) => ledger.open({ podId, callId: 'agent' }, entry),
    mcpServers: () => servers.specs({ ...settings(), editorValues: editorServerValues?.() }),
  });
  return withBackend(agent, backend, () => settings().permissionTool);
}

/** The scope also allows reading the directory with the complete outputs of commands whose output was truncated. */
async function createScope(cwd: string, outputs: string, paths: readonly string[]): Promise<Scope> {
  const [scope, savedRules] = await Promise.all([
    scopeFrom(cwd, paths, fileFacts.realPath),
    scopeFrom(outputs, [], fileFacts.realPath),
  ]);
  return { read: [...scope.write, ...savedRules.write], write: scope.write };
}
