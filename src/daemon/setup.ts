import { isSecretName, messageOf, type Redact, redactor, withoutUndefined } from '../base/index.ts';
import type { Environment, KeySource } from '../llm/index.ts';
import { type Config, keyVariables, type LoadedConfig, readConfig } from '../setup/config/index.ts';
import { ModelAccess } from '../setup/models/index.ts';
import { type DataPaths, fileVersion } from '../setup/paths/index.ts';
import { proxySecrets } from '../wire/index.ts';

export interface SetupOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  /** The default model; takes precedence over the environment and the configuration. */
  readonly reference?: string | undefined;
  /** Use only the simulated model. */
  readonly offline?: boolean;
  /** Reads the configuration, if it is not used as it is in the file. */
  readonly read?: typeof readConfig;
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

/** What a reload does without a file: it applies the defaults, which may allow more, or it keeps the configuration. */
export type WhenMissing = 'defaults' | 'keep';

/** How the loaded configuration relates to its file. */
export interface ConfigurationState {
  readonly file: string;
  /** The file has changed, and nothing has tried to load it since. */
  readonly isChanged: boolean;
  /** Why the file was not loaded: the configuration is older than the file. */
  readonly problem?: string;
  /** Configuration keys that have changed since the start and need a restart. */
  readonly needsRestart: readonly string[];
}

/** The configuration and its models: everything that can be replaced while pods run. */
export class Setup {
  readonly #options: SetupOptions;
  /** Kept open until the end, because active runs may use them. */
  readonly #retired: ModelAccess[] = [];
  readonly #started: Config;
  #config: Config;
  #models: ModelAccess;
  #redact: Redact;
  /** The version of the file that was last loaded or rejected. */
  #seen: string;
  #problem: string | undefined;
  #reloading: Promise<unknown> = Promise.resolve();

  static async load(
    options: SetupOptions,
  ): Promise<{ readonly setup: Setup; readonly warnings: readonly string[] }> {
    const seen = fileVersion(options.dataPaths.configFile);
    const { config, warnings } = await (options.read ?? readConfig)(options.dataPaths);
    return { setup: new Setup(options, config, seen), warnings };
  }

  private constructor(options: SetupOptions, config: Config, seen: string) {
    this.#options = options;
    this.#started = this.#config = config;
    this.#seen = seen;
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

  /** The names of the variables with keys that this process has. */
  get keyNames(): readonly string[] {
    const { env } = this.#options;
    return [...new Set(keyVariables(this.#config))].filter((name) => (env[name] ?? '').trim() !== '');
  }

  /** How the loaded configuration relates to its file now. */
  get state(): ConfigurationState {
    const { configFile: file } = this.#options.dataPaths;
    return {
      file,
      isChanged: fileVersion(file) !== this.#seen,
      ...withoutUndefined({ problem: this.#problem }),
      needsRestart: changes(this.#started, this.#config).afterRestart,
    };
  }

  /** Keeps the loaded configuration although the file is missing. Returns what to do. */
  keepWithoutFile(): string {
    this.#seen = '';
    this.#problem = `${this.#options.dataPaths.configFile} is missing: the configuration stays as it was until the file is restored; polypod reload applies the defaults in a daemon`;
    return this.#problem;
  }

  /**
   * Reloads the file, one reload at a time. If it is invalid, nothing changes and the error is thrown. If it is missing, the
   * defaults apply, or the configuration is kept and only the models are connected again.
   */
  async reload(whenMissing: WhenMissing = 'defaults'): Promise<ReloadResult> {
    const reloading = this.#reloading.then(() => this.#reload(whenMissing));
    this.#reloading = reloading.catch(() => {});
    return reloading;
  }

  async #reload(whenMissing: WhenMissing): Promise<ReloadResult> {
    const { dataPaths, read = readConfig } = this.#options;
    this.#seen = fileVersion(dataPaths.configFile);
    if (whenMissing === 'keep' && this.#seen === '')
      return this.#replace({ config: this.#config, warnings: [] });
    try {
      const reloaded = await this.#replace(await read(dataPaths));
      this.#problem = undefined;
      return reloaded;
    } catch (thrown) {
      this.#problem = messageOf(thrown);
      throw thrown;
    }
  }

  async #replace({ config, warnings }: LoadedConfig): Promise<ReloadResult> {
    const models = new ModelAccess({ ...this.#options, config });
    const unavailable = await this.#unavailableModel(models);
    this.#retired.push(this.#models);
    const before = this.#config;
    [this.#config, this.#models] = [config, models];
    this.#redact = redactorFor(this.#options.env, config);
    return { ...changes(before, config), warnings: [...warnings, ...unavailable] };
  }

  /**
   * Throws if the default model is unavailable with the new configuration. If it was before, this is a warning: it must not
   * prevent the other changes, such as a rule that denies something.
   */
  async #unavailableModel(models: ModelAccess): Promise<readonly string[]> {
    try {
      await models.choose();
      return [];
    } catch (thrown) {
      const wasAvailable = await this.#models.choose().then(
        () => true,
        () => false,
      );
      if (wasAvailable) throw thrown;
      return [`the default model is unavailable: ${messageOf(thrown)}`];
    }
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
      web_search: ({ webSearch }) => webSearch,
      'limits.commands': ({ daemon }) => daemon.commandLimits,
      'limits.background': ({ daemon }) => daemon.backgroundLimits,
      sockets: ({ daemon }) => daemon.allowAgentPeers,
      log: ({ log }) => log,
      titles: ({ titles }) => titles.source,
      title_model: ({ titles }) => titles.model,
      shutdown_grace: ({ daemon }) => daemon.shutdownGraceMs,
    }),
    forNewPods: named({
      sandbox: ({ sandbox }) => sandbox,
      mcp_servers: ({ mcpServers }) => mcpServers,
      extensions: ({ extensions }) => extensions,
      stream_rules: ({ streamRules }) => streamRules,
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
function redactorFor(env: Environment, { accounts, webSearch }: Config): Redact {
  const named = Object.entries(env).flatMap(([name, value]) => (isSecretName(name) && value ? [value] : []));
  const stated = accounts.flatMap(({ key, headers = {} }) => [
    ...sourceValue(key, env),
    ...Object.values(headers).flatMap((value) =>
      typeof value === 'string' ? value : sourceValue(value, env),
    ),
  ]);
  return redactor([...named, ...stated, ...sourceValue(webSearch?.key, env), ...proxySecrets(env)]);
}

function sourceValue(source: KeySource | undefined, env: Environment): readonly string[] {
  if (source === undefined) return [];
  if ('env' in source) return [env[source.env] ?? ''];
  return 'text' in source ? [source.text.trim()] : [];
}
