import { PolypodError } from '../../../base/index.ts';
import { findSession, type DataPaths } from '../../../setup/index.ts';
import type { Caller } from '../../../pod/index.ts';
import { type Row, sessionsIn } from '../../../pod/sessions.ts';
import { currentUserName } from '../../current-user.ts';
import type { Surroundings } from '../../command.ts';

/** What was asked of `polypod sessions`, behind the word that says what to do. */
export interface SessionsCall {
  readonly dataPaths: DataPaths;
  readonly words: readonly string[];
  readonly isJson: boolean;
}

/** The sessions that the words mean; refuses when there are none. */
export function findSessions({ dataPaths, words }: SessionsCall, action: string): readonly Row[] {
  if (words.length === 0)
    throw new PolypodError(
      'bad-request',
      `${action} which session? Try: polypod sessions ${action} ID; polypod sessions lists them`,
    );
  const rows = sessionsIn(dataPaths.dataDirectory);
  return words.map((word) => findSession(rows, word));
}

export function callerIn(around: Pick<Surroundings, 'env'>): Caller {
  return { by: currentUserName(around), door: 'cli' };
}
