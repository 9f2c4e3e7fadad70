import { daemonLink } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { openHostInProcess } from '../../hosting/host-in-process.ts';
import { callerIn, type SessionsCall, findSessions } from './sessions-call.ts';

/** `polypod sessions archive`: hides sessions from lists, or shows them again. */
export async function archive(
  call: SessionsCall & { readonly isUndone: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const selected = findSessions(call, 'archive');
  const archived = !call.isUndone;
  const ids = selected.map(({ id }) => id);
  await setArchived(ids, archived, call.dataPaths, context);
  const done = archived ? 'archived' : 'restored from the archive';
  if (call.isJson) context.stdout.write(`${JSON.stringify(ids.map((id) => ({ id, archived })))}\n`);
  else for (const id of ids) context.stderr.write(`polypod: ${done} ${id}\n`);
  return EXIT.ok;
}

/** Uses the daemon, which may have the sessions open; without a daemon, this process without a model. */
async function setArchived(
  ids: readonly string[],
  archived: boolean,
  dataPaths: DataPaths,
  context: CommandContext,
): Promise<void> {
  const command = { type: 'configure', set: { archived } } as const;
  const caller = callerIn(context);
  const link = await daemonLink(dataPaths);
  if (link !== undefined) {
    try {
      for (const id of ids) await link.call('command', { pod: id, command, by: caller.by });
    } finally {
      link.close();
    }
    return;
  }
  const { host, close } = await openHostInProcess({ dataPaths, offline: true }, context);
  try {
    for (const id of ids) await host.pod(id).handle(command, caller);
  } finally {
    await close();
  }
}
