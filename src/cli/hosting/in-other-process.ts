import { PolypodError } from '../../base/index.ts';
import { customCommands, dataPathsFrom } from '../../setup/index.ts';
import type { CommandContext } from '../command.ts';
import { currentUserName } from '../current-user.ts';
import { ControlCalls, reconnectingPod } from './control-calls.ts';
import { NoticeBoard } from './notice-board.ts';
import type { PodLocation } from './pod-location.ts';
import { remoteModels } from './remote-models.ts';
import type { SessionOwner } from './session-owner.ts';

/** How long another process may take to open the session after its owner has ended. */
const PATIENCE_MS = 5_000;

/** A session that another process has open; undefined if that process does not listen. Its other sessions are not available. */
export async function hostInOtherProcess(
  { id, connect }: SessionOwner,
  context: CommandContext,
): Promise<PodLocation | undefined> {
  const first = await connect();
  if (first === undefined) return undefined;
  const owner = new ControlCalls(first, connect);
  const refuse = async (): Promise<never> => {
    throw new PolypodError('bad-request', 'not possible from here: another process hosts the session');
  };
  return {
    me: { by: currentUserName(context), door: 'control' },
    defaultMode: undefined,
    survivesExit: true,
    ifLost: {
      giveUpAfterMs: PATIENCE_MS,
      ending: () =>
        `the process that hosted the session has ended: resume it with polypod chat --resume ${id}`,
    },
    notices: new NoticeBoard(),
    sessions: refuse,
    open: async (word) => (word === id ? reconnectingPod(id, owner) : refuse()),
    create: refuse,
    fork: refuse,
    discard: async () => {},
    prompts: refuse,
    customCommands: (cwd) => customCommands(cwd, dataPathsFrom(context.env)),
    ...remoteModels(owner),
    isUp: () => owner.isUp(),
    close: async () => owner.close(),
  };
}
