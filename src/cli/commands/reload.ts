import { arrayOf, stringOf } from '../../base/index.ts';
import { EXIT, runnable } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { requireDaemon } from '../hosting/require-daemon.ts';

/** `polypod reload`: makes the daemon read its configuration again. */
export const reload = runnable({
  name: 'reload',
  summary: 'Make the daemon read config.yaml again.',
  usage: '[OPTIONS]',
  options: { ...DATA_DIR, json: { type: 'flag', help: 'print one JSON object' } },
  details: `
The daemon also reloads the file by itself, about two seconds after it was changed. Runs that are active keep what they
may do; a reload never allows them more. If the file is invalid, nothing changes.

Exit codes: 0 reloaded, 2 the file is invalid or usage error, 3 no daemon is running.

Examples:
  polypod reload
  polypod reload --json`,
  async run({ values, positionals }, context) {
    refuseArguments('reload', positionals);
    const link = await requireDaemon(dataPathsOf(values, context));
    try {
      const result = await link.call('reload');
      if (values.json) context.stdout.write(`${JSON.stringify(result)}\n`);
      else {
        const [applied, forNewPods, afterRestart, warnings] = [
          result.applied,
          result.forNewPods,
          result.afterRestart,
          result.warnings,
        ].map((list) => arrayOf(list).map(stringOf));
        for (const warning of warnings ?? []) context.stderr.write(`polypod: ${warning}\n`);
        const rows = [
          line('applies to new runs', applied),
          line('applies to sessions that are opened from now on', forNewPods),
          line('needs a restart (polypod stop && polypod serve --detach)', afterRestart),
        ].join('');
        context.stdout.write(rows === '' ? 'the configuration has not changed\n' : rows);
      }
      return EXIT.ok;
    } finally {
      link.close();
    }
  },
});

function line(effect: string, keys: readonly string[] = []): string {
  return keys.length === 0 ? '' : `${effect}: ${keys.join(', ')}\n`;
}
