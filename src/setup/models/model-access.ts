import { PolypodError, tryParse } from '../../base/index.ts';
import {
  type Account,
  accountsFrom,
  chooseModel,
  type Circumstances,
  connect,
  type ConnectOptions,
  type Environment,
  type Llm,
  type Model,
  ollamaAccount,
  type Provider,
  referenceTo,
} from '../../llm/index.ts';
import { providers } from '../../registry.ts';
import { isLoopbackUrl, loopbackTransport } from '../../wire/index.ts';
import type { Config } from '../config/config.ts';
import { download } from './download.ts';
import { readModels } from './model-files.ts';
import type { DataPaths } from '../paths/data-paths.ts';

/** A model that is ready to be asked, and what the person should know about the choice. */
export interface ReadyModel {
  readonly llm: Llm;
  readonly model: Model;
  readonly notices: readonly string[];
}

export interface ModelAccessOptions {
  readonly env: Environment;
  readonly config: Config;
  readonly dataPaths: DataPaths;
  /** What to use when nobody names a model: before the environment and the configuration. */
  readonly reference?: string | undefined;
  /** Only the simulated model. */
  readonly offline?: boolean;
  /** Only models on this machine: requests to any other address are refused. */
  readonly isLocal?: boolean;
  readonly connect?: ConnectOptions;
}

/** Finds models by reference and connects them, each once. */
export class ModelAccess {
  readonly #options: ModelAccessOptions;
  readonly #ready = new Map<string, Promise<ReadyModel>>();
  #sim: Promise<{ readonly url: string; readonly close: () => Promise<void> }> | undefined;
  #best: Model | undefined;

  constructor(options: ModelAccessOptions) {
    this.#options = options;
  }

  /** The model that answers when nobody names one; known once it was chosen. */
  get best(): Model {
    if (this.#best === undefined) throw new PolypodError('internal', 'no model was chosen so far');
    return this.#best;
  }

  /** The best model there is: the one asked for, else one with a key, else Ollama on this machine, else the simulated one. */
  async choose(reference?: string, signal: AbortSignal = NEVER): Promise<ReadyModel> {
    const ready = await this.#lookUp(reference, signal);
    if (reference === undefined) this.#best = ready.model;
    return ready;
  }

  /** The model behind a word of Claude Code's, such as `opus`, or behind a reference; undefined when none can be had by it. */
  async named(word: string): Promise<ReadyModel | undefined> {
    try {
      return await this.choose((CLAUDES.has(word) ? await this.#newest(word) : undefined) ?? word);
    } catch {
      // Unknown, or without a key: whoever asked goes on without it.
      return undefined;
    }
  }

  /** How to refer to the first model of the catalogue that is called so, and for which there is an account. */
  async #newest(family: string): Promise<string | undefined> {
    const { env, config, dataPaths, offline } = this.#options;
    if (offline === true) return undefined;
    const accounts = accountsFrom(env, config.accounts);
    const model = (await readModels(dataPaths)).models.find(
      ({ account, id }) => id.includes(family) && accounts.some(({ name }) => name === account),
    );
    return model && referenceTo(model);
  }

  async #lookUp(reference: string | undefined, signal: AbortSignal): Promise<ReadyModel> {
    const wanted = reference ?? this.#options.reference;
    if (this.#options.offline === true || wanted === SIMULATED) return this.#simulated([]);
    const key = wanted ?? '';
    const known = this.#ready.get(key);
    if (known !== undefined) return known;
    const choosing = this.#choose(wanted, signal);
    this.#ready.set(key, choosing);
    // What failed once may work the next time: a key was set, a server was started.
    choosing.catch(() => this.#ready.delete(key));
    return choosing;
  }

  async close(): Promise<void> {
    await (await this.#sim)?.close();
  }

  async #choose(reference: string | undefined, signal: AbortSignal): Promise<ReadyModel> {
    const { env, config, dataPaths } = this.#options;
    const known = await readModels(dataPaths);
    const circumstances: Circumstances = {
      reference: reference ?? env.POLYPOD_MODEL ?? config.model,
      env,
      configured: config.accounts,
      models: known.models,
      ollamaModels: undefined,
      configFile: dataPaths.configFile,
    };
    const choice = chooseModel(circumstances) ?? (await this.#chooseFromOllama(circumstances, signal));
    if (choice === undefined) return this.#simulated([...known.warnings, NO_MODEL]);
    const { account, model } = choice;
    const llm = connect(providerFor(account), account, this.#connecting);
    return { llm, model, notices: known.warnings };
  }

  get #connecting(): ConnectOptions | undefined {
    const { isLocal, connect: options } = this.#options;
    return isLocal === true ? { ...options, transport: loopbackTransport } : options;
  }

  async #chooseFromOllama(circumstances: Circumstances, signal: AbortSignal): Promise<Chosen | undefined> {
    const { env, config, isLocal } = this.#options;
    if (isLocal === true && !isLoopbackUrl(ollamaAccount(env, config.accounts).baseUrl)) return undefined;
    return chooseFromOllama(circumstances, signal);
  }

  /** The simulated model is a real server on loopback: the same bytes, the same path as for every other model. */
  async #simulated(notices: readonly string[]): Promise<ReadyModel> {
    this.#sim ??= import('../../sim/index.ts').then(({ startSim }) => startSim({ pace: { delayMs: 8 } }));
    const { url } = await this.#sim;
    const account = { name: 'sim', wire: 'anthropic', baseUrl: url };
    return {
      llm: connect(providerFor(account), account, this.#options.connect),
      model: { account: 'sim', id: 'offline', name: 'Simulated model', reasoning: false, input: ['text'] },
      notices,
    };
  }
}

/** Lines of models, by the words that clients of Claude Code know. */
const CLAUDES: ReadonlySet<string> = new Set(['opus', 'sonnet', 'haiku']);

const SIMULATED = referenceTo({ account: 'sim', id: 'offline' });
type Chosen = NonNullable<ReturnType<typeof chooseModel>>;

const NEVER = new AbortController().signal;

const NO_MODEL =
  'no provider key in the environment and no Ollama on this machine: the built-in simulated model answers. ' +
  'It is a script, not an intelligence. For a real one set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama.';

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

function providerFor(account: Account): Provider {
  const provider = providers.find(({ name }) => name === account.wire);
  if (provider !== undefined) return provider;
  throw new PolypodError(
    'bad-request',
    `the account ${account.name} speaks ${account.wire}, which Polypod does not know`,
  );
}
