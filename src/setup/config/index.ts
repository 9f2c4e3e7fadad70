/** What the user configured: the file, its shape, and the defaults. */
export type { Config, DaemonSettings, LoadedConfig } from './config.ts';
export { DEFAULT_CONFIG } from './default-config.ts';
export { keyVariables } from './key-variables.ts';
export { readConfig } from './read-config.ts';
export { AGENT_NAME, type RawTasks, TASKS } from './tasks-shape.ts';
export { parseYaml, readShape } from './yaml.ts';
