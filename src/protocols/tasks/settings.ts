import type { Audit } from '../../audit/index.ts';
import type { JsonObject, Log } from '../../base/index.ts';
import type { Host, ModelChoice, PermissionMode, Pod, PodEvent, Snapshot } from '../../pod/index.ts';
import type { BodyLimits, HttpServerLimits, Rate, WebSocketLimits } from '../../wire/index.ts';
import type { GivenKey } from './keys/key-ring.ts';
import type { StreamLine } from './wire.ts';

/** A URL that is notified when tasks change. It comes from the configuration, never from a client. */
export interface Webhook {
  readonly url: string;
  /** Signs what is sent, so that the receiver can verify the sender. */
  readonly secret: string;
  /** Whether the address may be one of this machine or its network. */
  readonly allowPrivate?: boolean;
}

/** How webhooks are retried. */
export interface WebhookLimits {
  readonly attempts: number;
  /** Before the second attempt; then twice as long each time. */
  readonly firstDelayMs: number;
  readonly timeoutMs: number;
  /** For what is still to be told when the agent stops. */
  readonly lastMs: number;
  /** Messages that may wait; what comes beyond is left out, and logged. */
  readonly waiting: number;
}

/** What the door is given by the process that opens it. */
export interface TasksSettings {
  readonly host: Host;
  readonly version: string;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection or a request. */
  readonly caught?: (thrown: unknown) => void;
  /** The agent's own name, for `GET /status`. */
  readonly name?: string;
  /** 127.0.0.1 and 8000 if nothing is said. */
  readonly address?: string;
  readonly port?: number;
  /** PEM texts of the certificate and its key; with `clientCa`, clients must show a certificate of that authority too. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
  /** Somebody in front of us speaks TLS: said explicitly, it permits an address that others reach. */
  readonly behindProxy?: boolean;
  /** Names under which the server is reached, and pages that may use it; none if nothing is said. */
  readonly hosts?: readonly string[];
  readonly origins?: readonly string[];
  /** Where the keys are kept, and keys from the environment. */
  readonly keyFile?: string;
  readonly keys?: readonly GivenKey[];
  /** Lets everybody in who reaches a loopback address. */
  readonly noAuth?: boolean;
  /** Where sessions work that do not say where, and where others may. */
  readonly cwd: string;
  readonly directories?: readonly string[];
  /** The most that a key permits which says nothing about it. */
  readonly mode?: PermissionMode;
  /** What holds for every agent here. Where it is less than usual it counts too; more has to be said of the door itself. */
  readonly usualMode?: () => PermissionMode | undefined;
  /** No owner approves what their own tasks ask, whichever key they have. */
  readonly fourEyes?: boolean;
  /** The model of tasks that name none, as a reference; the agent's own if nothing is said. */
  readonly model?: string;
  /** The model behind a reference; undefined when there is none. */
  readonly modelNamed: (reference: string) => Promise<ModelChoice | undefined>;
  /** What runs `command_execution`: a model that calls this tool with what it is told, word by word. */
  readonly command?: { readonly model: ModelChoice; readonly tool: string };
  /** Projects a pod's events to lines of the extended Pod Protocol: a door does not import another door. */
  readonly project: Project;
  readonly vitals?: Vitals;
  /** Whether new work is refused because the process is about to end. */
  readonly isDraining?: () => boolean;
  /** Records who asked for what. */
  readonly audit?: Audit | undefined;
  /** Who is told when a task is over or somebody is asked. */
  readonly webhooks?: readonly Webhook[];
  readonly limits?: Partial<TasksLimits>;
}

/** The health and the metrics of the process, for clients that monitor it. */
export interface Vitals {
  readonly health: () => Promise<JsonObject>;
  /** In the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
}

export function agentName({ name = 'polypod' }: Pick<TasksSettings, 'name'>): string {
  return name;
}

/** What the door needs beyond what every door gets. */
export type TasksListener = Omit<TasksSettings, 'host' | 'version' | 'log' | 'caught' | 'vitals' | 'audit'>;

/**
 * Projects the events of a pod after a number, then the live ones. Without a number, or where the events after it are no longer
 * kept, a snapshot comes first. All live readers of a pod get the same lists.
 */
export type Project = (
  pod: Pod,
  options: { readonly after?: number; readonly signal: AbortSignal },
) => AsyncIterable<readonly ProjectedEvent[]>;

/** An event of a pod, or a snapshot, beside the lines that clients get of it. */
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
  /** Requests from one address that have no good key. */
  readonly unauthenticated: Rate;
  /** Wrong keys from one address. */
  readonly wrongKeys: Rate;
  readonly webSocket: Partial<WebSocketLimits>;
  /** Sessions that one WebSocket may be subscribed to. */
  readonly subscriptions: number;
  /** Tasks that wait, of all sessions. */
  readonly pending: number;
  /** Streams of one key at the same time. */
  readonly streams: number;
  /** How long a ticket for a stream can be used. */
  readonly ticketMs: number;
  /** Bytes that a stream's client may leave unread before we wait for it. */
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
