import type { Duplex } from 'node:stream';
import type { Audit } from '../audit/index.ts';
import type { JsonObject, Log } from '../base/index.ts';
import type { Host, ModelChoice, Pod } from '../pod/index.ts';
import type { StreamRule } from '../reminders/index.ts';
import type { OfferedModel } from './rpc/encode/messages.ts';
import type { TasksListener } from './tasks/settings.ts';

/** What a door is given by the process that opens it. */
export interface DoorContext {
  readonly host: Host;
  /** Where its sockets go: a directory that is there, and only for its user. */
  readonly directory: string;
  readonly version: string;
  readonly log: Log;
  /** Reports an error that a door did not expect and that has ended one of its connections. */
  readonly caught?: (thrown: unknown, door: string) => void;
  /** Records what is done and what is refused. */
  readonly audit?: Audit | undefined;
  /** How the whole daemon is, for a door that tells; a process that is none has nothing to tell. */
  readonly vitals?: Vitals;
  /** Whose process it is, for a door that is where its user's clients look for it. */
  readonly user?: User;
  /** The model behind a word such as `opus`, or a reference; undefined when there is none. */
  readonly modelNamed?: (word: string) => Promise<ModelChoice | undefined>;
  /** What agents here have and heed, for a door whose clients choose from it. */
  readonly inventory?: Inventory;
  /** How many named pods the pod door listens for while they are not in memory; a process that is no daemon for none. */
  readonly namedSockets?: number;
  /** Asks the process that listens for a pod to leave the socket to this one, which has the pod in memory. */
  readonly claimSocket?: (podId: string) => Promise<void>;
  /** Where and for whom the tasks door is: it is the one that others may reach. */
  readonly tasks?: TasksListener;
}

/** What there is to choose from, and what holds for every agent, as it is when it is asked. */
export interface Inventory {
  /** Those that can be used now, with the one that answers if nobody chooses. */
  readonly models: () => Promise<readonly OfferedModel[]>;
  /** The model behind a reference, or the one that answers if nobody chooses, and what the person should know; refuses with the next step. */
  readonly model: (
    reference?: string,
  ) => Promise<{ readonly model: OfferedModel; readonly notices: readonly string[] }>;
  readonly refuseUnknownProvider: (name: string) => void;
  /** The tools that agents have of their own. */
  readonly toolNames: () => Promise<readonly string[]>;
  /** What models must not write. */
  readonly streamRules: () => readonly StreamRule[];
  /** The session that a word means: its id, the beginning of it, or its name. */
  readonly session: (word: string) => Promise<{ readonly id: string }>;
}

export interface User {
  readonly home: string;
  /** Where the process was started. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Vitals {
  readonly health: () => Promise<JsonObject>;
  /** In the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
}

/** A door that is open. */
export interface OpenDoor {
  /** What `polypod status` shows of it. `links` and `refused`, how often clients were refused something, are metrics. */
  readonly status: () => JsonObject;
  /** Serves a link that came in through the daemon's own socket and asked for a pod; `head` are the bytes behind that line. */
  readonly attach?: (link: Duplex, pod: Pod, head: Uint8Array) => void;
  /** Leaves the socket of a pod to another process, until that one has left. */
  readonly release?: (podId: string) => Promise<void>;
  /** The process serves: what its start did not have to wait for may begin. */
  readonly ready?: () => void;
  /** Ends all links and takes the sockets away. */
  readonly close: () => Promise<void>;
}

/** One protocol by which clients reach pods. */
export interface Door {
  readonly name: string;
  /** Loads it and opens it; throws with the reason when that cannot be. */
  readonly open: (context: DoorContext) => Promise<OpenDoor>;
}
