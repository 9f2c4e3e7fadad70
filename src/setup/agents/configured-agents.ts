import type { Agent, OpenAgent } from '../../pod/index.ts';
import type { Environment } from '../../llm/index.ts';
import type { Tool } from '../../tools/index.ts';
import { readConfig } from '../config/read-config.ts';
import { ModelAccess } from '../models/model-access.ts';
import { dataPathsFrom } from '../paths/data-paths.ts';

export interface ConfiguredAgentsOptions {
  readonly env: Environment;
  /** `provider/id`; the best available model by default. */
  readonly model?: string;
  /** Use only the built-in simulated model. */
  readonly offline?: boolean;
  /** Tools in addition to the built-in ones. A tool with the name of a built-in one replaces it. */
  readonly tools?: readonly Tool[];
}

/** Agents for a program that embeds Polypod, according to the user's configuration file and environment. */
export async function configuredAgents({
  env,
  model,
  offline = false,
  tools = [],
}: ConfiguredAgentsOptions): Promise<{
  readonly agents: OpenAgent;
  /** Releases the resources that the agents share. */
  readonly close: () => Promise<void>;
}> {
  const dataPaths = dataPathsFrom(env);
  const { config } = await readConfig(dataPaths);
  const models = new ModelAccess({ env, config, dataPaths, offline, reference: model });
  // Tools and servers are loaded with the first agent, not with the program.
  const agents: OpenAgent = async (context) => {
    const { agentsFrom } = await import('./agents.ts');
    const agent = await agentsFrom({ env, config, dataPaths, models, version: 'embedded' })(context);
    return withTools(agent, tools);
  };
  return { agents, close: () => models.close() };
}

/** The agent with more tools. Its other properties are read when they are used, because some change. */
function withTools(agent: Agent, tools: readonly Tool[]): Agent {
  if (tools.length === 0) return agent;
  const names = new Set(tools.map(({ name }) => name));
  const all = async (): Promise<readonly Tool[]> => [
    ...(await agent.tools()).filter(({ name }) => !names.has(name)),
    ...tools,
  ];
  return Object.defineProperties(
    { ...agent },
    { ...Object.getOwnPropertyDescriptors(agent), tools: { value: all } },
  );
}
