import type { OpenAgent } from '../../pod/index.ts';
import type { Environment } from '../../llm/index.ts';
import { readConfig } from '../config/read-config.ts';
import { ModelAccess } from '../models/model-access.ts';
import { dataPathsFrom } from '../paths/data-paths.ts';

export interface ConfiguredAgentsOptions {
  readonly env: Environment;
  /** `provider/id`; the best available model by default. */
  readonly model?: string;
  /** Use only the built-in simulated model. */
  readonly offline?: boolean;
}

/** Agents for a program that embeds Polypod, according to the user's configuration file and environment. */
export async function configuredAgents({ env, model, offline = false }: ConfiguredAgentsOptions): Promise<{
  readonly agents: OpenAgent;
  /** Releases the resources that the agents share. */
  readonly close: () => Promise<void>;
}> {
  const dataPaths = dataPathsFrom(env);
  const { config } = await readConfig(dataPaths);
  const models = new ModelAccess({ env, config, dataPaths, offline, reference: model });
  // Tools and servers are loaded with the first agent, not with the program.
  const agents: OpenAgent = async (context) =>
    (await import('./agents.ts')).agentsFrom({ env, config, dataPaths, models, version: 'embedded' })(
      context,
    );
  return { agents, close: () => models.close() };
}
