import { PolypodError } from '../../base/index.ts';
import { type SavedRule, type DataPaths, readRules, removeRules } from '../../setup/index.ts';
import { recordAudit } from '../../daemon/index.ts';
import { relativeTime } from '../output/relative-time.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { currentUserName } from '../current-user.ts';
import { table } from '../output/table.ts';
import { sanitizeLine } from '../../terminal/index.ts';

/** `polypod rules`: lists and removes saved rules. */
export const rules = runnable({
  name: 'rules',
  summary: 'List and remove the rules created by answering "always".',
  usage: 'list|rm ID… [OPTIONS]',
  options: { json: { type: 'flag', help: 'print JSON' }, ...DATA_DIR },
  words: ['list', 'rm'],
  details: `
A rule belongs to the person who created it (the local user or the owner of a key) and to the directory of the
session. It applies to that person's tasks in that directory and below. The rules are stored in rules.json in the
configuration directory. Rules for all users belong in config.yaml (permissions.rules). A running daemon applies every
change immediately.

Exit codes: 0 done, 2 usage error, or unknown rule, 3 system error.

Examples:
  polypod rules list
  polypod rules rm 3f1c9a4e77b2`,
  async run({ values, positionals: [action, ...words] }, context) {
    const dataPaths = dataPathsOf(values, context);
    if (action === 'list' && words.length === 0) return list(dataPaths, values.json, context);
    if (action === 'rm' && words.length > 0) return remove(dataPaths, words, values.json, context);
    throw new PolypodError(
      'bad-request',
      action === 'rm'
        ? 'rm needs the id of a rule: polypod rules list shows the ids'
        : 'the action must be list or rm: polypod rules list',
    );
  },
});

async function list(
  dataPaths: DataPaths,
  json: boolean,
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const all = await readRules(dataPaths);
  if (json) stdout.write(`${JSON.stringify(all, null, 2)}\n`);
  else if (all.length === 0) stderr.write('there are no rules; answering "always" creates one\n');
  else {
    const now = new Date();
    const cells = all.map((kept) => [
      kept.id,
      kept.owner ?? 'local user',
      kept.directory,
      sanitizeLine(ruleText(kept)),
      kept.createdAt === '' ? '' : relativeTime(kept.createdAt, now),
    ]);
    stdout.write(
      table([['id', 'person', 'directory', 'rule', 'age'], ...cells], { columns: stdout.columns }),
    );
  }
  return EXIT.ok;
}

async function remove(
  dataPaths: DataPaths,
  ids: readonly string[],
  json: boolean,
  context: CommandContext,
): Promise<ExitCode> {
  const removed = await removeRules(dataPaths, ids);
  const by = currentUserName(context);
  await recordAudit(
    dataPaths,
    removed.map(({ id, rule, directory, owner }) => ({
      event: 'rule.removed',
      door: 'cli',
      by,
      target: id,
      details: { rule, directory, owner },
    })),
  );
  if (json) context.stdout.write(`${JSON.stringify(removed, null, 2)}\n`);
  else
    for (const kept of removed)
      context.stderr.write(`polypod rules: removed ${sanitizeLine(ruleText(kept))}\n`);
  return EXIT.ok;
}

function ruleText({ rule: { action, tool, command, exact, path, host } }: SavedRule): string {
  return [
    action,
    ...(tool === undefined ? [] : [tool]),
    ...(command === undefined ? [] : [exact === true ? `exactly ${command}` : command]),
    ...(path === undefined ? [] : [path]),
    ...(host === undefined ? [] : [host]),
  ].join(' ');
}
