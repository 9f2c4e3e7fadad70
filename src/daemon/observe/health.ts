import { type JsonObject, withoutUndefined } from '../../base/index.ts';
import { DEFAULT_LIMITS, type Host, type HostLimits } from '../../pod/index.ts';
import { diskFree } from '../../setup/paths/index.ts';
import type { Counts } from './event-counts.ts';

export type DaemonState = 'starting' | 'ready' | 'draining';

/** The state of a door: open, off by configuration, or failed, with the reason. */
export interface DoorHealth {
  readonly name: string;
  readonly state: 'open' | 'off' | 'unavailable';
  readonly reason?: string;
  readonly details?: JsonObject;
}

/** The state of a daemon for its operator. */
export interface Health {
  readonly state: DaemonState;
  readonly pid: number;
  readonly version: string;
  readonly startedAt: string;
  readonly uptimeSeconds: number;
  readonly dataDirectory: string;
  readonly pods: { readonly live: number; readonly limit: number };
  readonly runs: { readonly active: number; readonly limit: number };
  readonly sessions: number;
  readonly pendingApprovals: number;
  readonly doors: readonly DoorHealth[];
  /** Failures that were not the result of a command. */
  readonly failures: number;
  /** Unexpected errors that ended a connection or a request, but not the daemon. */
  readonly contained: number;
  /** Connections to our sockets that were refused because of the connecting process. */
  readonly refusedConnections: number;
  /** Since the start. */
  readonly counts: Counts;
  readonly diskFreeBytes?: number;
  /** How commands of agents are isolated and limited; only on request. */
  readonly commands?: { readonly isolation: string; readonly limits: string };
  readonly memoryBytes: number;
  /** The JavaScript heap in use, including garbage. */
  readonly heapBytes: number;
  readonly cpuSeconds: number;
}

/** The sources of the health report. */
export interface HealthParts {
  readonly host: Host;
  readonly doors: { readonly health: () => readonly DoorHealth[] };
  readonly version: string;
  readonly limits: Partial<HostLimits>;
  readonly dataDirectory: string;
  readonly startedAt: Date;
  readonly state: () => DaemonState;
  readonly failures: () => number;
  readonly contained: () => number;
  readonly refusedConnections: () => number;
  readonly counts: () => Counts;
}

export function healthOf(parts: HealthParts): () => Promise<Health> {
  const { host, doors, version, limits, dataDirectory, startedAt } = parts;
  return async () => {
    const { pods, runs, sessions } = host.usage;
    const { user, system } = process.cpuUsage();
    const free = diskFree(dataDirectory);
    return {
      state: parts.state(),
      pid: process.pid,
      version,
      startedAt: startedAt.toISOString(),
      uptimeSeconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
      dataDirectory,
      pods: { live: pods, limit: limits.pods ?? DEFAULT_LIMITS.pods },
      runs: { active: runs, limit: limits.runs ?? DEFAULT_LIMITS.runs },
      sessions,
      pendingApprovals: (await host.sessions.list()).reduce(
        (sum, { approvals }) => sum + approvals.length,
        0,
      ),
      doors: doors.health(),
      failures: parts.failures(),
      contained: parts.contained(),
      refusedConnections: parts.refusedConnections(),
      counts: parts.counts(),
      ...withoutUndefined({ diskFreeBytes: free }),
      memoryBytes: process.memoryUsage.rss(),
      heapBytes: process.memoryUsage().heapUsed,
      cpuSeconds: (user + system) / 1e6,
    };
  };
}
