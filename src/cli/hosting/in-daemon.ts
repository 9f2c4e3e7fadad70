import { arrayOf, stringOf } from '../../base/index.ts';
import { daemonLink } from '../../daemon/index.ts';
import { customCommands, findSession, readConfig } from '../../setup/index.ts';
import { backendModel, Layout, otherBackend, OWN_BACKEND, sessionsIn } from '../../pod/sessions.ts';
import type { CommandContext } from '../command.ts';
import { currentUserName } from '../current-user.ts';
import type { AgentRequest } from '../args/agent-options.ts';
import { compareWithDaemon, explainRejectedModel } from './compare-with-daemon.ts';
import { ControlCalls, reconnectingPod } from './control-calls.ts';
import { entriesIn, promptsAmong } from './earlier-prompts.ts';
import { refuseIfOpenElsewhere } from './session-owner.ts';
import { remoteModels } from './remote-models.ts';
import { NoticeBoard } from './notice-board.ts';
import type { PodLocation } from './pod-location.ts';

/** The pods of the daemon; undefined if none is running. */
export async function hostInDaemon(
  {
    dataPaths,
    fresh,
    offline,
    allowPaths,
  }: Pick<AgentRequest, 'dataPaths' | 'fresh' | 'offline' | 'allowPaths'>,
  context: CommandContext,
): Promise<PodLocation | undefined> {
  const first = await daemonLink(dataPaths);
  if (first === undefined) return undefined;
  const daemon = new ControlCalls(first, () => daemonLink(dataPaths));
  const me = { by: currentUserName(context), door: 'control' };
  const reference = offline ? 'sim/offline' : fresh.model;
  const named = { ...(reference && { model: reference }), ...(offline && { backend: OWN_BACKEND }) };
  const sessions = async () => sessionsIn(dataPaths.dataDirectory);
  try {
    const { keys, configuration } = await compareWithDaemon(daemon, dataPaths, context.env);
    const keyNotices = offline ? [] : keys;
    // The daemon uses its last valid configuration, even if the file is invalid now.
    const config = await readConfig(dataPaths).then(
      (read) => read.config,
      () => undefined,
    );
    const backend = offline ? undefined : otherBackend(fresh.backend ?? config?.backend);
    const ready = async () =>
      daemon.call('model', reference === undefined ? {} : { reference }).catch((thrown: unknown) => {
        throw explainRejectedModel(thrown, keyNotices);
      });
    // An unavailable model is rejected before a session is created. Another agent has its own models.
    const { notices } = backend === undefined ? await ready() : {};
    const models = remoteModels(daemon);
    return {
      me,
      defaultMode: config && (config.permissions.mode ?? 'workspace-write'),
      survivesExit: true,
      ifLost: {
        giveUpAfterMs: 10 * 60_000,
        ending: (id) =>
          `the daemon has ended: start it with polypod serve, then resume with polypod chat --resume ${id}`,
      },
      notices: new NoticeBoard([...configuration, ...keyNotices, ...arrayOf(notices).map(stringOf)]),
      sessions,
      open: async (word) => {
        const row = findSession(await sessions(), word);
        refuseIfOpenElsewhere(row, dataPaths);
        return reconnectingPod(row.id, daemon);
      },
      create: async () => {
        const pod = reconnectingPod(
          stringOf((await daemon.link.call('new', { ...fresh, ...named })).id),
          daemon,
        );
        if (allowPaths.length > 0) await pod.handle({ type: 'configure', set: { paths: allowPaths } }, me);
        return pod;
      },
      fork: async (id) => reconnectingPod(stringOf((await daemon.link.call('fork', { pod: id })).id), daemon),
      discard: async (id) => void (await daemon.call('rm', { pod: id })),
      prompts: async (id) => {
        const row = (await sessions()).find((each) => each.id === id);
        return row === undefined
          ? []
          : promptsAmong(await entriesIn(new Layout(dataPaths.dataDirectory).path(row.file)));
      },
      customCommands: (cwd) => customCommands(cwd, dataPaths),
      ...models,
      model: async (given) => (backend === undefined ? models.model(given) : backendModel(backend, given)),
      isUp: () => daemon.isUp(),
      close: async () => daemon.close(),
    };
  } catch (thrown) {
    daemon.close();
    throw thrown;
  }
}
