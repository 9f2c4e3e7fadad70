import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { messageOf, PolypodError } from '../../base/index.ts';
import { refuseUnsafeFile } from '../../setup/paths/index.ts';
import { parseYaml, readShape, type RawTasks, TASKS } from '../../setup/config/index.ts';
import type { TasksAgentRequest } from './tasks-listener.ts';

export interface AgentOrder {
  /** The path of an agent-config.yaml. */
  readonly config?: string | undefined;
  /** The default working directory; an absolute path. */
  readonly cwd: string;
  /** Takes precedence over the file. */
  readonly stated: RawTasks;
}

/** Reads the configuration of an agent from its own file or config.yaml. Throws all errors with their locations. */
export async function readAgentConfig(
  { config, cwd, stated }: AgentOrder,
  configured: TasksAgentRequest,
): Promise<TasksAgentRequest> {
  if (config === undefined) return { ...configured, stated: { ...configured.stated, ...stated }, cwd };
  const file = resolve(cwd, config);
  refuseUnsafeFile("the agent's configuration", file);
  const content = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('bad-request', `cannot read the agent's configuration: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  return { stated: { ...readShape(parseYaml(content, file), TASKS), ...stated }, from: dirname(file), cwd };
}
