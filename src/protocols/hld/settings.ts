import type { Log } from '../../base/index.ts';
import type { Host, ModelChoice } from '../../pod/index.ts';
import type { BacklogLimits } from './events/backlog.ts';

/** What the door is given by the process that opens it. */
export interface HldSettings {
  readonly host: Host;
  readonly socketPath: string;
  readonly version: string;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection. */
  readonly caught?: (thrown: unknown) => void;
  /** Where sessions work that do not say where. */
  readonly cwd: string;
  /** What `~` stands for. */
  readonly home: string;
  /** The model behind a word such as `opus`, or a reference; undefined when there is none. */
  readonly modelNamed: (word: string) => Promise<ModelChoice | undefined>;
  readonly heartbeatMs?: number;
  /** How much may wait to be read, where it is not as usual. */
  readonly limits?: Partial<BacklogLimits>;
  readonly now?: () => number;
}

/** Where clients look for the daemon: `HUMANLAYER_DAEMON_SOCKET` if it says so, else below their home. */
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

/** Who acts when a client of this wire does: it has no names. The model reads it in front of a denial's comment. */
export const CALLER = { by: 'The user', door: 'hld' } as const;
