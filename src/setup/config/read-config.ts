import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { AuditLimits } from '../../audit/index.ts';
import { isObject, messageOf, PolypodError, systemCodeOf, withoutUndefined } from '../../base/index.ts';
import { type ConfiguredAccount, httpUrl, type KeySource, type ValueSource } from '../../llm/index.ts';
import type { Rule } from '../../tools/index.ts';
import type {
  BackendSettings,
  DaemonSettings,
  LoadedConfig,
  Permissions,
  SandboxSettings,
  WebSearchSettings,
} from './config.ts';
import type { RawAccount, RawBackend, RawConfig } from './config-shape.ts';
import { DEFAULT_CONFIG } from './default-config.ts';
import type { DataPaths } from '../paths/data-paths.ts';
import { refuseUnsafeFile } from '../paths/refuse-unsafe-file.ts';

/** Reads the configuration file, or returns the defaults if it is missing. Throws if it is invalid. */
export async function readConfig({
  configFile,
  home,
}: Pick<DataPaths, 'configFile' | 'home'>): Promise<LoadedConfig> {
  const content = await readContent(configFile);
  if (content === undefined) return { config: DEFAULT_CONFIG, warnings: [] };
  const file = await parseConfig(content, configFile);
  const { model, accounts = new Map<string, RawAccount>() } = file;
  const rawAccounts = [...accounts];
  const isExposed =
    rawAccounts.some(([, account]) => containsSecret(account)) && (await isReadableByOthers(configFile));
  return {
    config: {
      ...withoutUndefined({ model, backend: file.backend }),
      backends: new Map([...(file.backends ?? [])].map(([name, raw]) => [name, backendSettings(raw)])),
      permissions: toPermissions(file.permissions),
      sandbox: sandboxSettings(file.sandbox),
      ...(file.web_search && {
        webSearch: await webSearchSettings(file.web_search, { file: configFile, home }),
      }),
      mcpServers: file.mcp_servers ?? [],
      extensions: (file.extensions ?? []).map((path) =>
        resolve(dirname(configFile), path.replace(/^~(?=\/)/, home)),
      ),
      streamRules: file.stream_rules ?? [],
      daemon: daemonSettings(file),
      log: file.log ?? {},
      titles: {
        source: file.titles ?? DEFAULT_CONFIG.titles.source,
        ...withoutUndefined({ model: file.title_model }),
      },
      notify: { ...DEFAULT_CONFIG.notify, ...file.notify },
      accounts: await Promise.all(
        rawAccounts.map(([name, account]) => toAccount(name, account, { file: configFile, home })),
      ),
    },
    warnings: isExposed
      ? [`${configFile} holds a key and others on this machine may read it: chmod 600 ${configFile}`]
      : [],
  };
}

function backendSettings({
  command,
  env,
  pass_env: passEnv,
  trust_project: trustProject,
  probe,
}: RawBackend): BackendSettings {
  const [program, ...args] = command ?? [];
  return {
    ...(program !== undefined && { command: [program, ...args] }),
    ...(env && { env: Object.fromEntries(env) }),
    ...withoutUndefined({ passEnv, trustProject, probe }),
  };
}

function daemonSettings(file: RawConfig): DaemonSettings {
  const {
    doors,
    tasks,
    limits: { commands, background, ...limits } = {},
    hibernate_after,
    durability,
    approvals,
    shutdown_grace,
  } = file;
  return {
    doors: doors ?? {},
    ...withoutUndefined({ tasks }),
    limits,
    ...withoutUndefined({
      commandLimits: commands,
      backgroundLimits: background,
      hibernateAfterMs: hibernate_after,
      durability,
    }),
    approvals: {
      fallback: approvals?.fallback ?? 'deny',
      ...(approvals?.deadline === undefined ? {} : { deadlineMs: approvals.deadline }),
    },
    ...(file.sockets?.allow_agent_processes === undefined
      ? {}
      : { allowAgentPeers: file.sockets.allow_agent_processes }),
    shutdownGraceMs: shutdown_grace ?? DEFAULT_CONFIG.daemon.shutdownGraceMs,
    ...(file.audit && { audit: auditLimits(file.audit) }),
  };
}

function auditLimits({
  file_mb: megabytes,
  file_days: days,
  keep_files: keptFiles,
}: NonNullable<RawConfig['audit']>): Partial<AuditLimits> {
  return {
    ...(megabytes !== undefined && { fileBytes: megabytes * 1024 * 1024 }),
    ...(days !== undefined && { fileAgeMs: days * 24 * 3_600_000 }),
    ...withoutUndefined({ keptFiles }),
  };
}

function toPermissions(rawAccounts: RawConfig['permissions']): Permissions {
  const {
    mode,
    rules = [],
    allow_paths = [],
    private_hosts = [],
    pass_env = [],
    isolate_commands,
  } = rawAccounts ?? {};
  return {
    ...withoutUndefined({ mode }),
    rules: rules.map(toRule),
    allowPaths: allow_paths,
    privateHosts: private_hosts.map((name) => name.toLowerCase()),
    passEnv: pass_env,
    ...(isolate_commands === undefined ? {} : { isolateCommands: isolate_commands === 'auto' }),
  };
}

function sandboxSettings(rawAccounts: RawConfig['sandbox']): SandboxSettings {
  const { enabled, read, hide, show, tmp_mb } = rawAccounts ?? {};
  return {
    ...withoutUndefined({ enabled, read, hide, show }),
    ...(tmp_mb === undefined ? {} : { tmpBytes: tmp_mb * 1024 ** 2 }),
  };
}

async function webSearchSettings(
  { provider, base_url, key_env, key_file }: NonNullable<RawConfig['web_search']>,
  context: AccountContext,
): Promise<WebSearchSettings> {
  const baseUrl = base_url === undefined ? undefined : httpUrl(base_url);
  const inFile =
    key_file === undefined ? undefined : await fileValue(key_file, 'web_search.key_file', context);
  const key = key_env === undefined ? inFile : { env: key_env };
  return { provider, ...withoutUndefined({ baseUrl, key }) };
}

function toRule({ action, tool, command, exact, path, host }: Partial<Rule> & Pick<Rule, 'action'>): Rule {
  return {
    action,
    ...withoutUndefined({ tool, command, exact, path, host }),
  };
}

async function readContent(file: string): Promise<string | undefined> {
  refuseUnsafeFile('the configuration', file);
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw new PolypodError('bad-request', `cannot read the configuration: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

async function parseConfig(content: string, file: string): Promise<RawConfig> {
  // Loaded only if there is a configuration file, to keep start-up fast.
  const [{ parseYaml, readShape }, { CONFIG, CONFIG_VERSION }] = await Promise.all([
    import('./yaml.ts'),
    import('./config-shape.ts'),
  ]);
  const yaml = parseYaml(content, file);
  const version = isObject(yaml.value) ? yaml.value.version : undefined;
  // No other problems are reported, because the rest may be valid in the newer version.
  if (typeof version === 'number' && version > CONFIG_VERSION)
    throw new PolypodError(
      'bad-request',
      `${yaml.location({ path: ['version'], at: 'value' })}: version ${version} is newer than this Polypod, ` +
        `which supports ${CONFIG_VERSION}: update Polypod, or point POLYPOD_CONFIG to another file`,
    );
  return readShape(yaml, CONFIG);
}

interface AccountContext {
  readonly file: string;
  readonly home: string;
}

async function toAccount(
  name: string,
  account: RawAccount,
  context: AccountContext,
): Promise<ConfiguredAccount> {
  const { vendor, wire: api, headers, query, omit, project, location } = account;
  const { region, profile, role_arn: roleArn } = account;
  const aws = withoutUndefined({ region, profile, roleArn });
  const baseUrl = account.base_url === undefined ? undefined : httpUrl(account.base_url);
  const key = await keySource(name, account, context);
  return {
    name,
    ...withoutUndefined({ vendor, api, baseUrl, key }),
    ...(headers === undefined ? {} : { headers: await headerSources(name, headers, context) }),
    ...(query === undefined ? {} : { query: Object.fromEntries(query) }),
    ...withoutUndefined({ omit, project, location }),
    ...(Object.keys(aws).length > 0 ? { aws } : {}),
  };
}

async function keySource(
  name: string,
  { key_env, key_file, key_command, key_expires_after, key_keyring, key }: RawAccount,
  context: AccountContext,
): Promise<KeySource | undefined> {
  const { file } = context;
  if (key_env !== undefined) return { env: key_env };
  if (key_command !== undefined) {
    const { createKeyCommand } = await import('./key-command.ts');
    const [program = '', ...args] = key_command;
    const command = createKeyCommand({
      command: [program.replace(/^~(?=\/)/, context.home), ...args],
      ...withoutUndefined({ expiresAfterMs: key_expires_after }),
      cwd: dirname(file),
      source: `accounts.${name}.key_command in ${file}`,
    });
    return { command };
  }
  if (key_keyring === true) {
    const [{ createKeyCommand }, { keyringLookup }] = await Promise.all([
      import('./key-command.ts'),
      import('./key-store.ts'),
    ]);
    const command = createKeyCommand({
      command: keyringLookup(name),
      expiresAfterMs: KEYRING_MS,
      cwd: dirname(file),
      source: `accounts.${name}.key_keyring in ${file}`,
    });
    return { command: { ...command, isToken: false } };
  }
  if (key !== undefined) return { text: key, source: `accounts.${name}.key in ${file}` };
  if (key_file === undefined) return undefined;
  return fileValue(key_file, `accounts.${name}.key_file`, context);
}

/** How long a key from the keyring is kept in memory. */
const KEYRING_MS = 3_600_000;

async function headerSources(
  name: string,
  headers: NonNullable<RawAccount['headers']>,
  context: AccountContext,
): Promise<NonNullable<ConfiguredAccount['headers']>> {
  const entries = [...headers].map(async ([header, stated]) => {
    if (typeof stated === 'string') return [header, stated] as const;
    const { env, file } = stated;
    if (env !== undefined) return [header, { env }] as const;
    return [header, await fileValue(file ?? '', `accounts.${name}.headers.${header}`, context)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function fileValue(
  stated: string,
  setting: string,
  { file, home }: AccountContext,
): Promise<ValueSource> {
  const path = resolve(dirname(file), stated.replace(/^~(?=\/|$)/, home));
  try {
    return { text: await readFile(path, 'utf8'), source: path };
  } catch (thrown) {
    // Reported when the account is used: a missing file must not make the other accounts unusable.
    return { unavailable: `the file of ${setting} cannot be read: ${messageOf(thrown)}` };
  }
}

function containsSecret({ key, headers }: RawAccount): boolean {
  const secretHeader = /authorization|key|token|secret|cookie/i;
  const written = [...(headers ?? [])].filter(([, value]) => typeof value === 'string');
  return key !== undefined || written.some(([name]) => secretHeader.test(name));
}

async function isReadableByOthers(file: string): Promise<boolean> {
  return ((await stat(file)).mode & 0o077) !== 0;
}
