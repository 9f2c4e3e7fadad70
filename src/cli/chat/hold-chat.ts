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
  /** The session to go on with; a new one otherwise. */
  readonly pod: PodHandle | undefined;
  readonly prompt: string | undefined;
  readonly dataPaths: DataPaths;
  readonly isPlain: boolean;
  /** Nothing is kept, prompts neither. */
  readonly isFleeting: boolean;
  /** The pod is somebody else's, or may be: what it asks is left to those who are there. */
  readonly isGuest: boolean;
}

/** Talks until the person leaves, and closes the place behind them. */
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
