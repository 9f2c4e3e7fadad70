import type { Approval, ModelChoice, Origin, PodSettings, PodState, Queued } from '../../../pod/index.ts';
import type { TodoItem } from '../../../tools/index.ts';
import type { RunOutcome, Totals } from '../../../worker/index.ts';

/** A call or a shell command that runs. */
export interface Running {
  readonly id: string;
  readonly title: string;
  readonly startedAt: number;
  /** The end of what it has brought so far. */
  readonly text: string;
}

/** A thought that is being written. */
export interface Thought {
  readonly text: string;
  readonly startedAt: number;
}

/** What a person at a terminal knows of a pod: a value, made by its events, whichever way they came. */
export interface View {
  readonly podId: string;
  readonly cwd: string;
  /** Who sits here: what they did themselves is not told with their name. */
  readonly me: Origin;
  readonly state: PodState;
  readonly settings: PodSettings;
  readonly model: ModelChoice;
  /** Whether anybody has said anything. */
  readonly hasBegun: boolean;
  /** What goes on, in a few words. */
  readonly activity: string;
  readonly since: number;
  /** Characters of the answer so far: the model's own count of tokens comes at its end. */
  readonly written: number;
  /** By their block's index. */
  readonly thoughts: ReadonlyMap<number, Thought>;
  /** The last answer as the model wrote it. */
  readonly answer: string;
  readonly calls: readonly Running[];
  readonly shells: readonly Running[];
  readonly approvals: readonly Approval[];
  readonly queue: readonly Queued[];
  readonly todos: readonly TodoItem[];
  readonly totals: Totals;
  readonly contextTokens: number;
  readonly contextWindow: number | undefined;
  /** What ended last, for whoever waits for it. */
  readonly lastRun: RunEnd | undefined;
  readonly lastShell: string | undefined;
  readonly compactions: number;
  readonly isClosed: boolean;
  /** The questions that were answered here: somebody of the same name may sit elsewhere too. */
  readonly decided: ReadonlySet<string>;
  /** Whether somebody else has said or done something since it is watched: they could answer too. */
  readonly hasCompany: boolean;
  /** Whether the pod cannot be reached just now. */
  readonly isAway: boolean;
}

export interface RunEnd {
  readonly runId: string;
  readonly outcome: RunOutcome;
}

export function isBusy({ state }: Pick<View, 'state'>): boolean {
  return state === 'running' || state === 'waiting';
}

/** How people know the doors that are no protocol: the commands' own, by the daemon's socket or in their own process. */
const DOORS: Readonly<Record<string, string>> = { control: 'terminal', cli: 'terminal' };

/** A person or program as others are told: `ada through hld`; undefined for oneself, or when nobody knows. */
export function otherThan(me: Origin, who: Who): string | undefined {
  return who.by === me.by && who.door === me.door ? undefined : nameAndDoor(who);
}

interface Who {
  readonly by?: string | undefined;
  readonly door?: string | undefined;
}

/** `ada through hld`; undefined when nobody knows. */
export function nameAndDoor({ by, door }: Who): string | undefined {
  if (by === undefined) return undefined;
  return door === undefined ? by : `${by} through ${DOORS[door] ?? door}`;
}
