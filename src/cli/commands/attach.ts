import { PolypodError } from '../../base/index.ts';
import { findSession, type DataPaths } from '../../setup/index.ts';
import { sessionsIn } from '../../pod/sessions.ts';
import { runChat } from '../chat/index.ts';
import { runnable, type CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import {
  type PodLocation,
  hostInDaemon,
  hostInOtherProcess,
  ownerOf,
  ownerOfPodSocket,
} from '../hosting/index.ts';

/** `polypod attach`: the chat view for a pod that other clients may be using. */
export const attach = runnable({
  name: 'attach',
  summary: 'Attach to a pod in the daemon or in another process, to watch and drive it.',
  usage: '[OPTIONS] POD',
  options: {
    plain: { type: 'flag', help: 'print plain lines, as without a terminal' },
    ...DATA_DIR,
  },
  takes: 'sessions',
  details: `
POD is the id, a part of it as shown by polypod ls, the name or the socket path of a session. All clients see the same events in the same
order, with the authors of prompts and approvals. If the connection is lost, attach reconnects and resumes after the
last event. If it cannot reconnect, it prints the next step and exits with 3. Exiting does not stop the run.

Without a terminal, attach prints the events, sends each input line, and exits when the input has ended and the pod is
idle. After the input has ended, approval requests stay pending for other clients (polypod approvals).

Examples:
  polypod attach refactoring
  polypod attach 9f3a41c7
  polypod attach --plain 9f3a41c7 < /dev/null | tee run.txt`,
  async run({ values, positionals }, context) {
    const [word, ...more] = positionals;
    if (word === undefined || more.length > 0)
      throw new PolypodError('bad-request', 'attach takes one pod: polypod ls lists them');
    const dataPaths = dataPathsOf(values, context);
    const { location, name } = await locate(word, dataPaths, context);
    const pod = await location.open(name).catch(async (thrown: unknown) => {
      await location.close();
      throw thrown;
    });
    const { plain: isPlain } = values;
    return runChat(
      { location, pod, prompt: undefined, dataPaths, isPlain, isEphemeral: false, hasJoined: true },
      context,
    );
  },
});

interface Found {
  readonly location: PodLocation;
  readonly name: string;
}

/** Finds where the pod is hosted: the process that has its session open, or the daemon, which loads it. */
async function locate(word: string, dataPaths: DataPaths, context: CommandContext): Promise<Found> {
  if (word.includes('/')) {
    const owner = ownerOfPodSocket(word);
    const location = await hostInOtherProcess(owner, context);
    if (location !== undefined) return { location, name: owner.id };
    throw new PolypodError(
      'not-found',
      `no process listens on ${word}: name a session, or the socket of one in a runtime directory of Polypod`,
    );
  }
  const row = findSession(sessionsIn(dataPaths.dataDirectory), word);
  const owner = ownerOf(row, dataPaths);
  const elsewhere = owner && (await hostInOtherProcess(owner, context));
  if (elsewhere !== undefined) return { location: elsewhere, name: row.id };
  const location = await hostInDaemon(
    { dataPaths, fresh: { cwd: row.cwd }, offline: false, allowPaths: [] },
    context,
  );
  if (location !== undefined) return { location, name: row.id };
  throw new PolypodError(
    'not-found',
    `no process hosts the session ${row.id}: resume it with polypod chat --resume ${row.id.slice(-8)}, or host it with polypod serve`,
  );
}
