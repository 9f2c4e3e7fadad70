import { PolypodError } from '../../base/index.ts';
import { DEFAULT_CONFIG, modelAccess, dataPathsFrom, readConfig } from '../../setup/index.ts';
import { type ConnectOptions, type Llm, type Model, VENDORS } from '../../llm/index.ts';
import type { CommandContext } from '../command.ts';

/** A connected model, and notices for the user about how it was selected. */
export interface ReadyModel {
  readonly llm: Llm;
  readonly model: Model;
  readonly notices: readonly string[];
  readonly close: () => Promise<void>;
}

export interface ModelRequest {
  /** `provider/id`, an id, or a provider's name. */
  readonly reference: string | undefined;
  /** Use the simulated model even if an account is configured. */
  readonly offline: boolean;
  /** No request will be sent, so no key is needed. */
  readonly replaying: boolean;
}

/** Returns the model that the command line names, or the best available one. */
export async function readyModel(
  { reference, offline, replaying }: ModelRequest,
  context: CommandContext,
  connect: ConnectOptions,
): Promise<ReadyModel> {
  if (offline && reference !== undefined) {
    throw new PolypodError('bad-request', '--offline and --model exclude each other');
  }
  const dataPaths = dataPathsFrom(context.env);
  const env = replaying ? { ...STAND_IN, ...context.env } : context.env;
  const { config, warnings } = offline ? NO_CONFIG : await readConfig(dataPaths);
  const access = await modelAccess({
    env,
    config,
    dataPaths,
    offline,
    connect: { ...connect, needsNoKey: replaying },
  });
  const { llm, model, notices } = await access.choose(reference, context.signal);
  return { llm, model, notices: [...warnings, ...notices], close: () => access.close() };
}

const NO_CONFIG = { config: DEFAULT_CONFIG, warnings: [] };

/** What accounts need to be opened, although no request will be sent. */
const STAND_IN: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    VENDORS.flatMap(({ keyEnv }) => keyEnv).map((name) => [name, 'replaying-needs-no-key']),
  ),
  AWS_REGION: 'us-east-1',
};
