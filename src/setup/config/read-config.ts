import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { AuditLimits } from '../../audit/index.ts';
import { isObject, messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { type ConfiguredAccount, httpUrl, type KeySource } from '../../llm/index.ts';
import type { Rule } from '../../tools/index.ts';
import type { DaemonSettings, LoadedConfig, Permissions, SandboxSettings } from './config.ts';
import type { StatedAccount, StatedConfig } from './config-shape.ts';
import { DEFAULT_CONFIG } from './default-config.ts';
import type { DataPaths } from '../paths/data-paths.ts';
import { refuseUnsafeFile } from '../paths/refuse-unsafe-file.ts';

/** Reads the configuration file; without one everything has its default. Throws when there is a mistake in it. */
export async function readConfig({
  configFile,
  home,
}: Pick<DataPaths, 'configFile' | 'home'>): Promise<LoadedConfig> {
  const content = await contentOf(configFile);
  if (content === undefined) return { config: DEFAULT_CONFIG, warnings: [] };
  const file = await parsed(content, configFile);
  const { model, accounts = new Map<string, StatedAccount>() } = file;
  const stated = [...accounts];
  const exposed = stated.some(([, account]) => holdsSecret(account)) && (await othersMayRead(configFile));
  return {
    config: {
      ...(model === undefined ? {} : { model }),
      permissions: permissionsOf(file.permissions),
      sandbox: sandboxOf(file.sandbox),
      mcpServers: file.mcp_servers ?? [],
      streamRules: file.stream_rules ?? [],
      daemon: daemonOf(file),
      log: file.log ?? {},
      accounts: await Promise.all(
        stated.map(([name, account]) => accountOf(name, account, { file: configFile, home })),
      ),
    },
    warnings: exposed
      ? [`${configFile} holds a key and others on this machine may read it: chmod 600 ${configFile}`]
      : [],
  };
}

function daemonOf(file: StatedConfig): DaemonSettings {
  const {
    doors,
    tasks,
    limits: { commands, ...limits } = {},
    hibernate_after,
    durability,
    approvals,
    shutdown_grace,
  } = file;
  return {
    doors: doors ?? {},
    ...(tasks === undefined ? {} : { tasks }),
    limits,
    ...(commands === undefined ? {} : { commandLimits: commands }),
    ...(hibernate_after === undefined ? {} : { hibernateAfterMs: hibernate_after }),
    ...(durability === undefined ? {} : { durability }),
    approvals: {
      fallback: approvals?.fallback ?? 'deny',
      ...(approvals?.deadline === undefined ? {} : { deadlineMs: approvals.deadline }),
    },
    ...(file.sockets?.allow_agent_processes === undefined
      ? {}
      : { allowAgentPeers: file.sockets.allow_agent_processes }),
    shutdownGraceMs: shutdown_grace ?? DEFAULT_CONFIG.daemon.shutdownGraceMs,
    ...(file.audit && { audit: auditOf(file.audit) }),
  };
}

function auditOf({
  file_mb: megabytes,
  file_days: days,
  keep_files: keptFiles,
}: NonNullable<StatedConfig['audit']>): Partial<AuditLimits> {
  return {
    ...(megabytes !== undefined && { fileBytes: megabytes * 1024 * 1024 }),
    ...(days !== undefined && { fileAgeMs: days * 24 * 3_600_000 }),
    ...(keptFiles !== undefined && { keptFiles }),
  };
}

function permissionsOf(stated: StatedConfig['permissions']): Permissions {
  const { mode, rules = [], allow_paths = [], pass_env = [], isolate_commands } = stated ?? {};
  return {
    ...(mode === undefined ? {} : { mode }),
    rules: rules.map(ruleOf),
    allowPaths: allow_paths,
    passEnv: pass_env,
    ...(isolate_commands === undefined ? {} : { isolateCommands: isolate_commands === 'auto' }),
  };
}

function sandboxOf(stated: StatedConfig['sandbox']): SandboxSettings {
  const { enabled, read, hide, show, tmp_mb } = stated ?? {};
  return {
    ...(enabled === undefined ? {} : { enabled }),
    ...(read === undefined ? {} : { read }),
    ...(hide === undefined ? {} : { hide }),
    ...(show === undefined ? {} : { show }),
    ...(tmp_mb === undefined ? {} : { tmpBytes: tmp_mb * 1024 ** 2 }),
  };
}

function ruleOf({ action, tool, command, exact, path }: Partial<Rule> & Pick<Rule, 'action'>): Rule {
  return {
    action,
    ...(tool === undefined ? {} : { tool }),
    ...(command === undefined ? {} : { command }),
    ...(exact === undefined ? {} : { exact }),
    ...(path === undefined ? {} : { path }),
  };
}

async function contentOf(file: string): Promise<string | undefined> {
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

async function parsed(content: string, file: string): Promise<StatedConfig> {
  // Most people have no configuration file: they need neither YAML nor the shape of one.
  const [{ parseYaml, readShape }, { CONFIG, CONFIG_VERSION }] = await Promise.all([
    import('./yaml.ts'),
    import('./config-shape.ts'),
  ]);
  const yaml = parseYaml(content, file);
  const version = isObject(yaml.value) ? yaml.value.version : undefined;
  // Nothing else is said about such a file: by the rules of its own version it may be flawless.
  if (typeof version === 'number' && version > CONFIG_VERSION)
    throw new PolypodError(
      'bad-request',
      `${yaml.placeOf({ path: ['version'], at: 'value' })}: version ${version} is newer than this Polypod, ` +
        `which knows ${CONFIG_VERSION}: update Polypod, or point POLYPOD_CONFIG to another file`,
    );
  return readShape(yaml, CONFIG);
}

interface Surroundings {
  readonly file: string;
  readonly home: string;
}

async function accountOf(
  name: string,
  account: StatedAccount,
  surroundings: Surroundings,
): Promise<ConfiguredAccount> {
  const { vendor, wire, headers, omit } = account;
  const baseUrl = account.base_url === undefined ? undefined : httpUrl(account.base_url);
  const key = await keyOf(name, account, surroundings);
  return {
    name,
    ...(vendor === undefined ? {} : { vendor }),
    ...(wire === undefined ? {} : { wire }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(key === undefined ? {} : { key }),
    ...(headers === undefined ? {} : { headers: Object.fromEntries(headers) }),
    ...(omit === undefined ? {} : { omit }),
  };
}

async function keyOf(
  name: string,
  { key_env, key_file, key }: StatedAccount,
  { file, home }: Surroundings,
): Promise<KeySource | undefined> {
  if (key_env !== undefined) return { env: key_env };
  if (key !== undefined) return { text: key, place: `accounts.${name}.key in ${file}` };
  if (key_file === undefined) return undefined;
  const path = resolve(dirname(file), key_file.replace(/^~(?=\/|$)/, home));
  try {
    return { text: await readFile(path, 'utf8'), place: path };
  } catch (thrown) {
    // Told when the account is used: a key that is not on this machine is no reason to refuse everything else.
    return { unavailable: `the file of accounts.${name}.key_file cannot be read: ${messageOf(thrown)}` };
  }
}

function holdsSecret({ key, headers }: StatedAccount): boolean {
  const secretHeader = /authorization|key|token|secret|cookie/i;
  return key !== undefined || [...(headers?.keys() ?? [])].some((name) => secretHeader.test(name));
}

async function othersMayRead(file: string): Promise<boolean> {
  return ((await stat(file)).mode & 0o077) !== 0;
}
