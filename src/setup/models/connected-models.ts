import { PolypodError, tryParse } from '../../base/index.ts';
import {
  type Account,
  accountProblem,
  usableAccounts,
  chooseModel,
  type ModelChoiceInput,
  connect,
  type ConnectOptions,
  ollamaAccount,
  type Provider,
  modelReference,
  withCurrentKey,
  withQuery,
} from '../../llm/index.ts';
import { providers } from '../../registry.ts';
import { isLoopbackUrl, loopbackTransport, type Transport } from '../../wire/index.ts';
import { download, type DownloadOptions } from './download.ts';
import { readModels } from './model-files.ts';
import type { ListedModel, ModelAccessOptions, ReadyModel } from './ready-model.ts';

/** The models of a `ModelAccess`, with the code of all providers. */
export class ConnectedModels {
  readonly #options: ModelAccessOptions;
  readonly #ready = new Map<string, Promise<ReadyModel>>();
  #sim: Promise<{ readonly url: string; readonly close: () => Promise<void> }> | undefined;
  readonly #transport: Transport;

  constructor(options: ModelAccessOptions, transport: Transport) {
    this.#options = options;
    this.#transport = transport;
  }

  async find(word: string): Promise<ReadyModel | undefined> {
    try {
      return await this.choose((CLAUDE_ALIASES.has(word) ? await this.#newestOf(word) : undefined) ?? word);
    } catch {
      // The model is unknown or has no key.
      return undefined;
    }
  }

  /** The reference of the first model of the family that has a usable account. */
  async #newestOf(family: string): Promise<string | undefined> {
    const { env, config, dataPaths, offline } = this.#options;
    if (offline === true) return undefined;
    const accounts = usableAccounts(env, config.accounts);
    const model = (await readModels(dataPaths)).models.find(
      ({ account, id }) => id.includes(family) && accounts.some(({ name }) => name === account),
    );
    return model && modelReference(model);
  }

  async choose(reference?: string, signal: AbortSignal = NEVER): Promise<ReadyModel> {
    const requested = reference ?? this.#options.reference;
    if (this.#options.offline === true || requested === SIMULATED) return this.#simulatedModel([]);
    const key = requested ?? '';
    const known = this.#ready.get(key);
    if (known !== undefined) return known;
    const choosing = this.#choose(requested, signal);
    this.#ready.set(key, choosing);
    // Failures are not cached: the user may set a key or start a server.
    choosing.catch(() => this.#ready.delete(key));
    return choosing;
  }

  async list(): Promise<readonly ListedModel[]> {
    const { env, config, dataPaths, offline } = this.#options;
    const simulated = { reference: SIMULATED, problem: undefined };
    if (offline === true) return [simulated];
    const { models } = await readModels(dataPaths);
    const problems = new Map(
      [...new Set(models.map(({ account }) => account))].map((account) => [
        account,
        accountProblem(env, config.accounts, account),
      ]),
    );
    const listed = models.map((model) => ({
      reference: modelReference(model),
      problem: problems.get(model.account),
    }));
    return [...listed, simulated];
  }

  async close(): Promise<void> {
    await (await this.#sim)?.close();
  }

  async #choose(reference: string | undefined, signal: AbortSignal): Promise<ReadyModel> {
    const { env, config, dataPaths } = this.#options;
    const known = await readModels(dataPaths);
    const input: ModelChoiceInput = {
      reference: reference ?? env.POLYPOD_MODEL ?? config.model,
      env,
      configured: config.accounts,
      models: known.models,
      ollamaModels: undefined,
      configFile: dataPaths.configFile,
    };
    const choice = chooseModel(input) ?? (await this.#chooseFromOllama(input, signal));
    if (choice === undefined) return this.#simulatedModel([...known.warnings, NO_MODEL]);
    const { account, model } = choice;
    const llm = connect(providerFor(account), account, this.#connectOptions);
    return { llm, model, notices: known.warnings };
  }

  get #connectOptions(): ConnectOptions {
    const { isLocal, connect: options } = this.#options;
    return {
      transport: this.#transport,
      ...options,
      ...(isLocal === true && { transport: loopbackTransport }),
    };
  }

  async #chooseFromOllama(input: ModelChoiceInput, signal: AbortSignal): Promise<Chosen | undefined> {
    const { env, config, isLocal } = this.#options;
    if (isLocal === true && !isLoopbackUrl(ollamaAccount(env, config.accounts).baseUrl)) return undefined;
    return chooseFromOllama(input, this.#transport, signal);
  }

  /** The simulated model is a real server on loopback, so that it uses the same code path as every other model. */
  async #simulatedModel(notices: readonly string[]): Promise<ReadyModel> {
    this.#sim ??= import('../../sim/index.ts').then(({ startSim }) => startSim({ pace: { delayMs: 8 } }));
    const { url } = await this.#sim;
    const account = { name: 'sim', api: 'anthropic', baseUrl: url };
    return {
      llm: connect(providerFor(account), account, this.#options.connect),
      model: { account: 'sim', id: 'offline', name: 'Simulated model', reasoning: false, input: ['text'] },
      notices,
    };
  }
}

/** The model aliases of Claude Code. */
const CLAUDE_ALIASES: ReadonlySet<string> = new Set(['opus', 'sonnet', 'haiku']);

const SIMULATED = modelReference({ account: 'sim', id: 'offline' });
type Chosen = NonNullable<ReturnType<typeof chooseModel>>;

const NEVER = new AbortController().signal;

const NO_MODEL =
  'no provider key in the environment and no Ollama on this machine: using the built-in simulated model. ' +
  'It is a script, not an intelligence. For a real one set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama.';

async function chooseFromOllama(input: ModelChoiceInput, transport: Transport, signal: AbortSignal) {
  const account = ollamaAccount(input.env, input.configured);
  const ollamaModels = await modelsServedBy(account, {
    transport,
    signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
  });
  return ollamaModels === undefined ? undefined : chooseModel({ ...input, ollamaModels });
}

/** A server on this machine responds quickly or not at all. */
const PROBE_MS = 500;

/** The ids of the models that an account serves; undefined if it does not respond. */
async function modelsServedBy(
  account: Account,
  options: DownloadOptions,
): Promise<readonly string[] | undefined> {
  const provider = providerFor(account);
  try {
    const { url, headers } = provider.models(await withCurrentKey(account, options.signal));
    const list = await download(withQuery(url, account), {
      ...options,
      headers: { ...headers, ...account.headers },
    });
    return provider.modelIds(tryParse(list));
  } catch {
    // No server is listening, which is not an error.
    return undefined;
  }
}

function providerFor(account: Account): Provider {
  const provider = providers.find(({ name }) => name === account.api);
  if (provider !== undefined) return provider;
  throw new PolypodError(
    'bad-request',
    `the account ${account.name} uses the API ${account.api}, which Polypod does not support`,
  );
}
