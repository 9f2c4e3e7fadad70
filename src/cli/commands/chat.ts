import { resolve } from 'node:path';
import { PolypodError, withoutUndefined } from '../../base/index.ts';
import type { PodHandle } from '../../control/index.ts';
import { findSession } from '../../setup/index.ts';
import type { SettingsChange } from '../../pod/index.ts';
import { RESUME_FROM_LIST, runChat, pickSession, withBareResume } from '../chat/index.ts';
import { EXIT, type Runnable, runnable, type CommandContext } from '../command.ts';
import {
  AGENT_OPTIONS,
  type AgentRequest,
  readAgentRequest,
  exclusive,
  type PodLocation,
  hostInThisProcess,
  hostInDaemon,
  hostInOtherProcess,
  ownerOf,
  refuseContradictions,
} from '../hosting/index.ts';

const command = runnable({
  name: 'chat',
  summary: 'Chat with an agent that works in this directory.',
  usage: '[OPTIONS] [PROMPT…]',
  options: {
    resume: {
      type: 'text',
      short: 'r',
      value: 'ID|NAME',
      completes: 'sessions',
      help: 'resume a session; without a value: choose from a list',
    },
    continue: { type: 'flag', short: 'c', help: 'resume the last session of this directory' },
    ...AGENT_OPTIONS,
    plain: { type: 'flag', help: 'print plain lines, as without a terminal' },
  },
  details: `
Enter sends the message; during a run it steers the agent, and Alt-Enter queues the message until the run ends. Ctrl-C
cancels the run, Ctrl-D exits. For a call that requires approval, answer yes, no (with an instruction for the model)
or always (in this session or project), or edit the call first. /help lists the commands, !COMMAND runs a shell
command, @ completes a file name, and pasting the path of an image attaches it.

Without a terminal, and with --plain, each input line is a prompt or the answer to an approval request, and the exit
code reports how the runs ended: 0 success, 1 stopped by a limit, 2 rejected, or denied because no one answered, 3
provider or system error.

The session is stored and listed (polypod ls). If the daemon is running (polypod serve), it hosts the session. Otherwise
this process hosts it, and polypod attach can connect to it while this process runs.

Examples:
  polypod chat
  polypod chat "What does this project do?"
  polypod chat --continue
  polypod chat --resume
  echo "Summarise README.md" | polypod chat --mode read-only`,
  async run({ values, positionals }, context) {
    const { resume, continue: continuedBy, plain: isPlain } = values;
    if (resume !== undefined && continuedBy) throw exclusive('--resume', '--continue');
    refuseContradictions(values, resume !== undefined ? '--resume' : continuedBy ? '--continue' : undefined);
    const agentRequest = await readAgentRequest(values, context);
    const { fresh, dataPaths, isEphemeral } = agentRequest;
    // A session that is not stored is not listed, so a title is not worth a request.
    const request = { ...agentRequest, fresh: { ...fresh, autoTitle: !isEphemeral } };
    const found = await opened(request, values, context);
    if (found === undefined) return EXIT.interrupted;
    const { location, pod, hasJoined } = found;
    const prompt = positionals.length === 0 ? undefined : positionals.join(' ');
    return runChat({ location, pod, prompt, dataPaths, isPlain, isEphemeral, hasJoined }, context);
  },
});

/** `polypod chat`: an agent on the terminal. */
export const chat: Runnable = {
  ...command,
  run: (argv, context) => command.run(withBareResume(argv), context),
};

interface ChatValues {
  readonly resume: string | undefined;
  readonly continue: boolean;
  readonly cwd: string | undefined;
  readonly plain: boolean;
}

/**
 * Opens the location, and the session to continue with the settings of the options; no pod for a new session.
 * Undefined if the user closed the list of sessions.
 */
async function opened(
  request: AgentRequest,
  values: ChatValues,
  context: CommandContext,
): Promise<
  | {
      readonly location: PodLocation;
      readonly pod: PodHandle | undefined;
      readonly hasJoined: boolean;
    }
  | undefined
> {
  let location =
    (request.isInProcess ? undefined : await hostInDaemon(request, context)) ??
    (await hostInThisProcess(request, context));
  try {
    const word = await wordFor(location, values, context);
    if (word === undefined && values.resume !== undefined) {
      await location.close();
      return undefined;
    }
    if (word === undefined) return { location, pod: undefined, hasJoined: false };
    const row = findSession(await location.sessions(), word);
    const owner = ownerOf(row, request.dataPaths);
    if (owner !== undefined) refuseOwnProcess(request, row.id);
    const elsewhere = owner && (await hostInOtherProcess(owner, context));
    if (elsewhere !== undefined) {
      await location.close();
      location = elsewhere;
      location.notices.post(`the session ${row.id} is open in another process: you have joined it there`);
    }
    const pod = await location.open(row.id);
    await configure(pod, location, request);
    return { location, pod, hasJoined: elsewhere !== undefined };
  } catch (thrown) {
    await location.close();
    throw thrown;
  }
}

/** Rejects options that only apply to pods of this process if another process has the session open. */
function refuseOwnProcess({ sandbox, mcpServers, extensions }: AgentRequest, id: string): void {
  const option = sandbox
    ? '--sandbox'
    : mcpServers.length > 0
      ? '--mcp-config'
      : extensions.length > 0
        ? '--extension'
        : undefined;
  if (option !== undefined)
    throw new PolypodError(
      'conflict',
      `the session ${id} is open in another process, where ${option} has no effect: end that process, or leave out ${option}`,
    );
}

async function configure(
  pod: PodHandle,
  location: PodLocation,
  { fresh: { model, mode, thinking, appendSystem }, offline, allowPaths }: AgentRequest,
): Promise<void> {
  const reference = offline ? 'sim/offline' : model;
  const set: SettingsChange = {
    ...(reference === undefined ? {} : { model: await location.model(reference) }),
    ...withoutUndefined({ mode, thinking, appendSystem }),
    ...(allowPaths.length === 0 ? {} : { paths: allowPaths }),
  };
  if (Object.keys(set).length > 0) await pod.handle({ type: 'configure', set }, location.me);
}

async function wordFor(
  location: PodLocation,
  { resume, continue: continuedBy, cwd = '.', plain }: ChatValues,
  context: CommandContext,
): Promise<string | undefined> {
  if (resume === RESUME_FROM_LIST) return pickSession(await location.sessions(), plain, context);
  if (resume !== undefined || !continuedBy) return resume;
  const here = resolve(cwd);
  const last = (await location.sessions()).find(
    (row) => row.cwd === here && !row.archived && row.spawned !== true,
  );
  if (last === undefined)
    throw new PolypodError('not-found', `there is no session in ${here}: omit --continue to start one`);
  return last.id;
}
