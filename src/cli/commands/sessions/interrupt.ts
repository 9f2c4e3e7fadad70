import { PolypodError } from '../../../base/index.ts';
import { type ControlLink, remotePod } from '../../../control/index.ts';
import type { Caller } from '../../../pod/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { callerIn, type SessionsCall, findSessions } from './sessions-call.ts';
import { requireDaemon } from '../../hosting/require-daemon.ts';

/** `polypod sessions interrupt`: cancels running and waiting runs. */
export async function interrupt(call: SessionsCall, context: CommandContext): Promise<ExitCode> {
  const selected = findSessions(call, 'interrupt');
  const link = await requireDaemon(call.dataPaths);
  try {
    for (const { id } of selected) {
      if (!(await endRunOf(id, link, callerIn(context))))
        throw new PolypodError('conflict', `no run is active in ${id}: see polypod sessions show ${id}`);
      if (!call.isJson) context.stderr.write(`polypod: interrupted ${id}\n`);
    }
    if (call.isJson) context.stdout.write(`${JSON.stringify(selected.map(({ id }) => ({ id })))}\n`);
    return EXIT.ok;
  } finally {
    link.close();
  }
}

/** Cancels the run of a session in the daemon and waits for its end. Resolves with false if there was none. */
export async function endRunOf(id: string, link: ControlLink, caller: Caller): Promise<boolean> {
  const { endRun } = await import('../../../pod/index.ts');
  return endRun(await remotePod(id, link), caller);
}
