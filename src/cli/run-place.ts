import { arrayOf, isObject, type JsonObject, PolypodError, stringOf } from '../base/index.ts';
import {
  daemonLink,
  findSession,
  newSession,
  type Places,
  type PodHandle,
  remotePod,
} from '../daemon/index.ts';
import type { ControlLink, NewSession } from '../daemon/index.ts';
import type { Account, Model } from '../llm/index.ts';
import type { McpServerSpec } from '../mcp/index.ts';
import type { ModelChoice } from '../pod/index.ts';
import { sessionsIn } from '../pod/sessions.ts';
import type { Surroundings } from './command.ts';
import { hostHere } from './in-process.ts';
import { publishPods } from './publish-pods.ts';

/** What the command line says about where a run shall happen. */
export interface PlaceWish {
  readonly places: Places;
  /** The session to go on with: an id, the beginning of one, or a name. */
  readonly resume: string | undefined;
  /** The session to make otherwise. */
  readonly fresh: NewSession;
  readonly offline: boolean;
  /** Nothing is kept. */
  readonly isFleeting: boolean;
  /** Not in the daemon, even if one is up. */
  readonly isHere: boolean;
  readonly allowPaths: readonly string[];
  readonly sandbox: boolean;
  readonly mcpServers: readonly McpServerSpec[];
  readonly onServerFailure: (name: string, error: string | undefined) => void;
}

/** A pod to run in, in this process or in the daemon. */
export interface RunPlace {
  readonly pod: PodHandle;
  /** The model that was asked for by name. */
  readonly model: ModelChoice | undefined;
  readonly notices: readonly string[];
  /** By whom a model is served, for a sentence on what went wrong with it. */
  readonly accountOf: (model: ModelChoice) => Promise<Pick<Account, 'name' | 'wire' | 'baseUrl'>>;
  readonly close: () => Promise<void>;
}

/** The daemon has the pod when one is up; else this process has it, on the same files. */
export async function openRunPlace(wish: PlaceWish, around: Surroundings): Promise<RunPlace> {
  const link = wish.isHere || wish.isFleeting ? undefined : await daemonLink(wish.places);
  return link === undefined ? placeHere(wish, around) : placeInDaemon(wish, link);
}

async function placeHere(wish: PlaceWish, around: Surroundings): Promise<RunPlace> {
  const { places, offline, isFleeting, allowPaths, sandbox, mcpServers, fresh } = wish;
  const here = await hostHere(
    {
      places,
      offline,
      isFleeting,
      allowPaths,
      sandbox,
      mcpServers,
      model: fresh.model,
      onServerChange: (_, { name, state, error }) => {
        if (state === 'failed') wish.onServerFailure(name, error);
      },
    },
    around,
  );
  try {
    const { host, models, warnings } = here;
    const { model, notices } = await models.choose(undefined, around.signal);
    const id = wish.resume === undefined ? await made(model) : meant(wish);
    // Not waited for: the run needs nobody who watches it.
    const published = isFleeting ? undefined : publishPods(host, places);
    return {
      pod: host.pod(id),
      model: fresh.model === undefined && !offline ? undefined : choiceOf(model),
      notices: [...warnings, ...notices],
      accountOf: async ({ provider, modelId }) => (await models.choose(`${provider}/${modelId}`)).llm.account,
      close: async () => {
        await (await published)?.close();
        await here.close();
      },
    };
  } catch (thrown) {
    await here.close();
    throw thrown;
  }

  async function made({ account, id }: Model): Promise<string> {
    const named = fresh.model === undefined && !offline ? {} : { model: `${account}/${id}` };
    return (await newSession(here.host, here.models, { ...fresh, ...named })).id;
  }
}

async function placeInDaemon(wish: PlaceWish, link: ControlLink): Promise<RunPlace> {
  try {
    const reference = wish.offline ? 'sim/offline' : wish.fresh.model;
    const named = reference === undefined ? {} : { model: reference };
    const answer = await link.call('model', reference === undefined ? {} : { reference });
    const id =
      wish.resume === undefined
        ? stringOf((await link.call('new', { ...wish.fresh, ...named })).id)
        : meant(wish);
    return {
      pod: await remotePod(id, link),
      model: reference === undefined ? undefined : modelIn(answer),
      notices: arrayOf(answer.notices).map(stringOf),
      accountOf: async ({ provider, modelId }) =>
        accountIn(await link.call('model', { reference: `${provider}/${modelId}` })),
      close: async () => link.close(),
    };
  } catch (thrown) {
    link.close();
    throw thrown;
  }
}

function meant({ places, resume = '' }: PlaceWish): string {
  return findSession(sessionsIn(places.dataDirectory), resume).id;
}

function choiceOf({ account, id }: Model): ModelChoice {
  return { provider: account, modelId: id };
}

function modelIn({ choice }: JsonObject): ModelChoice {
  if (!isObject(choice))
    throw new PolypodError('internal', 'the daemon named no model: is it of another version?');
  return { provider: stringOf(choice.provider), modelId: stringOf(choice.modelId) };
}

function accountIn({ account }: JsonObject): Pick<Account, 'name' | 'wire' | 'baseUrl'> {
  const { name, wire, baseUrl } = isObject(account) ? account : {};
  return { name: stringOf(name), wire: stringOf(wire), baseUrl: stringOf(baseUrl) };
}
