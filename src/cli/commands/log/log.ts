import { resolve } from 'node:path';
import { PolypodError } from '../../../base/index.ts';
import { runnable } from '../../command.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';

const ACTIONS = ['verify', 'repair'];

/** `polypod log`: verifies and repairs session files. */
export const log = runnable({
  name: 'log',
  summary: 'Verify session and feed files; repair damaged sessions.',
  usage: 'verify|repair [OPTIONS] [ID|NAME|FILE…]',
  options: {
    json: { type: 'flag', help: 'print one JSON value' },
    'dry-run': { type: 'flag', help: 'repair: print the changes and losses without writing' },
    cwd: {
      type: 'text',
      short: 'C',
      value: 'DIR',
      help: 'repair: the working directory for a session whose header is lost (default: the previous one, or this directory)',
    },
    ...DATA_DIR,
  },
  words: ACTIONS,
  takes: 'sessions',
  details: `
verify reads every line. Without an argument, it verifies all sessions. Every line that Polypod writes ends with a
checksum; lines without one, which other programs wrote, are counted as unverified. A missing parent and an empty file
are also damage. An unfinished last line is the result of a crash: it was never acknowledged, and Polypod truncates it
when it opens the session.

repair repairs a damaged session file; no other command writes to it. It restores wrong bytes with the checksum,
complete lines between damaged bytes, and text in another encoding. Entries after a lost entry are attached to the
entry before it. A tool call whose result is lost gets a result that reports the loss, and a result whose call is lost
is removed from the conversation, so that every provider accepts the history. repair lists the losses, and keeps the
damaged file as FILE.damaged-TIME. It fails while a process has the session open.

Exit codes: 0 no damage, or everything is repaired, 1 damage found (verify, repair --dry-run), 2 usage error, or the
session is open.

Examples:
  polypod log verify
  polypod log verify refactoring
  polypod log verify ~/.pi/agent/sessions/some.jsonl
  polypod log repair --dry-run refactoring
  polypod log repair refactoring`,
  async run({ values, positionals: [action, ...words] }, context) {
    if (action === undefined || !ACTIONS.includes(action))
      throw new PolypodError(
        'bad-request',
        action === undefined
          ? 'the action is missing: polypod log verify, or polypod log repair SESSION'
          : `unknown action "${action}": use polypod log verify or polypod log repair; polypod logs shows events`,
      );
    const { findLogFiles } = await import('./log-files.ts');
    if (action === 'verify') {
      refuseRepairOptions(values['dry-run'], values.cwd);
      const { verify } = await import('./verify.ts');
      return verify(findLogFiles(dataPathsOf(values, context), words), values.json, context);
    }
    if (words.length === 0)
      throw new PolypodError(
        'bad-request',
        'the session to repair is missing: polypod log repair SESSION; polypod log verify lists the damaged ones',
      );
    const { repair } = await import('./repair.ts');
    const cwd = resolve(values.cwd ?? '.');
    const files = findLogFiles(dataPathsOf(values, context), words);
    return repair(files, { isJson: values.json, isDryRun: values['dry-run'], cwd }, context);
  },
});

function refuseRepairOptions(isDryRun: boolean, cwd: string | undefined): void {
  const option = isDryRun ? '--dry-run' : cwd === undefined ? undefined : '--cwd';
  if (option !== undefined)
    throw new PolypodError('bad-request', `${option} belongs to polypod log repair; verify changes nothing`);
}
