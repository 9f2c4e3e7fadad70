import type { JsonObject } from '../../base/index.ts';
import { DEFAULT_LIMITS, type Host, type HostLimits } from '../../pod/index.ts';
import { diskFree } from '../../setup/paths/index.ts';
import type { Counts } from './event-counts.ts';

export type DaemonState = 'starting' | 'ready' | 'draining';

/** A door as it stands: open, closed by configuration, or shut out, and why. */
export interface DoorHealth {
  readonly name: string;
  readonly state: 'open' | 'off' | 'unavailable';
  readonly reason?: string;
  readonly details?: JsonObject;
}

/** What somebody who looks after a daemon wants to know first. */
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
  /** Failures that no command was waiting for. */
  readonly failures: number;
  /** Unexpected errors that ended a connection or a request, and not the daemon. */
  readonly contained: number;
  /** Connections to our sockets that were refused because of the process that made them. */
  readonly refusedConnections: number;
  /** Since the start. */
  readonly counts: Counts;
  readonly diskFreeBytes?: number;
  /** How commands of agents are isolated and limited, in words; only where somebody asks for it. */
  readonly commands?: { readonly isolation: string; readonly limits: string };
  readonly memoryBytes: number;
  /** Heap of JavaScript in use, with what is not yet collected. */
  readonly heapBytes: number;
  readonly cpuSeconds: number;
}

/** What is asked about a daemon's health. */
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
      pendingApprovals: (await host.list()).reduce((sum, { approvals }) => sum + approvals.length, 0),
      doors: doors.health(),
      failures: parts.failures(),
      contained: parts.contained(),
      refusedConnections: parts.refusedConnections(),
      counts: parts.counts(),
      ...(free === undefined ? {} : { diskFreeBytes: free }),
      memoryBytes: process.memoryUsage.rss(),
      heapBytes: process.memoryUsage().heapUsed,
      cpuSeconds: (user + system) / 1e6,
    };
  };
}
