import { resolve } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import { findSession } from '../../setup/index.ts';
import type { SettingsChange } from '../../pod/index.ts';
import { ASK_WHICH, holdChat, pickSession, podInOtherProcess, withBareResume } from '../chat/index.ts';
import { type Runnable, runnable, type Surroundings } from '../command.ts';
import {
  AGENT_OPTIONS,
  type AgentRequest,
  readAgentRequest,
  exclusive,
  type PodLocation,
  hostInThisProcess,
  hostInDaemon,
  refuseContradictions,
  socketOfOwner,
} from '../hosting/index.ts';

const command = runnable({
  name: 'chat',
  summary: 'Talk with an agent that works in this directory.',
  usage: '[OPTIONS] [PROMPT…]',
  options: {
    resume: {
      type: 'text',
      short: 'r',
      value: 'ID|NAME',
      completes: 'sessions',
      help: 'go on with a session; alone: choose one',
    },
    continue: { type: 'flag', short: 'c', help: 'go on with the last session of this directory' },
    ...AGENT_OPTIONS,
    plain: { type: 'flag', help: 'lines only, as without a terminal' },
  },
  details: `
Enter sends; while the agent works it steers, and Alt-Enter says it when the agent is done. Ctrl-C cancels the run, Ctrl-D
leaves. What it may not do by itself it asks: y, n with a word on what to do instead, always, or edit the call first.
/help lists the commands, !COMMAND runs one of your own, @ completes a file, and an image is sent by pasting its path.

Without a terminal, and with --plain, each line of the input is a prompt, or the answer to a question, and the exit code
says how the runs ended: 0 well, 1 stopped by a bound, 2 refused or denied because nobody answered, 3 provider or system.

The session is kept and listed (polypod ls). With a daemon up (polypod serve) it lives there; without one it lives in this
process, and polypod attach reaches it as long as this runs.

Examples:
  polypod chat
  polypod chat "What does this project do?"
  polypod chat --continue
  polypod chat --resume
  echo "Summarise README.md" | polypod chat --mode read-only`,
  async run({ values, positionals }, around) {
    const { resume, continue: goesOn, plain: isPlain } = values;
    if (resume !== undefined && goesOn) throw exclusive('--resume', '--continue');
    refuseContradictions(values, resume !== undefined ? '--resume' : goesOn ? '--continue' : undefined);
    const wish = await readAgentRequest(values, around);
    const { dataPaths, isFleeting } = wish;
    const { place, pod, isGuest } = await opened(wish, values, around);
    const prompt = positionals.length === 0 ? undefined : positionals.join(' ');
    return holdChat({ place, pod, prompt, dataPaths, isPlain, isFleeting, isGuest }, around);
  },
});

/** `polypod chat`: an agent on the terminal. */
export const chat: Runnable = {
  ...command,
  run: (argv, around) => command.run(withBareResume(argv), around),
};

interface Stated {
  readonly resume: string | undefined;
  readonly continue: boolean;
  readonly cwd: string | undefined;
}

/** Where to talk, and the session to go on with, set as the options say; no pod for a new one. */
async function opened(
  wish: AgentRequest,
  stated: Stated,
  around: Surroundings,
): Promise<{ readonly place: PodLocation; readonly pod: PodHandle | undefined; readonly isGuest: boolean }> {
  let place =
    (wish.isHere ? undefined : await hostInDaemon(wish, around)) ?? (await hostInThisProcess(wish, around));
  try {
    const word = await wordFor(place, stated, around);
    if (word === undefined) return { place, pod: undefined, isGuest: false };
    const row = findSession(await place.sessions(), word);
    const socket = socketOfOwner(row, wish.dataPaths);
    if (socket !== undefined) {
      refuseOwnProcess(wish, row.id);
      // Whoever has it open shares it.
      await place.close();
      place = podInOtherProcess(row.id, socket, around);
      place.notices.post(`the session ${row.id} is open in another process: you have joined it there`);
    }
    const pod = await place.open(row.id);
    await configure(pod, place, wish);
    return { place, pod, isGuest: socket !== undefined };
  } catch (thrown) {
    await place.close();
    throw thrown;
  }
}

/** What only this process could give its agent means nothing where another process has the session open. */
function refuseOwnProcess({ sandbox, mcpServers }: AgentRequest, id: string): void {
  const option = sandbox ? '--sandbox' : mcpServers.length > 0 ? '--mcp-config' : undefined;
  if (option !== undefined)
    throw new PolypodError(
      'conflict',
      `the session ${id} is open in another process, where ${option} has no effect: end that process, or leave out ${option}`,
    );
}

async function configure(
  pod: PodHandle,
  place: PodLocation,
  { fresh: { model, mode, thinking, appendSystem }, offline, allowPaths }: AgentRequest,
): Promise<void> {
  const reference = offline ? 'sim/offline' : model;
  const set: SettingsChange = {
    ...(reference === undefined ? {} : { model: await place.model(reference) }),
    ...(mode === undefined ? {} : { mode }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(appendSystem === undefined ? {} : { appendSystem }),
    ...(allowPaths.length === 0 ? {} : { paths: allowPaths }),
  };
  if (Object.keys(set).length > 0) await pod.handle({ type: 'configure', set }, place.me);
}

async function wordFor(
  place: PodLocation,
  { resume, continue: goesOn, cwd = '.' }: Stated,
  around: Surroundings,
): Promise<string | undefined> {
  if (resume === ASK_WHICH) return pickSession(await place.sessions(), around);
  if (resume !== undefined || !goesOn) return resume;
  const here = resolve(cwd);
  const last = (await place.sessions()).find((row) => row.cwd === here && !row.archived);
  if (last === undefined)
    throw new PolypodError('not-found', `no session was held in ${here}: leave out --continue to begin one`);
  return last.id;
}
