import { PolypodError } from '../../../base/index.ts';
import { findSession, type DataPaths } from '../../../setup/index.ts';
import type { Caller } from '../../../pod/index.ts';
import { type Row, sessionsIn } from '../../../pod/sessions.ts';
import { currentUserName } from '../../current-user.ts';
import type { CommandContext } from '../../command.ts';

/** The parsed arguments of a `polypod sessions` action. */
export interface SessionsCall {
  readonly dataPaths: DataPaths;
  readonly words: readonly string[];
  readonly isJson: boolean;
}

/** Finds the sessions that the arguments name. Rejects if there are none. */
export function findSessions({ dataPaths, words }: SessionsCall, action: string): readonly Row[] {
  if (words.length === 0)
    throw new PolypodError(
      'bad-request',
      `${action} needs a session: polypod sessions ${action} ID; polypod sessions lists them`,
    );
  const rows = sessionsIn(dataPaths.dataDirectory);
  return words.map((word) => findSession(rows, word));
}

export function callerIn(context: Pick<CommandContext, 'env'>): Caller {
  return { by: currentUserName(context), door: 'cli' };
}
