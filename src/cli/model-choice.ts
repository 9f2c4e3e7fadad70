import { PolypodError, tryParse } from '../base/index.ts';
import { placesFrom, readConfig, readModels } from '../daemon/index.ts';
import {
  type Account,
  chooseModel,
  type Circumstances,
  connect,
  type ConnectOptions,
  type Llm,
  type Model,
  ollamaAccount,
  type Provider,
  VENDORS,
} from '../llm/index.ts';
import { providers } from '../registry.ts';
import type { Surroundings } from './command.ts';
import { download } from './download.ts';

/** A model that is ready to be asked, and what the person should know about the choice. */
export interface ReadyModel {
  readonly llm: Llm;
  readonly model: Model;
  readonly notices: readonly string[];
  readonly close: () => Promise<void>;
}

export interface Wish {
  /** `provider/id`, an id, or a provider's name. */
  readonly reference: string | undefined;
  /** Take the simulated model although there may be a real one. */
  readonly offline: boolean;
  /** Nothing will be sent, so that no key is needed. */
  readonly replaying: boolean;
}

/** The best model there is: the one asked for, else one with a key, else Ollama on this machine, else the simulated one. */
export async function readyModel(
  wish: Wish,
  around: Surroundings,
  options: ConnectOptions,
): Promise<ReadyModel> {
  if (wish.offline && wish.reference !== undefined) {
    throw new PolypodError('bad-request', '--offline and --model exclude each other');
  }
  if (wish.offline) return simulatedModel(options, []);
  const places = placesFrom(around.env);
  const env = wish.replaying ? { ...standInKeys(), ...around.env } : around.env;
  const [{ config, warnings }, known] = await Promise.all([readConfig(places), readModels(places)]);
  const circumstances: Circumstances = {
    reference: wish.reference ?? around.env.POLYPOD_MODEL ?? config.model,
    env,
    configured: config.accounts,
    models: known.models,
    ollamaModels: undefined,
    configFile: places.configFile,
  };
  const notices = [...warnings, ...known.warnings];
  const choice = chooseModel(circumstances) ?? (await chooseFromOllama(circumstances, around.signal));
  if (choice === undefined) return simulatedModel(options, [...notices, NO_MODEL]);
  const provider = providerFor(choice.account);
  return {
    llm: connect(provider, choice.account, options),
    model: choice.model,
    notices,
    close: async () => {},
  };
}

const NO_MODEL =
  'no provider key in the environment and no Ollama on this machine: the built-in simulated model answers. ' +
  'It is a script, not an intelligence. For a real one set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama.';

function standInKeys(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    VENDORS.flatMap(({ keyEnv }) => keyEnv).map((name) => [name, 'replaying-needs-no-key']),
  );
}

async function chooseFromOllama(circumstances: Circumstances, signal: AbortSignal) {
  const account = ollamaAccount(circumstances.env, circumstances.configured);
  const ollamaModels = await modelsServedBy(
    account,
    AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
  );
  return ollamaModels === undefined ? undefined : chooseModel({ ...circumstances, ollamaModels });
}

/** A server on this machine answers at once or not at all. */
const PROBE_MS = 500;

/** The ids of the models that an account serves; undefined when it does not answer. */
async function modelsServedBy(account: Account, signal: AbortSignal): Promise<readonly string[] | undefined> {
  const provider = providerFor(account);
  const { url, headers } = provider.models(account);
  try {
    return provider.modelIds(tryParse(await download(url, signal, headers)));
  } catch {
    // Nobody listens there: that is an answer, not a failure.
    return undefined;
  }
}

/** The simulated model is a real server on loopback: the same bytes, the same path as for every other model. */
async function simulatedModel(options: ConnectOptions, notices: readonly string[]): Promise<ReadyModel> {
  const { startSim } = await import('../sim/index.ts');
  const sim = await startSim({ pace: { delayMs: 8 } });
  const account = { name: 'sim', wire: 'anthropic', baseUrl: sim.url };
  return {
    llm: connect(providerFor(account), account, options),
    model: { account: 'sim', id: 'offline', name: 'Simulated model', reasoning: false, input: ['text'] },
    notices,
    close: () => sim.close(),
  };
}

function providerFor(account: Account): Provider {
  const provider = providers.find(({ name }) => name === account.wire);
  if (provider !== undefined) return provider;
  throw new PolypodError(
    'bad-request',
    `the account ${account.name} speaks ${account.wire}, which Polypod does not know`,
  );
}
