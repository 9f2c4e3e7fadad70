import type { Audit } from '../../audit/index.ts';
import type { JsonObject, Log } from '../../base/index.ts';
import type { Host, ModelChoice, PermissionMode, Pod, PodEvent, Snapshot } from '../../pod/index.ts';
import type { BodyLimits, HttpServerLimits, Proxies, Rate } from '../../wire/index.ts';
import type { EnvironmentKey } from './keys/key-ring.ts';
import type { StreamLine } from './wire.ts';

/** A URL that is notified when tasks change. It comes from the configuration, never from a client. */
export interface Webhook {
  readonly url: string;
  /** The secret that signs messages, so that the receiver can verify the sender. */
  readonly secret: string;
  /** Whether the address may be on this machine or its network. */
  readonly allowPrivate?: boolean;
}

/** How webhooks are retried. */
export interface WebhookLimits {
  readonly attempts: number;
  /** The delay before the second attempt; doubled for each further attempt. */
  readonly firstDelayMs: number;
  readonly timeoutMs: number;
  /** The time limit for the remaining messages when the agent stops. */
  readonly lastMs: number;
  /** The maximum number of pending messages. Further ones are dropped and logged. */
  readonly waiting: number;
}

export interface WebSocketLimits {
  /** Maximum bytes and frames of one message. */
  readonly messageBytes: number;
  readonly messageFrames: number;
  /** How long one message may take to arrive. */
  readonly messageMs: number;
  /** Rate of messages, pings and pongs. */
  readonly frames: Rate;
  /** The ping interval. A client that has sent nothing until the next ping is disconnected. */
  readonly pingMs: number;
  /** After this many pings without progress of our output, the client is disconnected. */
  readonly stalledPings: number;
}

export const WEB_SOCKET_LIMITS: WebSocketLimits = {
  messageBytes: 1024 * 1024,
  messageFrames: 1_024,
  messageMs: 30_000,
  frames: { perMinute: 12_000, burst: 2_000 },
  pingMs: 15_000,
  stalledPings: 4,
};

/** What the process passes to the door. */
export interface TasksSettings {
  readonly host: Host;
  readonly version: string;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection or a request. */
  readonly caught?: (thrown: unknown) => void;
  /** The agent's own name, for `GET /status`. */
  readonly name?: string;
  /** Default: 127.0.0.1 and 8000. */
  readonly address?: string;
  readonly port?: number;
  /** The certificate and its key in PEM format. With `clientCa`, clients must also present a certificate of that authority. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
  /** A proxy terminates TLS. Setting it permits an address that others can reach. */
  readonly behindProxy?: boolean;
  /** The host names of the server, and the origins that may use it; none by default. */
  readonly hosts?: readonly string[];
  readonly origins?: readonly string[];
  /** The key file, and keys from the environment. */
  readonly keyFile?: string;
  readonly keys?: readonly EnvironmentKey[];
  /** Accepts requests without a key on a loopback address. */
  readonly noAuth?: boolean;
  /** The default working directory of sessions, and the permitted ones. */
  readonly cwd: string;
  readonly directories?: readonly string[];
  /** The highest permission mode of a key without a limit. */
  readonly mode?: PermissionMode;
  /** The permission mode of all agents. If it is lower than the default, it applies here too; a higher one must be set for the door. */
  readonly defaultMode?: () => PermissionMode | undefined;
  /** No owner can approve requests of their own tasks, with any key. */
  readonly fourEyes?: boolean;
  /** The model reference for tasks that name none; default: the agent's own. */
  readonly model?: string;
  /** Resolves a model reference; undefined if there is none. */
  readonly modelNamed: (reference: string) => Promise<ModelChoice | undefined>;
  /** Runs `command_execution`: a model that calls this tool with the unchanged prompt. */
  readonly command?: { readonly model: ModelChoice; readonly tool: string };
  /** Projects a pod's events to lines of the extended Pod Protocol: a door does not import another door. */
  readonly project: Project;
  readonly monitoring?: Monitoring;
  /** Whether new work is refused because the process is about to end. */
  readonly isDraining?: () => boolean;
  /** The audit log. */
  readonly audit?: Audit | undefined;
  /** Receivers of notifications about finished tasks and pending approvals. */
  readonly webhooks?: readonly Webhook[];
  /** The proxies through which webhooks are sent. */
  readonly proxies?: Proxies;
  readonly limits?: Partial<TasksLimits>;
}

/** The health and the metrics of the process, for clients that monitor it. */
export interface Monitoring {
  readonly health: () => Promise<JsonObject>;
  /** Metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
}

export function agentName({ name = 'polypod' }: Pick<TasksSettings, 'name'>): string {
  return name;
}

/** What the door requires beyond the shared context. */
export type TasksListener = Omit<
  TasksSettings,
  'host' | 'version' | 'log' | 'caught' | 'monitoring' | 'audit'
>;

/**
 * Projects the events of a pod after a number, then the live ones. Without a number, or if the events after it are no longer stored, a
 * snapshot comes first. All live readers of a pod get the same lists.
 */
export type Project = (
  pod: Pod,
  options: { readonly after?: number; readonly signal: AbortSignal },
) => AsyncIterable<readonly ProjectedEvent[]>;

/** A pod event or a snapshot, with its lines for clients. */
export interface ProjectedEvent {
  /** Undefined for lines about the stream itself, such as an error that ends it. */
  readonly source: PodEvent | { readonly type: 'snapshot'; readonly snapshot: Snapshot } | undefined;
  readonly lines: readonly StreamLine[];
}

export interface TasksLimits {
  readonly http: Partial<HttpServerLimits>;
  readonly body: BodyLimits;
  /** Requests of one key. */
  readonly rate: Rate;
  /** Requests from one address without a valid key. */
  readonly unauthenticated: Rate;
  /** Invalid keys from one address. */
  readonly wrongKeys: Rate;
  readonly webSocket: Partial<WebSocketLimits>;
  /** Sessions that one WebSocket may be subscribed to. */
  readonly subscriptions: number;
  /** Pending tasks of all sessions. */
  readonly pending: number;
  /** Concurrent streams of one key. */
  readonly streams: number;
  /** The lifetime of a stream ticket. */
  readonly ticketMs: number;
  /** Bytes that a stream's client may leave unread before the door waits for it. */
  readonly unreadBytes: number;
  readonly keepAliveMs: number;
  readonly webhooks: Partial<WebhookLimits>;
  /** How often the coordinator of a complex task may delegate. */
  readonly delegations: number;
}

export const TASKS_LIMITS: TasksLimits = {
  http: {},
  body: { bytes: 1024 * 1024, depth: 32 },
  rate: { perMinute: 1_200, burst: 200 },
  unauthenticated: { perMinute: 300, burst: 100 },
  wrongKeys: { perMinute: 30, burst: 10 },
  webSocket: {},
  subscriptions: 1_000,
  pending: 1_000,
  streams: 2_000,
  ticketMs: 60_000,
  unreadBytes: 4 * 1024 * 1024,
  keepAliveMs: 15_000,
  webhooks: {},
  delegations: 8,
};

export interface OpenTasks {
  readonly url: string;
  readonly port: number;
  readonly status: () => JsonObject;
  readonly close: () => Promise<void>;
}
