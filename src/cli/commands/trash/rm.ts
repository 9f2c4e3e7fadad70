import { createInterface } from 'node:readline/promises';
import { PolypodError } from '../../../base/index.ts';
import { daemonLink, removeSession } from '../../../daemon/index.ts';
import { findSession } from '../../../setup/index.ts';
import { type Row, sessionsIn } from '../../../pod/sessions.ts';
import { EXIT, runnable, type CommandContext } from '../../command.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';
import { hostFiles } from '../../hosting/host-in-process.ts';
import { sanitizeLine } from '../../../terminal/index.ts';

/** `polypod rm`: moves sessions to the trash. */
export const rm = runnable({
  name: 'rm',
  summary: 'Move sessions to the trash, where they are kept for 30 days.',
  usage: '[OPTIONS] ID|NAME…',
  options: {
    yes: { type: 'flag', short: 'y', help: 'do not ask for confirmation' },
    ...DATA_DIR,
  },
  takes: 'sessions',
  details: `
ID can be the beginning or end of an id. The sessions of its sub-agents are moved too. On a terminal, rm asks
for confirmation. polypod trash restore ID restores a session with its sub-agents.

Exit codes: 0 moved, 1 not confirmed, 2 unknown session, or in use by another process.

Examples:
  polypod rm 9f3a41c7
  polypod rm --yes refactoring`,
  async run({ values, positionals }, context) {
    if (positionals.length === 0)
      throw new PolypodError('bad-request', 'the session is missing: polypod rm ID; polypod ls lists them');
    const dataPaths = dataPathsOf(values, context);
    const rows = sessionsIn(dataPaths.dataDirectory);
    const selected = positionals.map((word) => findSession(rows, word));
    const isAsked = !values.yes && context.stdin.isTTY === true && context.stderr.isTTY === true;
    if (isAsked && !(await isConfirmed(selected, context))) return EXIT.failed;
    const link = await daemonLink(dataPaths);
    if (link === undefined) {
      const host = await hostFiles(dataPaths);
      try {
        for (const { id } of selected) await removeSession(host, dataPaths.dataDirectory, id);
      } finally {
        await host.shutdown();
      }
    } else {
      try {
        for (const { id } of selected) await link.call('rm', { pod: id });
      } finally {
        link.close();
      }
    }
    for (const { id } of selected) context.stderr.write(`polypod: moved ${id} to the trash\n`);
    return EXIT.ok;
  },
});

async function isConfirmed(
  rows: readonly Row[],
  { stdin, stderr, signal }: CommandContext,
): Promise<boolean> {
  for (const { id, name, firstPrompt } of rows)
    stderr.write(`  ${sanitizeLine([id, name, firstPrompt].filter(Boolean).join('  '))}\n`);
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const what = rows.length === 1 ? 'this session' : `these ${rows.length} sessions`;
    const answer = await lines.question(`Move ${what} to the trash? [y/N] `, { signal });
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
