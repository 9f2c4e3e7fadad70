import { once } from 'node:events';
import { LOG_LEVELS, messageOf, PolypodError } from '../base/index.ts';
import { startDaemon } from '../daemon/index.ts';
import { doors } from '../registry.ts';
import { EXIT, runnable } from './command.ts';
import { DATA_DIR, placesOf } from './data-dir.ts';
import { serveDetached } from './detached.ts';
import { logLine } from './log-line.ts';
import { brush, wantsColour } from './paint.ts';
import { version } from './version.ts';

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
    ...DATA_DIR,
    offline: { type: 'flag', help: 'only the built-in simulated model' },
    'log-level': { type: 'choice', choices: LOG_LEVELS, help: 'how much is logged (default: info)' },
    quiet: { type: 'flag', short: 'q', help: 'log to the file only, not to stderr' },
    json: { type: 'flag', help: 'tell process and socket as one JSON object when it is ready' },
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
    if (positionals.length > 0)
      throw new PolypodError('bad-request', `serve takes no argument, not "${positionals.join(' ')}"`);
    const places = placesOf(values, around);
    if (values.detach) return serveDetached(values, places, around);
    const paint = brush(wantsColour(around.stderr, around.env));
    const daemon = await startDaemon({
      env: around.env,
      places,
      version: version(),
      doors,
      offline: values.offline,
      logLevel: values['log-level'],
      logSinks: values.quiet ? [] : [(entry) => void around.stderr.write(logLine(entry, paint))],
    });
    // The terminal it was started from may go; the log is in its file too.
    around.stderr.on('error', () => {});
    // A wrong file has been logged, and changes nothing.
    around.onHangUp(() => void daemon.reload().catch(() => {}));
    around.onCrash((thrown) => daemon.log.error('a bug ends the daemon', { reason: messageOf(thrown) }));
    if (values.json)
      around.stdout.write(
        `${JSON.stringify({ pid: process.pid, socket: daemon.socket, version: version() })}\n`,
      );
    const interrupted = around.signal.aborted ? undefined : once(around.signal, 'abort');
    await Promise.race([interrupted, daemon.stopped]);
    await daemon.stop('by a signal');
    return EXIT.ok;
  },
});
