import type { Approval, ModelChoice, Origin, PodSettings, PodState, Queued } from '../../pod/index.ts';
import type { TodoItem } from '../../tools/index.ts';
import type { RunOutcome, Totals } from '../../worker/index.ts';

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

/** A person or program as others are told: `ada through hld`; undefined for oneself, or when nobody knows. */
export function otherThan(
  me: Origin,
  { by, door }: { readonly by?: string | undefined; readonly door?: string | undefined },
): string | undefined {
  if (by === undefined || (by === me.by && door === me.door)) return undefined;
  return door === undefined ? by : `${by} through ${door}`;
}
