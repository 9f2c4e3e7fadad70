import type { JsonObject } from '../base/index.ts';

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
  readonly diskFreeBytes?: number;
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
}
