import { logTo } from '../../base/index.ts';
import {
  findSession,
  newSession,
  type NewSession,
  type Places,
  readModels,
  removeSession,
} from '../../daemon/index.ts';
import { referenceTo } from '../../llm/index.ts';
import type { McpServerSpec } from '../../mcp/index.ts';
import { doors } from '../../registry.ts';
import type { Surroundings } from '../command.ts';
import { hostHere, type InProcess } from '../in-process.ts';
import { version } from '../version.ts';
import { promptsAmong } from './earlier-prompts.ts';
import { nameOf } from './me.ts';
import { NoticeBoard } from './notice-board.ts';
import type { Place } from './place.ts';

/** What the command line says about the sessions of a chat. */
export interface PlaceWish {
  readonly places: Places;
  /** A session as it is made when none is resumed. */
  readonly fresh: NewSession;
  readonly offline: boolean;
  /** Nothing is kept. */
  readonly isFleeting: boolean;
  readonly allowPaths: readonly string[];
  readonly sandbox: boolean;
  readonly mcpServers: readonly McpServerSpec[];
}

/** Pods in this process. Others can attach to them as long as it lives. */
export async function placeHere(wish: PlaceWish, around: Surroundings): Promise<Place> {
  const { places, fresh, offline, isFleeting, allowPaths, sandbox, mcpServers } = wish;
  const board = new NoticeBoard();
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
        if (state === 'failed') board.post(`MCP server ${name} failed: ${error ?? 'no reason given'}`);
      },
    },
    around,
  );
  try {
    const { host, models, config, warnings } = here;
    const { model, notices } = await models.choose(undefined, around.signal);
    for (const text of [...warnings, ...notices]) board.post(text);
    const door = isFleeting ? undefined : await published(here, places);
    const named = fresh.model === undefined && !offline ? {} : { model: `${model.account}/${model.id}` };
    return {
      me: { by: nameOf(around), door: 'cli' },
      usualMode: config.permissions.mode ?? 'workspace-write',
      outlives: false,
      notices: board,
      sessions: () => host.list(),
      open: async (word) => host.pod(findSession(await host.list(), word).id),
      create: async () => host.pod((await newSession(host, models, { ...fresh, ...named })).id),
      fork: (id) => host.fork(id),
      discard: (id) => removeSession(host, places.dataDirectory, id),
      prompts: async (id) => promptsAmong([...(await host.tree(id)).path()]),
      models: async () => (await readModels(places)).models.map(referenceTo),
      model: async (reference) => {
        const chosen = await models.choose(reference);
        return { provider: chosen.model.account, modelId: chosen.model.id };
      },
      isUp: async () => true,
      close: async () => {
        await door?.close();
        await here.close();
      },
    };
  } catch (thrown) {
    await here.close();
    throw thrown;
  }
}

/** Lets others reach the pods of this process. That it cannot be done is no reason not to talk. */
async function published({ host }: InProcess, { runtimeDirectory }: Places) {
  const door = doors.find(({ name }) => name === 'pod');
  const log = logTo({ sinks: [], level: () => 'error', redact: () => (text) => text });
  return door?.open({ host, directory: runtimeDirectory, version: version(), log }).catch(() => undefined);
}
