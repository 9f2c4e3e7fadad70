import { NO_AUTH_WARNING } from '../../daemon/index.ts';
import { type DataPaths, readConfig } from '../../setup/index.ts';
import { doors } from '../../registry.ts';
import { runnable, type Surroundings } from '../command.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { dataPathsOf } from '../args/data-dir.ts';
import { serveDetached } from '../hosting/start-daemon.ts';
import { DAEMON_OPTIONS, runDaemon } from '../hosting/run-daemon.ts';

async function warnOfOpenAgent(dataPaths: DataPaths, { stderr }: Surroundings): Promise<void> {
  const { config } = await readConfig(dataPaths);
  const { tasks, doors: wanted } = config.daemon;
  if (tasks?.no_auth === true && wanted.tasks !== false)
    stderr.write(`polypod serve: warning: ${NO_AUTH_WARNING}\n`);
}

/** `polypod serve`: the daemon. */
export const serve = runnable({
  name: 'serve',
  summary: 'Host agents in one process that any number of clients drive and watch.',
  usage: '[OPTIONS]',
  options: {
    detach: {
      type: 'flag',
      short: 'd',
      help: 'in the background; returns when it is ready, or tells why not',
    },
    ...DAEMON_OPTIONS,
  },
  details: `
It owns a data directory: a second one there is refused. Its log is logs/polypod.log in it (see polypod logs).
SIGTERM and SIGINT: no run begins any more, those under way may end (shutdown_grace in config.yaml, 10 s), the rest is
interrupted, and it exits with 0. Runs that wait for an approval are kept, and go on when it is back and they are decided.
SIGHUP: reads config.yaml again; the log says what is in force at once and what needs a restart.
Which doors are open, limits, durability and deadlines are configured there too (see docs/daemon.md).

Exit codes: 0 stopped as asked, 2 configuration, or a daemon is up already, 3 system.

Examples:
  polypod serve
  polypod serve --detach && polypod status
  polypod serve --data-dir ./sandbox --offline`,
  async run({ values, positionals }, around) {
    refuseArguments('serve', positionals);
    const dataPaths = dataPathsOf(values, around);
    // The log has it too, which is not shown then.
    if (values.quiet || values.detach) await warnOfOpenAgent(dataPaths, around);
    if (values.detach) return serveDetached(values, dataPaths, around);
    return runDaemon({ env: around.env, dataPaths, doors }, values, around);
  },
});
