import { NO_AUTH_WARNING } from '../../daemon/index.ts';
import { type DataPaths, readConfig } from '../../setup/index.ts';
import { doors } from '../../registry.ts';
import { runnable, type CommandContext } from '../command.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { dataPathsOf } from '../args/data-dir.ts';
import { serveDetached } from '../hosting/start-daemon.ts';
import { DAEMON_OPTIONS, runDaemon } from '../hosting/run-daemon.ts';

async function warnOfOpenAgent(dataPaths: DataPaths, { stderr }: CommandContext): Promise<void> {
  const { config } = await readConfig(dataPaths);
  const { tasks, doors: wanted } = config.daemon;
  if (tasks?.no_auth === true && wanted.tasks !== false)
    stderr.write(`polypod serve: warning: ${NO_AUTH_WARNING}\n`);
}

/** `polypod serve`: runs the daemon. */
export const serve = runnable({
  name: 'serve',
  summary: 'Start the daemon: one process that hosts agents for any number of clients.',
  usage: '[OPTIONS]',
  options: {
    detach: {
      type: 'flag',
      short: 'd',
      help: 'run in the background; returns when the daemon is ready, or prints why it failed',
    },
    ...DAEMON_OPTIONS,
  },
  details: `
The daemon locks its data directory: a second daemon on it fails to start. Its log is logs/polypod.log in the data
directory (see polypod logs).
SIGTERM and SIGINT: no new run starts, active runs can finish within shutdown_grace (config.yaml, 10 s), the daemon
interrupts the rest and exits with 0. Runs with a pending approval are kept; they resume after a restart when the
approval is decided. The daemon reloads config.yaml when it changes, and on SIGHUP or polypod reload; the log shows
which changes are in force and which need a restart.
Doors, limits, durability and deadlines are configured in config.yaml (see docs/daemon.md).

Exit codes: 0 stopped on request, 2 configuration error, or a daemon is already running, 3 system error.

Examples:
  polypod serve
  polypod serve --detach && polypod status
  polypod serve --data-dir ./sandbox --offline`,
  async run({ values, positionals }, context) {
    refuseArguments('serve', positionals);
    const dataPaths = dataPathsOf(values, context);
    // The log contains this warning too, but is not shown in these cases.
    if (values.quiet || values.detach) await warnOfOpenAgent(dataPaths, context);
    if (values.detach) return serveDetached(values, dataPaths, context);
    return runDaemon({ env: context.env, dataPaths, doors }, values, context);
  },
});
