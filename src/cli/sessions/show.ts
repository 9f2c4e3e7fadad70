import { Layout, sessionsIn } from '../../pod/sessions.ts';
import { EXIT, type ExitCode, type Surroundings } from '../command.ts';
import { withTrueStates } from '../ls.ts';
import { type SessionsCall, sessionsMeant } from './call.ts';
import { described } from './described.ts';

/** `polypod sessions show`: all that is known of sessions, from the catalogue. */
export async function show(call: SessionsCall, { stdout }: Pick<Surroundings, 'stdout'>): Promise<ExitCode> {
  const { dataDirectory } = call.places;
  const rows = sessionsIn(dataDirectory);
  const shown = await withTrueStates(sessionsMeant(call, 'show'), new Layout(dataDirectory));
  const whole = shown.map((row) => ({
    ...row,
    children: rows.flatMap(({ id, parentId }) => (parentId === row.id ? [id] : [])),
  }));
  const now = new Date();
  if (call.isJson) stdout.write(`${JSON.stringify(whole, null, 2)}\n`);
  else stdout.write(whole.map((session) => described(session, now)).join('\n'));
  return EXIT.ok;
}
