import type { AuditLog } from '../../audit/index.ts';
import { type Log, messageOf } from '../../base/index.ts';
import type { ControlServer } from '../../control/index.ts';
import type { Host } from '../../pod/index.ts';
import type { Lock } from '../../store/index.ts';
import type { LogFile } from '../observe/log-file.ts';
import type { OpenDoors } from '../open-doors.ts';
import type { Setup } from '../setup.ts';
import { sweepSockets } from '../sockets/sweep-sockets.ts';
import type { RevokedTasks } from '../tasks/revoked-tasks.ts';

/** What a daemon has opened so far. A start that fails closes them again. */
export interface DaemonParts {
  lock?: Lock;
  /** The directories of the sockets of pods and of commands that host pods. */
  socketDirectories?: readonly string[];
  logFile?: LogFile;
  audit?: AuditLog;
  /** Stops logging refused connections. */
  stopReporting?: () => void;
  setup?: Setup;
  stopWatchingConfig?: () => void;
  host?: Host;
  doors?: OpenDoors;
  control?: ControlServer;
  revokedTasks?: RevokedTasks;
}

/** Closes the pods before the doors, so that clients receive the last events. The lock is released last. */
export async function closeParts(
  {
    host,
    doors,
    control,
    setup,
    logFile,
    audit,
    lock,
    socketDirectories = [],
    stopReporting,
    stopWatchingConfig,
    revokedTasks,
  }: DaemonParts,
  log?: Log,
): Promise<void> {
  const step = async (name: string, close: () => unknown): Promise<void> => {
    try {
      await close();
    } catch (thrown) {
      log?.error(`cannot close the ${name}`, { reason: messageOf(thrown) });
    }
  };
  stopWatchingConfig?.();
  revokedTasks?.close();
  await step('pods', () => host?.shutdown());
  await step('doors', () => doors?.close());
  await step('control socket', () => control?.close());
  // A command that was killed leaves its socket.
  await step('left sockets', () => Promise.all(socketDirectories.map(sweepSockets)));
  await step('models', () => setup?.close());
  stopReporting?.();
  await step('audit log', () => audit?.close());
  log?.info('stopped');
  await step('log', () => logFile?.close());
  await step('lock', () => lock?.release());
}
