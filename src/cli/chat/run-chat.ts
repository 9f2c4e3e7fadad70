import type { PodHandle } from '../../control/index.ts';
import { type DataPaths, terminalSettings } from '../../setup/index.ts';
import type { ExitCode, CommandContext } from '../command.ts';
import { wantsPlain } from '../../terminal/index.ts';
import { HistoryFile } from './history-file.ts';
import type { PodLocation } from '../hosting/index.ts';
import { plainChat } from './plain-chat.ts';
import { terminalChat } from './terminal-chat.ts';

export interface Chat {
  readonly location: PodLocation;
  /** The session to continue; a new session if undefined. */
  readonly pod: PodHandle | undefined;
  readonly prompt: string | undefined;
  readonly dataPaths: DataPaths;
  readonly isPlain: boolean;
  /** Store neither the session nor the prompts. */
  readonly isEphemeral: boolean;
  /** Other clients may use the pod: they can answer its approvals after this chat has ended. */
  readonly hasJoined: boolean;
}

/** Runs the chat until the user leaves, then closes the location. */
export async function runChat(
  { location, pod, prompt, dataPaths, isPlain, isEphemeral, hasJoined }: Chat,
  context: CommandContext,
): Promise<ExitCode> {
  try {
    if (isPlain || wantsPlain(context, context.env))
      return await plainChat({ location, pod, prompt, hasJoined }, context);
    const history = isEphemeral ? undefined : new HistoryFile(dataPaths.dataDirectory);
    const settings = await terminalSettings(dataPaths);
    return await terminalChat({ location, pod, prompt, history, settings }, context);
  } finally {
    await location.close();
  }
}
