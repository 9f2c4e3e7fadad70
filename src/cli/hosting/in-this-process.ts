import { newSession, removeSession } from '../../daemon/index.ts';
import { backendModel, OWN_BACKEND } from '../../pod/sessions.ts';
import { customCommands, findSession } from '../../setup/index.ts';
import { modelReference } from '../../llm/index.ts';
import type { CommandContext } from '../command.ts';
import { openHostInProcess } from './host-in-process.ts';
import { currentUserName } from '../current-user.ts';
import { publishPods } from './publish-pods.ts';
import type { AgentRequest } from '../args/agent-options.ts';
import { currentPrompts } from './earlier-prompts.ts';
import { refuseIfOpenElsewhere } from './session-owner.ts';
import { NoticeBoard } from './notice-board.ts';
import type { PodLocation } from './pod-location.ts';

/** The pods of this process. Other clients can attach to them while it runs. */
export async function hostInThisProcess(
  request: AgentRequest,
  context: CommandContext,
): Promise<PodLocation> {
  const { dataPaths, fresh, offline, isEphemeral, allowPaths, sandbox, mcpServers, extensions } = request;
  const board = new NoticeBoard();
  const here = await openHostInProcess(
    {
      dataPaths,
      offline,
      isEphemeral,
      allowPaths,
      sandbox,
      mcpServers,
      extensions,
      onExtensionError: (_, path, event, error) =>
        board.post(`the extension ${path} failed (${event}): ${error}`),
      model: fresh.model,
      onServerChange: (_, { name, state, error }) => {
        if (state === 'failed') board.post(`MCP server ${name} failed: ${error ?? 'no reason given'}`);
      },
    },
    context,
  );
  try {
    const { host, setup, warnings, audit } = here;
    const { config, models } = setup;
    const backend = offline ? undefined : host.backendFor(fresh.backend);
    const chosen = backend === undefined ? await models.choose(undefined, context.signal) : undefined;
    for (const text of [...warnings, ...(chosen?.notices ?? [])]) board.post(text);
    // Not awaited: the agent works without it.
    const published = isEphemeral ? undefined : publishPods({ host, dataPaths, setup, audit });
    const isNamed = chosen !== undefined && (fresh.model !== undefined || offline);
    const named = isNamed ? { model: modelReference(chosen.model), backend: OWN_BACKEND } : {};
    return {
      me: { by: currentUserName(context), door: 'cli' },
      defaultMode: config.permissions.mode ?? 'workspace-write',
      survivesExit: false,
      ifLost: { giveUpAfterMs: Number.POSITIVE_INFINITY, ending: () => '' },
      notices: board,
      sessions: () => host.sessions.list(),
      open: async (word) => {
        const row = findSession(await host.sessions.list(), word);
        refuseIfOpenElsewhere(row, dataPaths);
        return host.pod(row.id);
      },
      create: async () => host.pod((await newSession(host, models, { ...fresh, ...named })).id),
      fork: (id) => host.fork(id),
      discard: (id) => removeSession(host, dataPaths.dataDirectory, id),
      prompts: async (id) => currentPrompts(await host.history.prompts(id)),
      customCommands: (cwd) => customCommands(cwd, dataPaths),
      models: () => models.list(),
      model: async (reference) => {
        if (backend !== undefined) return backendModel(backend, reference);
        const { model } = await models.choose(reference);
        return { provider: model.account, modelId: model.id };
      },
      accountOf: async ({ provider, modelId }) => (await models.choose(`${provider}/${modelId}`)).llm.account,
      isUp: async () => true,
      close: async () => {
        await (await published)?.close();
        await here.close();
      },
    };
  } catch (thrown) {
    await here.close();
    throw thrown;
  }
}
