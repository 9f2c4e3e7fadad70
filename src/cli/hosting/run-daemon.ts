import { once } from 'node:events';
import { LOG_LEVELS, type LogLevel } from '../../base/index.ts';
import { type DaemonOptions, startDaemon } from '../../daemon/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../command.ts';
import { DATA_DIR } from '../args/data-dir.ts';
import { logLine } from '../output/log-line.ts';
import { brush, wantsColour } from '../../terminal/index.ts';
import { version } from '../version.ts';

/** The options of every command that runs a daemon. */
export const DAEMON_OPTIONS = {
  ...DATA_DIR,
  offline: { type: 'flag', help: 'use only the built-in simulated model' },
  sandbox: { type: 'flag', help: 'run the commands of all agents in a bubblewrap sandbox' },
  'log-level': { type: 'choice', choices: LOG_LEVELS, help: 'the log level (default: info)' },
  quiet: { type: 'flag', short: 'q', help: 'log only to the file, not to stderr' },
  json: { type: 'flag', help: 'print the process id and socket as one JSON object when ready' },
} as const;

export interface DaemonRequest {
  readonly offline: boolean;
  readonly sandbox: boolean;
  readonly 'log-level': LogLevel | undefined;
  readonly quiet: boolean;
  readonly json: boolean;
}

export interface ForegroundOptions
  extends Pick<DaemonOptions, 'env' | 'dataPaths' | 'doors' | 'needsDoors' | 'agent'> {
  /** The socket to print, if it is not the daemon's own. */
  readonly socket?: string;
  /** Additional fields to print. */
  readonly more?: () => object;
}

/** Runs a daemon in the foreground until a signal or a client stops it. */
export async function runDaemon(
  { socket, more = () => ({}), ...options }: ForegroundOptions,
  values: DaemonRequest,
  context: CommandContext,
): Promise<ExitCode> {
  const paint = brush(wantsColour(context.stderr, context.env));
  const daemon = await startDaemon({
    ...options,
    version: version(),
    offline: values.offline,
    sandbox: values.sandbox,
    logLevel: values['log-level'],
    logSinks: values.quiet ? [] : [(entry) => void context.stderr.write(logLine(entry, paint))],
  });
  // The terminal can be closed; the log is also written to a file.
  context.stderr.on('error', () => {});
  // An invalid file has been logged, and changes nothing.
  context.onHangUp(() => void daemon.reload().catch(() => {}));
  context.onUncaught(daemon.uncaught);
  if (values.json)
    context.stdout.write(
      `${JSON.stringify({ pid: process.pid, socket: socket ?? daemon.socket, version: version(), ...more() })}\n`,
    );
  const interrupted = context.signal.aborted ? undefined : once(context.signal, 'abort');
  await Promise.race([interrupted, daemon.stopped]);
  await daemon.stop('by a signal');
  return EXIT.ok;
}
