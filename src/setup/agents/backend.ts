import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PolypodError, safeEnv } from '../../base/index.ts';
import type { AgentBackend, AgentLaunch, AgentProgram } from '../../backends/index.ts';
import type { Environment, Model } from '../../llm/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import type { Agent, ReadyModel } from '../../pod/index.ts';
import { backendProgram, providerNamed } from '../../registry.ts';
import type { Tool, ToolContext } from '../../tools/index.ts';
import type { BackendSettings, Config } from '../config/config.ts';
import { keyVariables } from '../config/key-variables.ts';
import type { DataPaths } from '../paths/data-paths.ts';

/** The program of a back end, with what the configuration says about it. Throws if there is none of this name. */
export function configuredBackend(
  name: string,
  config: Config,
): { readonly program: AgentProgram; readonly settings: BackendSettings } {
  const settings = config.backends.get(name) ?? {};
  const program = backendProgram(name, settings.command);
  if (program !== undefined) return { program, settings };
  throw new PolypodError(
    'not-found',
    `there is no back end "${name}": polypod backends lists those that are available; others are configured under backends in config.yaml`,
  );
}

export interface LaunchParts {
  readonly env: Environment;
  readonly config: Config;
  readonly dataPaths: DataPaths;
  /** A name for its private directory: the id of the session. */
  readonly directoryName: string;
  readonly record: NonNullable<ToolContext['record']>;
}

/** How an agent is started: its command, and an environment with its own keys and no others. */
export async function launchFor(
  { program, settings }: ReturnType<typeof configuredBackend>,
  { env, config, dataPaths, directoryName, record }: LaunchParts,
): Promise<AgentLaunch> {
  const directory = join(dataPaths.cacheDirectory, 'backends', directoryName);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const isNeeded = (name: string): boolean =>
    program.env.some((pattern) =>
      pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
    );
  const pass = [
    ...config.permissions.passEnv,
    ...(settings.passEnv ?? []),
    ...Object.keys(env).filter(isNeeded),
  ];
  return {
    command: settings.command ?? program.command,
    env: { ...safeEnv(env, { secret: keyVariables(config), pass }), ...settings.env },
    trustProject: settings.trustProject === true,
    directory,
    record,
  };
}

export interface BackendParts extends Omit<LaunchParts, 'directoryName'> {
  readonly name: string;
  readonly podId: string;
  readonly cwd: string;
  readonly mcpServers: () => Promise<readonly McpServerSpec[]>;
}

/** The agent that does the work of a pod. Its program starts with the first prompt. */
export async function openBackend(parts: BackendParts): Promise<AgentBackend> {
  const { name, podId, cwd, mcpServers, config } = parts;
  const configured = configuredBackend(name, config);
  const { program, settings } = configured;
  const { AgentSession, ForeignWorker } = await import('../../backends/index.ts');
  const session = new AgentSession({
    program,
    podId,
    cwd,
    mcpServers,
    launch: async () => {
      const launch = await launchFor(configured, { ...parts, directoryName: podId });
      if (settings.probe !== false) await requireAsking(program, launch);
      return launch;
    },
  });
  return {
    name,
    title: program.title,
    capabilities: program.capabilities,
    create: (options) => new ForeignWorker(session, options),
    close: () => session.end(),
  };
}

/** Programs that have passed the probe in this process, by command line. */
const asking = new Map<string, Promise<void>>();

/** Refuses an agent that runs calls without approval: released versions of such agents have done it. */
function requireAsking(program: AgentProgram, launch: AgentLaunch): Promise<void> {
  const key = launch.command.join('\0');
  const known = asking.get(key) ?? probe(program, launch);
  asking.set(key, known);
  // Only a passed probe is remembered.
  known.catch(() => asking.delete(key));
  return known;
}

async function probe({ title, probe: run }: AgentProgram, launch: AgentLaunch): Promise<void> {
  if (run === undefined) return;
  const result = await run({ ...launch, signal: AbortSignal.timeout(PROBE_MS) });
  if (result.status === 'asks') return;
  throw new PolypodError(
    'denied',
    result.status === 'runs-unasked'
      ? `${title} is not used because it ran a call without approval: ${result.detail}. Install another version of it`
      : `${title} is not used because it could not be checked whether it asks for approval: ${result.detail}`,
  );
}

const PROBE_MS = 60_000;

/**
 * An agent whose work is done by another program: it has its own models and tools. Of ours, only the tool that decides about its
 * calls is used.
 */
export function withBackend(
  agent: Agent,
  backend: AgentBackend,
  permissionTool: () => string | undefined,
): Agent {
  const { name, title } = backend;
  const tools = async (): Promise<readonly Tool[]> => {
    const decides = permissionTool();
    return decides === undefined ? [] : (await agent.tools()).filter((tool) => tool.name.startsWith('mcp__'));
  };
  const model = async ({ provider, modelId }: { provider: string; modelId: string }): Promise<ReadyModel> => {
    if (provider === name) return { llm: noLlm(title), model: agentModel(backend, modelId) };
    throw new PolypodError(
      'not-found',
      `${title} has its own models: name one as ${name}/MODEL, or ${name}/default for its own choice`,
    );
  };
  const { defaultModel: _, ...own } = Object.getOwnPropertyDescriptors(agent);
  const changed = Object.defineProperties(
    {},
    {
      ...own,
      backend: { value: backend },
      defaultModel: { value: { provider: name, modelId: 'default' } },
      model: { value: model },
      tools: { value: tools },
      title: { value: undefined },
      close: { value: async () => void (await Promise.all([backend.close(), agent.close()])) },
    },
  );
  // The descriptors are those of an agent, whose properties must not be read here: some of them need a model.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return changed as Agent;
}

function agentModel({ name, title, capabilities }: AgentBackend, id: string): Model {
  return {
    account: name,
    id,
    name: id === 'default' ? title : `${title}: ${id}`,
    reasoning: true,
    input: capabilities.images ? ['text', 'image'] : ['text'],
  };
}

/** The agent sends its own requests. */
function noLlm(title: string): ReadyModel['llm'] {
  const refuse = (): never => {
    throw new PolypodError('internal', `${title} sends its own requests`);
  };
  return {
    provider: providerNamed('anthropic'),
    account: { name: title, api: 'anthropic', baseUrl: '' },
    stream: refuse,
    batches: refuse,
  };
}
