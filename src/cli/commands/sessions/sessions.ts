import { PolypodError } from '../../../base/index.ts';
import { runnable } from '../../command.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';
import { listingOptions, ls } from '../ls.ts';
import { archive } from './archive.ts';
import { continueSession } from './continue-session.ts';
import { interrupt } from './interrupt.ts';
import { rewind } from './rewind.ts';
import { show } from './show.ts';

/** `polypod sessions`: actions on whole sessions. */
export const sessions = runnable({
  name: 'sessions',
  summary: 'List, show, continue, interrupt, rewind or archive sessions.',
  usage: '[OPTIONS] [list | show ID | continue ID PROMPT… | interrupt ID… | rewind ID | archive ID…]',
  options: {
    ...listingOptions('list: '),
    undo: { type: 'flag', help: 'archive: restore sessions from the archive' },
    to: {
      type: 'text',
      value: 'ENTRY',
      help: 'rewind: the prompt before which to return, by its entry (default: the last)',
    },
    'files-only': { type: 'flag', help: 'rewind: leave the conversation as it is' },
    overwrite: { type: 'flag', help: 'rewind: also restore files that somebody else changed since' },
    'dry-run': { type: 'flag', help: 'rewind: list the prompts and show what would change' },
    json: { type: 'flag', help: 'print JSON' },
    ...DATA_DIR,
  },
  words: ['list', 'show', 'continue', 'interrupt', 'rewind', 'archive'],
  takes: 'sessions',
  details: `
ID is an id, the beginning or end of one, or a name. list is the default and the same as polypod ls.

continue creates a new session with the conversation of ID, prints its id, and runs it in the daemon. The old session
is not changed; if it is running, it is interrupted first. To continue in the same session, use polypod run --resume
ID. interrupt ends the active or waiting run and waits for its end.

rewind restores the files that the agent has changed with write and edit since a prompt, and returns the conversation
to the point before it. Changes by commands are not tracked. Files that somebody else changed since are skipped. The
replaced versions are saved: /redo in a chat takes the rewind back. list, show, rewind and archive also work without a
daemon.

Exit codes: 0 done, 1 rewind skipped a file, 2 unknown session, or no run to interrupt, 3 no daemon is running.

Examples:
  polypod sessions
  polypod sessions show refactoring
  polypod sessions continue 9f3a41c7 "Now the documentation"
  polypod sessions interrupt 9f3a41c7
  polypod sessions rewind --dry-run 9f3a41c7
  polypod sessions archive 9f3a41c7 c05d1e88
  polypod sessions show --json refactoring | jq '.[].totals.cost'`,
  async run({ values, positionals: [action = 'list', ...words] }, context) {
    const call = { dataPaths: dataPathsOf(values, context), words, isJson: values.json };
    switch (action) {
      case 'list':
        return ls.run([...listOptions(values), ...words], context);
      case 'show':
        return show(call, context);
      case 'continue':
        return continueSession(call, context);
      case 'interrupt':
        return interrupt(call, context);
      case 'rewind':
        return rewind(
          {
            ...call,
            to: values.to,
            parts: values['files-only'] ? 'files' : 'both',
            isOverwriting: values.overwrite,
            isDryRun: values['dry-run'],
          },
          context,
        );
      case 'archive':
        return archive({ ...call, isUndone: values.undo }, context);
      default:
        throw new PolypodError(
          'bad-request',
          `unknown action "${action}": use list, show, continue, interrupt, rewind or archive, as in polypod sessions show ID`,
        );
    }
  },
});

interface ListValues {
  readonly all: boolean;
  readonly search: string | undefined;
  readonly limit: number | undefined;
  readonly json: boolean;
  readonly 'data-dir': string | undefined;
}

/** `list` is `polypod ls` with the same options. */
function listOptions({ all, search, limit, json, 'data-dir': dataDir }: ListValues): readonly string[] {
  return [
    ...(all ? ['--all'] : []),
    ...(search === undefined ? [] : [`--search=${search}`]),
    ...(limit === undefined ? [] : [`--limit=${limit}`]),
    ...(json ? ['--json'] : []),
    ...(dataDir === undefined ? [] : [`--data-dir=${dataDir}`]),
  ];
}
