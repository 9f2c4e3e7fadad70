import { existsSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asPolypodError, messageOf, PolypodError, safeEnv, withoutUndefined } from '../../base/index.ts';
import {
  agentsFrom,
  type Config,
  findSession,
  keyVariables,
  makeDataDirectory,
  modelAccess,
  offeredModel,
  offeredModels,
  type DataPaths,
  promptFiles,
  readConfig,
  refuseUnknownProvider,
} from '../../setup/index.ts';
import { openAudit } from '../../daemon/index.ts';
import type { Environment } from '../../llm/index.ts';
import type { OfferedModel, Host, HostOptions, ModelChoice } from '../../pod/index.ts';
import { backendModel, otherBackend, OWN_BACKEND } from '../../pod/sessions.ts';
import {
  type ModelSelection,
  rpcBeginnings,
  type LinkHeader,
  RPC_SOCKET,
  type RpcLimits,
  type RpcParts,
  type RpcSessions,
  serveRpc,
  DEFAULT_RULES,
} from '../../protocols/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../command.ts';
import type { PublishedPods, PublishOptions } from '../hosting/publish-pods.ts';
import { hostDirectories } from './host-directories.ts';
import { rpcExtensions } from './extensions.ts';
import type { PromptTexts } from './system-prompts.ts';
import { readRpcOptions, rpcHelp, type RpcOptions } from './options.ts';
import { version } from '../version.ts';

/**
 * `polypod --mode rpc`: serves one client of the coding-agent protocol on stdin and stdout. The caller must exit the process with
 * the code, because the client may keep stdin open.
 */
export async function rpc(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  let options: RpcOptions;
  try {
    options = readRpcOptions(argv);
  } catch (thrown) {
    const { code, message } = asPolypodError(thrown);
    context.stderr.write(`${message}\n`);
    return code === 'bad-request' ? EXIT.usage : EXIT.failed;
  }
  if (options.isHelpWanted || options.isVersionWanted) {
    context.stdout.write(options.isHelpWanted ? rpcHelp() : `${version()}\n`);
    await flushed(context);
    return EXIT.ok;
  }
  for (const notice of options.notices) context.stderr.write(`polypod: ${notice}\n`);
  try {
    if (!(await servedByDaemon(options, context)))
      await serve(options, await composeSetup(options, context), context).catch(async (thrown: unknown) => {
        // A daemon that has just started may have opened the session first.
        if (asPolypodError(thrown).code !== 'conflict' || !(await servedByDaemon(options, context)))
          throw thrown;
      });
    await flushed(context);
    return EXIT.ok;
  } catch (thrown) {
    context.stderr.write(`${messageOf(thrown)}\n`);
    return EXIT.failed;
  }
}

/** Relays the client to the daemon until one of them ends. Resolves with false if no daemon can serve it. */
async function servedByDaemon(options: RpcOptions, context: CommandContext): Promise<boolean> {
  const { dataPaths } = hostDirectories(context.env, process.cwd());
  const socket = await daemonSocket(options, dataPaths);
  if (socket === undefined) return false;
  let printed: Promise<void> | undefined;
  const printNotices = (): Promise<void> =>
    (printed ??= import('../hosting/daemon-notices.ts').then(({ printDifferences }) =>
      printDifferences(dataPaths, context),
    ));
  const { relay } = await import('../hosting/relay.ts');
  try {
    // The client does not wait for the notices.
    await relay(socket, await headerOf(options, context), context, () => void printNotices());
  } finally {
    // If the daemon has rejected the client, they may name the reason.
    await Promise.race([printNotices(), sleep(NOTICES_MS)]);
  }
  return true;
}

/** The daemon's rpc socket; undefined for options that need this process or that the daemon must not receive. */
async function daemonSocket(options: RpcOptions, dataPaths: DataPaths): Promise<Socket | undefined> {
  const { isInProcess, isSandboxed, isEphemeral, isOffline, sessionDir, apiKey, extensions } = options;
  if (
    isInProcess ||
    isSandboxed ||
    isEphemeral ||
    isOffline ||
    sessionDir !== undefined ||
    apiKey !== undefined
  )
    return undefined;
  if (extensions.length > 0) return undefined;
  const path = join(dataPaths.runtimeDirectory, RPC_SOCKET);
  // Without a daemon, the code that connects to it is not loaded.
  return existsSync(path) ? (await import('../hosting/relay.ts')).connectUnix(path) : undefined;
}

/** Everything that the daemon needs, without keys: it has its own. */
async function headerOf(options: RpcOptions, { env }: CommandContext): Promise<LinkHeader> {
  const { backend, provider, model, thinking, models, resume, fork, isContinued } = options;
  const { hasContextFiles, hasPrompts, hasMcp, hasRules, isAsking, echoErrors } = options;
  const { toolLimit } = await limitsOf(options);
  const { sessions: sessionDirectory } = hostDirectories(env, process.cwd());
  return {
    cwd: process.cwd(),
    by: userIn(env),
    ...withoutUndefined({ backend, provider, model }),
    ...modelFor(options, env),
    ...withoutUndefined({ thinking }),
    models: [...models],
    ...withoutUndefined({ resume, fork }),
    isContinued,
    ...withoutUndefined({ sessionDirectory }),
    ...(await promptsOf(options)),
    ...withoutUndefined({ toolLimit }),
    hasContextFiles,
    hasPrompts,
    hasMcp,
    hasRules,
    isAsking,
    echoErrors,
  };
}

/** The system prompt options as text. */
async function promptsOf(options: RpcOptions): Promise<PromptTexts> {
  if (options.systemPrompt === undefined && options.appendSystemPrompts.length === 0) return {};
  return (await import('./system-prompts.ts')).readPrompts(options, process.cwd());
}

/** The tools and files that the options exclude, in every session of this client. */
async function limitsOf({ tools, hasContextFiles }: RpcOptions): Promise<RpcLimits> {
  return {
    toolLimit: await toolLimitOf(tools),
    contextFiles: hasContextFiles ? undefined : false,
  };
}

async function toolLimitOf(tools: RpcOptions['tools']): Promise<RpcLimits['toolLimit']> {
  if (tools === 'all') return undefined;
  if (tools === 'none') return { without: ['*'] };
  return tools === 'not-built-in' ? { without: [...(await builtInNames())] } : { only: [...tools.only] };
}

async function builtInNames(): Promise<readonly string[]> {
  const { builtinTools } = await import('../../tools/index.ts');
  return ['todo', 'web_fetch', 'web_search', 'skill', 'subagent', ...builtinTools.map(({ name }) => name)];
}

/** The variable sets the model of new sessions; a resumed session has its own. */
function modelFor(
  options: RpcOptions,
  { POLYPOD_MODEL: model = '' }: Environment,
): { readonly model?: string } {
  const { provider, model: given } = options;
  const isGiven = provider !== undefined || given !== undefined || continuesSession(options);
  return isGiven || model === '' ? {} : { model };
}

/** Whether the options name an existing session. */
function continuesSession({ resume, fork, isContinued }: RpcOptions): boolean {
  return resume !== undefined || fork !== undefined || isContinued;
}

function userIn({ USER: user }: Environment): string {
  return user === undefined || user === '' ? 'rpc' : user;
}

interface Composed {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  readonly config: Config;
  readonly selection: ModelSelection;
}

async function composeSetup(options: RpcOptions, { env, stderr }: CommandContext): Promise<Composed> {
  const { modelSelection } = await rpcBeginnings();
  const { dataPaths } = hostDirectories(env, process.cwd());
  const { config: written } = await readConfig(dataPaths);
  const reachable = options.isOffline ? await onThisMachine(written, stderr) : written;
  if (options.provider !== undefined) await refuseUnknownProvider(options.provider, reachable);
  const selection = modelSelection(options);
  const allowed = permitted(reachable, options);
  const { apiKey, models } = options;
  if (apiKey === undefined && models.length === 0) return { env, dataPaths, config: allowed, selection };
  const { withKey, withScope } = await import('./models.ts');
  const config =
    apiKey === undefined
      ? allowed
      : await withKey(apiKey, { selection, models, env, dataPaths, config: allowed });
  const isNew = !continuesSession(options);
  return {
    env,
    dataPaths,
    config,
    selection: isNew ? await withScope({ selection, models, env, dataPaths, config }) : selection,
  };
}

/** Removes the MCP servers on the network. Models on the network are rejected when they are used. */
async function onThisMachine(config: Config, stderr: CommandContext['stderr']): Promise<Config> {
  const { isLoopbackUrl } = await import('../../wire/index.ts');
  const isInProcess = (server: Config['mcpServers'][number]): boolean =>
    server.transport !== 'http' || isLoopbackUrl(server.url);
  for (const { name } of config.mcpServers.filter((server) => !isInProcess(server)))
    stderr.write(
      `polypod: the MCP server ${name} is not on this machine, and ignored because of --offline\n`,
    );
  return { ...config, mcpServers: config.mcpServers.filter(isInProcess) };
}

/** Applies the options to the permissions. What the user denies stays denied. */
function permitted(config: Config, { isAsking, hasMcp }: RpcOptions): Config {
  const { permissions } = config;
  return {
    ...config,
    mcpServers: hasMcp ? config.mcpServers : [],
    permissions: isAsking ? permissions : { ...permissions, rules: [...permissions.rules, ...DEFAULT_RULES] },
  };
}

async function serve(options: RpcOptions, composed: Composed, context: CommandContext): Promise<void> {
  const { env, dataPaths, config, selection } = composed;
  const { stdin, stdout, stderr, signal } = context;
  if (options.apiKey !== undefined)
    stderr.write('polypod: other users of this machine can see a key on the command line: use a variable\n');
  const cwd = process.cwd();
  const { extensions, extended } = rpcExtensions({
    files: options.extensions.map((file) => resolve(cwd, file)),
    cwd,
    emitsTitle: /^(?:1|true|yes|on)$/i.test((env.PI_RPC_EMIT_TITLE ?? '').trim()),
  });
  const access = await modelAccess({
    env,
    config,
    dataPaths,
    isLocal: options.isOffline,
    reference: selection.reference,
  });
  const backend = options.isOffline ? undefined : otherBackend(options.backend ?? config.backend);
  const ready = backend === undefined ? await access.choose() : undefined;
  const model: ModelChoice =
    ready === undefined
      ? backendModel(backend ?? OWN_BACKEND, options.model ?? 'default')
      : { provider: ready.model.account, modelId: ready.model.id };
  for (const notice of ready?.notices ?? []) stderr.write(`polypod: ${notice}\n`);
  if (options.extensions.length > 0) hideKeys(context, config);
  const audit = options.isEphemeral ? undefined : await openAudit(dataPaths, config.daemon.audit);
  const agents = extended(
    agentsFrom({
      env,
      config,
      dataPaths,
      models: access,
      version: version(),
      sandbox: options.isSandboxed,
      offline: options.isOffline,
      onExtensionError: (_, path, event, error) =>
        void stderr.write(`polypod: the extension ${path} failed (${event}): ${error}\n`),
      audit: audit?.record,
    }),
  );
  const { approvals } = config.daemon;
  const host = await openHost(options, {
    dataPaths,
    agents,
    approvals,
    ...(audit && { audit: audit.record }),
  });
  const limits = await limitsOf(options);
  const sessions = await sessionsFor(options, cwd, {
    limits,
    thinking: selection.thinking,
    backend,
    model,
    isModelGiven: selection.reference !== undefined,
    hostedModel: hostDirectories(env, cwd).sessions,
  });
  const { modelScope, scopeNotices, firstPod } = await rpcBeginnings();
  const models = (): Promise<readonly OfferedModel[]> => offeredModels({ env, config, dataPaths, access });
  if (options.models.length > 0)
    for (const notice of scopeNotices(modelScope(await models(), options.models)))
      stderr.write(`polypod: ${notice}\n`);
  let published: Promise<PublishedPods | undefined> = Promise.resolve(undefined);
  let later: NodeJS.Timeout | undefined;
  const parts: RpcParts = {
    host,
    sessions,
    first: async () => {
      const pod = await firstPod(host, sessions, options, async (word) =>
        findSession(await host.sessions.list(), word),
      );
      // After the first commands of the client, which need not wait for it.
      if (!options.isEphemeral)
        later = setTimeout(() => {
          published = publish({
            host,
            dataPaths,
            setup: { config, models: access },
            audit: audit?.record,
          });
        }, PUBLISH_AFTER_MS);
      return pod;
    },
    models,
    modelNamed: async (reference) => offeredModel(await access.choose(reference)),
    scope: options.models,
    toolNames: builtInNames,
    limits,
    extensions,
    prompts: options.hasPrompts ? promptFiles(cwd, dataPaths) : undefined,
    rules: options.hasRules
      ? config.streamRules.map((rule) => ({ ...rule, path: dataPaths.configFile }))
      : [],
    version: version(),
    by: userIn(env),
    echoErrors: options.echoErrors,
    clearTodosAfterMs: 60_000,
    now: Date.now,
  };
  try {
    await serveRpc({ input: stdin, output: stdout }, parts, signal);
  } finally {
    clearTimeout(later);
    // Active runs are cancelled and stored, without waiting for a tool that does not end.
    const closed = published
      .then((pods) => pods?.close())
      .then(() => host.shutdown())
      .then(() => audit?.close())
      .then(() => access.close());
    await Promise.race([closed, sleep(SHUTDOWN_MS)]);
  }
}

/** Lets other clients attach to the pods of this process. */
async function publish(options: PublishOptions): Promise<PublishedPods> {
  return (await import('../hosting/publish-pods.ts')).publishPods(options);
}

const PUBLISH_AFTER_MS = 250;
const NOTICES_MS = 1_000;
const SHUTDOWN_MS = 700;

/** Removes provider keys from the environment of extensions, although they are the user's own code. */
function hideKeys({ env, exposeVariables }: CommandContext, config: Config): void {
  exposeVariables(safeEnv(env, { secret: keyVariables(config), pass: config.permissions.passEnv }));
}

async function openHost(
  { isEphemeral }: RpcOptions,
  {
    dataPaths,
    ...callbacks
  }: Pick<HostOptions, 'agents' | 'approvals' | 'audit'> & { readonly dataPaths: DataPaths },
): Promise<Host> {
  const [{ Host: Pods }, { memoryFiles }] = await Promise.all([
    import('../../pod/index.ts'),
    import('../../store/index.ts'),
  ]);
  if (!isEphemeral) await makeDataDirectory(dataPaths);
  const memory = { files: memoryFiles(), durability: 'none' } as const;
  return Pods.open({ directory: dataPaths.dataDirectory, ...callbacks, ...(isEphemeral ? memory : {}) });
}

interface SessionSettings {
  readonly limits: RpcLimits;
  /** The agent that does the work; undefined for our own worker. */
  readonly backend: string | undefined;
  readonly model: ModelChoice;
  /** Whether an option names the model. */
  readonly isModelGiven: boolean;
  readonly thinking: ModelSelection['thinking'] | undefined;
  /** The directory in which the host program looks for session files. */
  readonly hostedModel: string | undefined;
}

/** A missing directory is created with the first session. */
function refuseNoDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new PolypodError('bad-request', `--session-dir needs a directory, and ${path} is not one`);
}

async function sessionsFor(
  options: RpcOptions,
  cwd: string,
  { limits, backend, model, isModelGiven, thinking, hostedModel }: SessionSettings,
): Promise<RpcSessions> {
  const { sessionDir, isEphemeral } = options;
  const { newSettings, settingsFor } = await rpcBeginnings();
  const directory = sessionDir === undefined ? hostedModel : resolve(cwd, sessionDir);
  if (sessionDir !== undefined && directory !== undefined) refuseNoDirectory(directory);
  const flags = settingsFor({
    ...limits,
    thinking,
    ...(await promptsOf(options)),
    model: isModelGiven ? model : undefined,
  });
  return {
    cwd,
    inMemory: isEphemeral,
    flags,
    settings: newSettings(flags, model, backend),
    ...(isEphemeral ? {} : { directory }),
  };
}

/** Waits until all output is written, unless nothing reads it. */
async function flushed({ stdout }: CommandContext): Promise<void> {
  const written = new Promise<void>((done) => stdout.write('', () => done()));
  await Promise.race([written, sleep(FLUSH_MS)]);
}

const FLUSH_MS = 300;
