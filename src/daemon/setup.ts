import { isSecretName, type Redact, redactor } from '../base/index.ts';
import type { Environment } from '../llm/index.ts';
import { type Config, readConfig } from '../setup/config/index.ts';
import { ModelAccess } from '../setup/models/index.ts';
import type { DataPaths } from '../setup/paths/index.ts';

export interface SetupOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  /** Only the simulated model. */
  readonly offline?: boolean;
}

/** What became of a reload, by the keys of the configuration file. */
export interface Reloaded {
  /** Changed, and in force for every run from now on. */
  readonly inForce: readonly string[];
  /** Changed, and in force for pods that come into memory from now on. */
  readonly forNewPods: readonly string[];
  /** Changed, and not in force before the daemon starts again. */
  readonly afterRestart: readonly string[];
  readonly warnings: readonly string[];
}

/** What the user configured and the models that are reached by it: all that can be replaced while pods run. */
export class Setup {
  readonly #options: SetupOptions;
  /** Kept until the end: runs may be talking through them. */
  readonly #retired: ModelAccess[] = [];
  #config: Config;
  #models: ModelAccess;
  #redact: Redact;

  static async load(
    options: SetupOptions,
  ): Promise<{ readonly setup: Setup; readonly warnings: readonly string[] }> {
    const { config, warnings } = await readConfig(options.dataPaths);
    return { setup: new Setup(options, config), warnings };
  }

  private constructor(options: SetupOptions, config: Config) {
    this.#options = options;
    this.#config = config;
    this.#models = new ModelAccess({ ...options, config });
    this.#redact = redactorFor(options.env, config);
  }

  get config(): Config {
    return this.#config;
  }

  get models(): ModelAccess {
    return this.#models;
  }

  get redact(): Redact {
    return this.#redact;
  }

  /** Reads the file again. With a mistake in it, everything stays as it was, and the mistake is thrown. */
  async reload(): Promise<Reloaded> {
    const { config, warnings } = await readConfig(this.#options.dataPaths);
    const models = new ModelAccess({ ...this.#options, config });
    await models.choose();
    this.#retired.push(this.#models);
    const before = this.#config;
    [this.#config, this.#models] = [config, models];
    this.#redact = redactorFor(this.#options.env, config);
    return { ...changes(before, config), warnings };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#retired, this.#models].map((models) => models.close()));
  }
}

function changes(before: Config, after: Config): Omit<Reloaded, 'warnings'> {
  const differ = (part: (config: Config) => unknown) =>
    JSON.stringify(part(before)) !== JSON.stringify(part(after));
  const named = (parts: Readonly<Record<string, (config: Config) => unknown>>) =>
    Object.entries(parts).flatMap(([name, part]) => (differ(part) ? [name] : []));
  return {
    inForce: named({
      model: ({ model }) => model,
      accounts: ({ accounts }) => accounts,
      permissions: ({ permissions: { passEnv: _, isolateCommands: _isolated, ...rest } }) => rest,
      'limits.commands': ({ daemon }) => daemon.commandLimits,
      sockets: ({ daemon }) => daemon.allowAgentPeers,
      log: ({ log }) => log,
      shutdown_grace: ({ daemon }) => daemon.shutdownGraceMs,
    }),
    forNewPods: named({
      sandbox: ({ sandbox }) => sandbox,
      mcp_servers: ({ mcpServers }) => mcpServers,
      'permissions.pass_env': ({ permissions }) => permissions.passEnv,
      'permissions.isolate_commands': ({ permissions }) => permissions.isolateCommands,
    }),
    afterRestart: named({
      doors: ({ daemon }) => daemon.doors,
      tasks: ({ daemon }) => daemon.tasks,
      limits: ({ daemon }) => daemon.limits,
      hibernate_after: ({ daemon }) => daemon.hibernateAfterMs,
      durability: ({ daemon }) => daemon.durability,
      approvals: ({ daemon }) => daemon.approvals,
      audit: ({ daemon }) => daemon.audit,
    }),
  };
}

/** Every secret that is known by value: what variables hold that are named like one, and what the configuration says. */
function redactorFor(env: Environment, { accounts }: Config): Redact {
  const named = Object.entries(env).flatMap(([name, value]) => (isSecretName(name) && value ? [value] : []));
  const stated = accounts.flatMap(({ key, headers = {} }) => [
    ...(key === undefined
      ? []
      : 'env' in key
        ? [env[key.env] ?? '']
        : 'text' in key
          ? [key.text.trim()]
          : []),
    ...Object.values(headers),
  ]);
  return redactor([...named, ...stated]);
}
