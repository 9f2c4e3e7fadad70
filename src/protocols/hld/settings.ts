import type { Log } from '../../base/index.ts';
import type { Host, ModelChoice } from '../../pod/index.ts';

/** Limits on the bytes that clients have not read. */
export interface BacklogLimits {
  /** Bytes for one subscriber. */
  readonly connectionBytes: number;
  /** Bytes for all connections of the door together. */
  readonly doorBytes: number;
  /** While the door is above its limit, it closes a connection that has read nothing for this long. */
  readonly stalledMs: number;
}

/** What the process passes to the door. */
export interface HldSettings {
  readonly host: Host;
  readonly socketPath: string;
  readonly version: string;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught?: (thrown: unknown) => void;
  /** The default working directory of sessions. */
  readonly cwd: string;
  /** The directory that `~` expands to. */
  readonly home: string;
  /** Resolves an alias such as `opus`, or a model reference; undefined if there is none. */
  readonly modelNamed: (word: string) => Promise<ModelChoice | undefined>;
  readonly heartbeatMs?: number;
  /** Overrides the default backlog limits. */
  readonly limits?: Partial<BacklogLimits>;
  readonly now?: () => number;
}

/** The socket path that clients use: `HUMANLAYER_DAEMON_SOCKET` if it is set, else a path in their home directory. */
export function hldSocketPath(wanted: string | undefined, home: string): string {
  if (wanted === undefined || wanted === '') return `${home}/.humanlayer/daemon.sock`;
  return /^~(?=\/|$)/.test(wanted) ? `${home}${wanted.slice(1)}` : wanted;
}

export const DEFAULT_HEARTBEAT_MS = 30_000;
export const DEFAULT_LIMITS: BacklogLimits = {
  connectionBytes: 8 * 1024 * 1024,
  doorBytes: 64 * 1024 * 1024,
  stalledMs: 2_000,
};

/** The caller for all clients: the protocol has no user names. The model sees it in front of a denial's comment. */
export const CALLER = { by: 'The user', door: 'hld' } as const;
