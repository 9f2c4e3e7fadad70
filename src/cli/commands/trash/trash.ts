import { PolypodError, stringOf, withoutUndefined } from '../../../base/index.ts';
import { daemonLink, restoreSession } from '../../../daemon/index.ts';
import { type DataPaths, shortIds } from '../../../setup/index.ts';
import { type TrashedSession, trashIn } from '../../../pod/sessions.ts';
import { type CommandContext, EXIT, type ExitCode, runnable } from '../../command.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';
import { openHostInProcess } from '../../hosting/host-in-process.ts';
import { relativeTime } from '../../output/relative-time.ts';
import { table } from '../../output/table.ts';
import { sanitizeLine } from '../../../terminal/index.ts';

/** `polypod trash`: lists and restores removed sessions. */
export const trash = runnable({
  name: 'trash',
  summary: 'List removed sessions, or restore them.',
  usage: '[OPTIONS] [list | restore ID|NAME…]',
  options: {
    json: { type: 'flag', help: 'print JSON' },
    ...DATA_DIR,
  },
  words: ['list', 'restore'],
  takes: { restore: 'trash' },
  details: `
polypod rm moves sessions to the trash. They are deleted 30 days later, when a process that hosts agents starts. list is
the default. restore brings a session back with its conversation, name, settings and sub-agents; ID can be the beginning
or end of an id. It refuses a session whose name another session uses by now: rename one of them first (polypod rename).

Exit codes: 0 done, 2 unknown session, or its name is in use.

Examples:
  polypod trash
  polypod trash restore 9f3a41c7
  polypod trash restore refactoring`,
  async run({ values, positionals: [action = 'list', ...words] }, context) {
    const dataPaths = dataPathsOf(values, context);
    if (action === 'list' && words.length === 0) return list(dataPaths, values.json, context);
    if (action === 'restore' && words.length > 0) return restore(dataPaths, words, values.json, context);
    throw new PolypodError(
      'bad-request',
      action === 'restore'
        ? 'the session is missing: polypod trash restore ID; polypod trash list lists them'
        : `trash cannot "${[action, ...words].join(' ')}": polypod trash list, or polypod trash restore ID`,
    );
  },
});

async function list(
  dataPaths: DataPaths,
  isJson: boolean,
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const sessions = await trashIn(dataPaths.dataDirectory);
  if (isJson)
    stdout.write(
      `${JSON.stringify(
        sessions.map(({ entry: _, ...rest }) => rest),
        null,
        2,
      )}\n`,
    );
  else if (sessions.length === 0) stderr.write('the trash is empty\n');
  else stdout.write(listed(sessions, stdout.columns));
  return EXIT.ok;
}

function listed(sessions: readonly TrashedSession[], columns: number | undefined): string {
  const ids = shortIds(sessions.map(({ id }) => id));
  const now = new Date();
  const cells = sessions.map(({ id, name = '', removedAt, deletedAfter, cwd, firstPrompt = '' }) => [
    ids.get(id) ?? id,
    name,
    relativeTime(removedAt, now),
    deletedAfter.slice(0, 10),
    cwd,
    firstPrompt,
  ]);
  return table([['id', 'name', 'removed', 'deleted after', 'directory', 'about'], ...cells], { columns });
}

/** Uses the daemon, whose clients then see the session; without a daemon, this process without a model. */
async function restore(
  dataPaths: DataPaths,
  words: readonly string[],
  isJson: boolean,
  context: CommandContext,
): Promise<ExitCode> {
  const { dataDirectory } = dataPaths;
  const report = ({ id, name }: { readonly id: string; readonly name?: string }): void => {
    if (isJson) context.stdout.write(`${JSON.stringify({ id, ...withoutUndefined({ name }) })}\n`);
    else context.stderr.write(`polypod: restored ${sanitizeLine([id, name].filter(Boolean).join('  '))}\n`);
  };
  const link = await daemonLink(dataPaths);
  if (link !== undefined) {
    try {
      for (const word of words) {
        const { id, name } = await link.call('restore', { pod: word });
        report({ id: stringOf(id), ...(typeof name === 'string' && { name }) });
      }
    } finally {
      link.close();
    }
    return EXIT.ok;
  }
  // An empty trash needs no data directory.
  const hasSessions = (await trashIn(dataDirectory)).length > 0;
  if (!hasSessions) throw new PolypodError('not-found', 'the trash is empty: there is nothing to restore');
  const { host, close } = await openHostInProcess({ dataPaths, offline: true }, context);
  try {
    for (const word of words) report(await restoreSession(host, dataDirectory, word));
  } finally {
    await close();
  }
  return EXIT.ok;
}
