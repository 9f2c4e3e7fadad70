import { isSecretName, type Redact, redactor } from '../base/index.ts';
import type { Environment, KeySource } from '../llm/index.ts';
import { type Config, readConfig } from '../setup/config/index.ts';
import { ModelAccess } from '../setup/models/index.ts';
import type { DataPaths } from '../setup/paths/index.ts';
import { proxySecrets } from '../wire/index.ts';

export interface SetupOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  /** Use only the simulated model. */
  readonly offline?: boolean;
}

/** The result of a reload, by configuration key. */
export interface ReloadResult {
  /** Changed, and applied to every new run. */
  readonly applied: readonly string[];
  /** Changed, and applied to pods that are loaded from now on. */
  readonly forNewPods: readonly string[];
  /** Changed, and applied after a restart of the daemon. */
  readonly afterRestart: readonly string[];
  readonly warnings: readonly string[];
}

/** The configuration and its models: everything that can be replaced while pods run. */
export class Setup {
  readonly #options: SetupOptions;
  /** Kept open until the end, because active runs may use them. */
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

  /** Reloads the file. If it is invalid, nothing changes and the error is thrown. */
  async reload(): Promise<ReloadResult> {
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

function changes(before: Config, after: Config): Omit<ReloadResult, 'warnings'> {
  const differ = (part: (config: Config) => unknown) =>
    JSON.stringify(part(before)) !== JSON.stringify(part(after));
  const named = (parts: Readonly<Record<string, (config: Config) => unknown>>) =>
    Object.entries(parts).flatMap(([name, part]) => (differ(part) ? [name] : []));
  return {
    applied: named({
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

/** Redacts every known secret: the values of variables named like secrets, and those in the configuration. */
function redactorFor(env: Environment, { accounts }: Config): Redact {
  const named = Object.entries(env).flatMap(([name, value]) => (isSecretName(name) && value ? [value] : []));
  const stated = accounts.flatMap(({ key, headers = {} }) => [
    ...sourceValue(key, env),
    ...Object.values(headers).flatMap((value) =>
      typeof value === 'string' ? value : sourceValue(value, env),
    ),
  ]);
  return redactor([...named, ...stated, ...proxySecrets(env)]);
}

function sourceValue(source: KeySource | undefined, env: Environment): readonly string[] {
  if (source === undefined) return [];
  if ('env' in source) return [env[source.env] ?? ''];
  return 'text' in source ? [source.text.trim()] : [];
}
