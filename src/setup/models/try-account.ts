import { PolypodError, withoutUndefined } from '../../base/index.ts';
import {
  accountProblem,
  chooseModel,
  connect,
  type ConfiguredAccount,
  type Environment,
  type Failure,
  findVendor,
  type LlmRequest,
  type Model,
  type StopReason,
  textContent,
} from '../../llm/index.ts';
import { providerNamed } from '../../registry.ts';
import { transportFrom } from '../../wire/index.ts';
import type { DataPaths } from '../paths/data-paths.ts';
import { readModels } from './model-files.ts';

export interface AccountTrial {
  readonly account: { readonly name: string; readonly api: string; readonly baseUrl: string };
  readonly model: string;
  /** Undefined if the model answered. */
  readonly failure?: Failure;
}

export interface TrialOptions {
  readonly name: string;
  /** The id of the model; default: that of the vendor. */
  readonly model?: string | undefined;
  readonly env: Environment;
  readonly configured: readonly ConfiguredAccount[];
  readonly dataPaths: DataPaths;
  readonly signal: AbortSignal;
}

/** Sends one short request to a model of an account. Throws if the account is incomplete. */
export async function tryAccount(options: TrialOptions): Promise<AccountTrial> {
  const { name, env, configured, signal } = options;
  // The name of a model would select the model's account.
  if (findVendor(name) === undefined && !configured.some((account) => account.name === name))
    throw new PolypodError(
      'not-found',
      `there is no account "${name}": polypod accounts list shows the names, polypod accounts add creates one`,
    );
  const { account, model } = await choose(options);
  const llm = connect(providerNamed(account.api), account, { transport: transportFrom(env) });
  let failure: Failure | undefined;
  let stopReason: StopReason | undefined;
  for await (const event of llm.stream(requestFor(model), signal)) {
    if (event.type === 'error') {
      const { type: _, ...details } = event;
      failure = details;
    }
    if (event.type === 'status' && event.status === 'completed') ({ stopReason } = event);
  }
  if (failure === undefined && stopReason === undefined) throw new PolypodError('bad-request', 'interrupted');
  const { api, baseUrl } = account;
  return { account: { name, api, baseUrl }, model: model.id, ...withoutUndefined({ failure }) };
}

async function choose({ name, model, env, configured, dataPaths }: TrialOptions): Promise<ChosenModel> {
  const { models } = await readModels(dataPaths);
  const { configFile } = dataPaths;
  const reference = model === undefined ? name : `${name}/${model}`;
  try {
    const chosen = chooseModel({ reference, env, configured, models, ollamaModels: undefined, configFile });
    if (chosen !== undefined) return chosen;
  } catch (thrown) {
    if (model !== undefined) throw thrown;
  }
  const problem = accountProblem(env, configured, name);
  throw new PolypodError('bad-request', problem ?? `${name} has no default model: pass --model ID`);
}

type ChosenModel = NonNullable<ReturnType<typeof chooseModel>>;

function requestFor({ id }: Model): LlmRequest {
  return {
    model: id,
    items: [{ type: 'message', role: 'user', content: textContent('Reply with the word: ready') }],
    // Enough for a model that thinks first. An answer that reaches the limit is an answer as well.
    maxTokens: 256,
  };
}
