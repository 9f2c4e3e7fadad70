import { join } from 'node:path';
import { type Log, LOG_LEVELS, type LogLevel, createLog, PolypodError, userName } from '../../base/index.ts';
import type { AuditLog } from '../../audit/index.ts';
import type { Environment } from '../../llm/index.ts';
import {
  daemonLogFile,
  podSocketPathsFit,
  hostSockets,
  lockDataDirectory,
  makeDataDirectory,
  makePrivateDirectory,
  refuseLongSocketPath,
  SHORTER_PATH_HINT,
} from '../../setup/paths/index.ts';
import { openAudit } from '../audit.ts';
import { checkSandbox } from '../doctor/check-sandbox.ts';
import { openLogFile } from '../observe/log-file.ts';
import { Setup } from '../setup.ts';
import { guardSockets } from '../sockets/socket-guard.ts';
import { sweepLocks } from '../sockets/sweep-locks.ts';
import { sweepSockets } from '../sockets/sweep-sockets.ts';
import type { DaemonOptions } from './options.ts';
import type { DaemonParts } from './parts.ts';

/** Loads the configuration, locks the data directory, opens the logs, and removes what killed processes left. */
export async function openDataDirectory(
  options: DaemonOptions,
  parts: DaemonParts,
): Promise<{ readonly setup: Setup; readonly log: Log; readonly audit: AuditLog }> {
  const { env, dataPaths, version } = options;
  const asked = options.logLevel ?? levelIn(env);
  const { setup, warnings } = await Setup.load({ env, dataPaths, offline: options.offline ?? false });
  parts.setup = setup;
  // A missing sandbox is reported at the start, not when the first command runs.
  if (options.sandbox === true || setup.config.sandbox.enabled === true) await checkSandbox(env, dataPaths);
  refuseLongSocketPath(dataPaths);
  makeDataDirectory(dataPaths);
  parts.lock = lockDataDirectory(dataPaths);
  const logFile = (parts.logFile = openLogFile(daemonLogFile(dataPaths)));
  const log = createLog({
    sinks: [logFile.write, ...(options.logSinks ?? [])],
    level: () => asked ?? setup.config.log.level ?? 'info',
    redact: () => setup.redact,
  });
  const audit = (parts.audit = openAudit(dataPaths, {
    redact: () => setup.redact,
    limits: setup.config.daemon.audit,
    onFailure: (reason) => log.error('the audit log cannot be written', { reason }),
  }));
  audit.record({ event: 'daemon.started', door: 'process', by: userName(env), details: { version } });
  for (const warning of warnings) log.warn(warning);
  if (!podSocketPathsFit(dataPaths))
    log.warn(`pods have no sockets of their own here: their paths are too long; ${SHORTER_PATH_HINT}`);
  makePrivateDirectory(dataPaths.runtimeDirectory);
  parts.stopReporting = guardSockets(dataPaths, {
    config: () => setup.config,
    audit: audit.record,
    onRefused: (refused) => log.warn('a connection was refused', { ...refused }),
  });
  parts.socketDirectories = [join(dataPaths.runtimeDirectory, 'pods'), hostSockets(dataPaths)];
  const counts = await Promise.all(parts.socketDirectories.map(sweepSockets));
  const swept = counts.reduce((sum, count) => sum + count, 0);
  if (swept > 0) log.info('removed sockets of processes that have ended', { swept });
  const locks = sweepLocks(dataPaths);
  if (locks > 0) log.info('removed locks of sessions that were never written', { locks });
  return { setup, log, audit };
}

function levelIn({ POLYPOD_LOG_LEVEL: word }: Environment): LogLevel | undefined {
  if (word === undefined || word === '') return undefined;
  const level = LOG_LEVELS.find((known) => known === word);
  if (level !== undefined) return level;
  throw new PolypodError('bad-request', `POLYPOD_LOG_LEVEL is "${word}": it can be ${LOG_LEVELS.join(', ')}`);
}
