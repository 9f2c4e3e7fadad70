import { PolypodError } from '../../base/index.ts';
import { daemonLink } from '../../daemon/index.ts';
import { findSession, type DataPaths } from '../../setup/index.ts';
import type { Caller } from '../../pod/index.ts';
import { type Row, sessionsIn } from '../../pod/sessions.ts';
import { EXIT, runnable, type CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { currentUserName } from '../current-user.ts';
import { openHostInProcess } from '../hosting/host-in-process.ts';
import { ownerOf, refuseIfOpenElsewhere } from '../hosting/session-owner.ts';
import { sanitizeLine } from '../../terminal/index.ts';

/** `polypod rename`: gives a session another name. */
export const rename = runnable({
  name: 'rename',
  summary: 'Rename a session.',
  usage: '[OPTIONS] ID|NAME NEW-NAME',
  options: {
    json: { type: 'flag', help: 'print the id and the name as one JSON object' },
    ...DATA_DIR,
  },
  takes: 'sessions',
  details: `
ID can be the beginning or end of an id. The new name can contain spaces if it is quoted; another session must not
have it. If the daemon or another process has the session open, that process renames it, and its clients receive the
change as an event.

Exit codes: 0 renamed, 2 unknown session, or the name is in use or invalid.

Examples:
  polypod rename 9f3a41c7 refactoring
  polypod rename refactoring "refactoring, second part"`,
  async run({ values, positionals: [word, name, ...more] }, context) {
    if (word === undefined || name === undefined)
      throw new PolypodError(
        'bad-request',
        'the session or the new name is missing: polypod rename ID NEW-NAME; polypod ls lists the sessions',
      );
    if (more.length > 0)
      throw new PolypodError(
        'bad-request',
        `rename takes two arguments: quote a name with spaces: polypod rename ${word} "${[name, ...more].join(' ')}"`,
      );
    if (name.trim() === '') throw new PolypodError('bad-request', 'the new name is empty');
    const dataPaths = dataPathsOf(values, context);
    const rows = sessionsIn(dataPaths.dataDirectory);
    const row = findSession(rows, word);
    const other = rows.find((one) => one.name === name && one.id !== row.id);
    if (other !== undefined)
      throw new PolypodError(
        'conflict',
        `the name "${name}" is used by the session ${other.id}: choose another name, or rename that one first`,
      );
    await setName(row, name, dataPaths, context);
    if (values.json) context.stdout.write(`${JSON.stringify({ id: row.id, name })}\n`);
    else context.stderr.write(`polypod: renamed ${row.id} to ${sanitizeLine(name)}\n`);
    return EXIT.ok;
  },
});

/** The process that has the session open renames it; if none has, the daemon, or this process without a model. */
async function setName(row: Row, name: string, dataPaths: DataPaths, context: CommandContext): Promise<void> {
  const command = { type: 'configure', set: { name } } as const;
  const caller: Caller = { by: currentUserName(context), door: 'cli' };
  const link = await (ownerOf(row, dataPaths)?.connect() ?? daemonLink(dataPaths));
  if (link !== undefined) {
    try {
      await link.call('command', { pod: row.id, command, by: caller.by });
    } finally {
      link.close();
    }
    return;
  }
  refuseIfOpenElsewhere(row, dataPaths);
  const { host, close } = await openHostInProcess({ dataPaths, offline: true }, context);
  try {
    await host.pod(row.id).handle(command, caller);
  } finally {
    await close();
  }
}
