import { withoutUndefined } from '../../../base/index.ts';
import { Layout, sessionsIn } from '../../../pod/sessions.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { withActualStates } from '../ls.ts';
import { pendingArguments } from './pending-arguments.ts';
import { type SessionsCall, findSessions } from './sessions-call.ts';
import { sessionDetails } from './session-details.ts';

/** `polypod sessions show`: shows all facts about sessions, from the catalogue and the pending calls. */
export async function show(call: SessionsCall, context: CommandContext): Promise<ExitCode> {
  const { stdout } = context;
  const { dataDirectory } = call.dataPaths;
  const rows = sessionsIn(dataDirectory);
  const shown = await withActualStates(findSessions(call, 'show'), new Layout(dataDirectory));
  const asked = await pendingArguments(shown, call.dataPaths, context);
  const whole = shown.map((row) => ({
    ...row,
    approvals: row.approvals.map((approval) => {
      const json = asked.get(approval.approvalId);
      return { ...approval, ...withoutUndefined({ arguments: json }) };
    }),
    children: rows.flatMap(({ id, parentId }) => (parentId === row.id ? [id] : [])),
  }));
  const style = { now: new Date(), columns: stdout.columns };
  if (call.isJson) stdout.write(`${JSON.stringify(whole, null, 2)}\n`);
  else stdout.write(whole.map((session) => sessionDetails(session, style)).join('\n'));
  return EXIT.ok;
}
