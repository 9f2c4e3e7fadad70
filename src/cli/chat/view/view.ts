import type {
  Approval,
  BackgroundCommandStart,
  ModelChoice,
  Origin,
  PodSettings,
  PodState,
  Queued,
} from '../../../pod/index.ts';
import type { TodoItem } from '../../../tools/index.ts';
import type { RunOutcome, Totals } from '../../../worker/index.ts';

/** A running call or shell command. */
export interface Running {
  readonly id: string;
  readonly title: string;
  readonly startedAt: number;
  /** The end of its output so far. */
  readonly text: string;
}

/** Thinking that is still being streamed. */
export interface Thought {
  readonly text: string;
  readonly startedAt: number;
}

/** The state of a pod as a terminal shows it: an immutable value that is reduced from events. */
export interface View {
  readonly podId: string;
  readonly cwd: string;
  /** The local user: their own actions are shown without their name. */
  readonly me: Origin;
  readonly state: PodState;
  readonly settings: PodSettings;
  /** What the session is about; undefined before the first prompt. */
  readonly title: string | undefined;
  readonly model: ModelChoice;
  /** Whether the conversation has any message. */
  readonly hasBegun: boolean;
  /** The current activity in a few words. */
  readonly activity: string;
  readonly since: number;
  /** The characters of the answer so far: the provider reports its token count only at the end. */
  readonly written: number;
  /** By block index. */
  readonly thoughts: ReadonlyMap<number, Thought>;
  /** The source text of the last answer. */
  readonly answer: string;
  readonly calls: readonly Running[];
  readonly shells: readonly Running[];
  /** The background commands of the agent that run. */
  readonly background: readonly BackgroundCommandStart[];
  readonly approvals: readonly Approval[];
  readonly queue: readonly Queued[];
  readonly todos: readonly TodoItem[];
  readonly totals: Totals;
  readonly contextTokens: number;
  readonly contextWindow: number | undefined;
  /** The last run that ended, for callers that wait for it. */
  readonly lastRun: RunEnd | undefined;
  readonly lastShell: string | undefined;
  readonly compactions: number;
  readonly isClosed: boolean;
  /** The approvals that were decided here: another client can have the same user name. */
  readonly decided: ReadonlySet<string>;
  /** Whether another client has acted since the pod is watched: it could also decide approvals. */
  readonly hasOtherClients: boolean;
  /** Whether the pod is currently unreachable. */
  readonly isAway: boolean;
}

export interface RunEnd {
  readonly runId: string;
  readonly outcome: RunOutcome;
}

export function isBusy({ state }: Pick<View, 'state'>): boolean {
  return state === 'running' || state === 'waiting';
}

/** Names of the doors that are not protocols: commands use the daemon's socket or their own process. */
const DOORS: Readonly<Record<string, string>> = { control: 'terminal', cli: 'terminal' };

/** Formats another person or program as `ada through hld`; undefined for the local user or an unknown origin. */
export function formatOtherOrigin(me: Origin, who: Who): string | undefined {
  return who.by === me.by && who.door === me.door ? undefined : nameAndDoor(who);
}

interface Who {
  readonly by?: string | undefined;
  readonly door?: string | undefined;
}

/** `ada through hld`; undefined if the origin is unknown. */
export function nameAndDoor({ by, door }: Who): string | undefined {
  if (by === undefined) return undefined;
  return door === undefined ? by : `${by} through ${DOORS[door] ?? door}`;
}
