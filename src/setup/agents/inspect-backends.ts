import { messageOf, withoutUndefined } from '../../base/index.ts';
import type { AgentDescription, AgentProgram, ProbeResult } from '../../backends/index.ts';
import type { Environment } from '../../llm/index.ts';
import { backends } from '../../registry.ts';
import type { Config } from '../config/config.ts';
import type { DataPaths } from '../paths/data-paths.ts';
import { configuredBackend, launchFor } from './backend.ts';
import { commandLedger } from './running-commands.ts';

/** What is known about a back end on this machine. */
export interface InspectedBackend {
  readonly name: string;
  readonly title: string;
  readonly command: readonly string[];
  readonly version?: string;
  readonly signedIn: AgentDescription['signedIn'];
  /** Whether the agent asks for approval; absent if that was not checked. */
  readonly probe?: ProbeResult | { readonly status: 'not-supported' };
  readonly trustsProject: boolean;
  /** What is wrong and what to do. */
  readonly problem?: string;
}

export interface InspectOptions {
  readonly env: Environment;
  readonly config: Config;
  readonly dataPaths: DataPaths;
  /** By default all that are known or configured. */
  readonly names?: readonly string[];
  /** Whether to check that the agents ask for approval, which starts them. */
  readonly probes: boolean;
  readonly signal: AbortSignal;
}

/** The names of all back ends that are known or configured. */
export function backendNames(config: Config): readonly string[] {
  return [...new Set([...backends.map(({ name }) => name), ...config.backends.keys()])];
}

/** The names of all back ends, each with the name of its product. */
export function backendTitles(config: Config): readonly (readonly [name: string, title: string])[] {
  return backendNames(config).map((name) => [name, configuredBackend(name, config).program.title]);
}

/** Describes back ends: version, sign-in, and whether they ask for approval. One after the other, because each starts a program. */
export async function* inspectBackends(options: InspectOptions): AsyncGenerator<InspectedBackend> {
  for (const name of options.names ?? backendNames(options.config)) yield await inspect(name, options);
}

async function inspect(
  name: string,
  { env, config, dataPaths, probes, signal }: InspectOptions,
): Promise<InspectedBackend> {
  const configured = configuredBackend(name, config);
  const { program } = configured;
  const ledger = commandLedger(dataPaths);
  const launch = await launchFor(configured, {
    env,
    config,
    dataPaths,
    directoryName: `inspect-${name}`,
    record: (entry) => ledger.open({ podId: 'inspect', callId: name }, entry),
  });
  const description = await described(program, { ...launch, signal });
  const { version, signedIn } = description;
  return {
    name,
    title: program.title,
    command: launch.command,
    signedIn,
    trustsProject: launch.trustProject,
    ...withoutUndefined({ version, problem: nextStep(program, description) }),
    ...(probes && version !== undefined && { probe: await probed(program, { ...launch, signal }) }),
  };
}

type Launch = Parameters<AgentProgram['describe']>[0];

async function described(program: AgentProgram, launch: Launch): Promise<AgentDescription> {
  try {
    return await program.describe(launch);
  } catch (thrown) {
    return { version: undefined, signedIn: 'unknown', problem: messageOf(thrown) };
  }
}

async function probed(
  { probe }: AgentProgram,
  launch: Launch,
): Promise<NonNullable<InspectedBackend['probe']>> {
  if (probe === undefined) return { status: 'not-supported' };
  try {
    return await probe(launch);
  } catch (thrown) {
    return { status: 'failed', detail: messageOf(thrown) };
  }
}

function nextStep(
  { install, signIn }: AgentProgram,
  { version, signedIn, problem }: AgentDescription,
): string | undefined {
  if (version === undefined)
    return `${(problem ?? 'it is not installed').replace(/\.$/, '')} (install: ${install})`;
  return problem ?? (signedIn === 'no' ? `no user is signed in: ${signIn}` : undefined);
}
