import type { PodHandle } from '../../control/index.ts';
import type { DataPaths } from '../../setup/index.ts';
import type { ExitCode, Surroundings } from '../command.ts';
import { wantsPlain } from '../../terminal/index.ts';
import { HistoryFile } from './history-file.ts';
import type { PodLocation } from '../hosting/index.ts';
import { plainChat } from './plain-chat.ts';
import { terminalChat } from './terminal-chat.ts';

export interface Chat {
  readonly place: PodLocation;
  /** The session to continue; a new session if undefined. */
  readonly pod: PodHandle | undefined;
  readonly prompt: string | undefined;
  readonly dataPaths: DataPaths;
  readonly isPlain: boolean;
  /** Store neither the session nor the prompts. */
  readonly isFleeting: boolean;
  /** Other clients may use the pod: they can answer its approvals after this chat has ended. */
  readonly isGuest: boolean;
}

/** Runs the chat until the user leaves, then closes the location. */
export async function holdChat(
  { place, pod, prompt, dataPaths, isPlain, isFleeting, isGuest }: Chat,
  around: Surroundings,
): Promise<ExitCode> {
  try {
    if (isPlain || wantsPlain(around, around.env))
      return await plainChat({ place, pod, prompt, isGuest }, around);
    const history = isFleeting ? undefined : new HistoryFile(dataPaths.dataDirectory);
    return await terminalChat({ place, pod, prompt, history }, around);
  } finally {
    await place.close();
  }
}
