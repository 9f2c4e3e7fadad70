import { withoutUndefined } from '../base/index.ts';
import type { Item } from '../llm/index.ts';
import type { TodoItem } from '../tools/index.ts';
import type { RunOutcome, Totals } from '../worker/index.ts';
import type { Approval, BackgroundCommandStart, PodState, Queued, RunPurpose } from './event.ts';
import type { ModelChoice } from './session/index.ts';
import type { PodSettings } from './settings.ts';
import type { SessionTitle } from './session-title.ts';
import type { CallDiff } from './view/recent-diffs.ts';
import type { BlockView, PodView, RunView, ShellView, ToolView } from './view/view.ts';

/** What a client needs to show a pod without earlier events: the sum of all events up to a number. */
export interface Snapshot {
  readonly seq: number;
  readonly id: string;
  readonly cwd: string;
  readonly createdAt: string;
  readonly state: PodState;
  readonly settings: PodSettings;
  /** What the session is about, if it was prompted. */
  readonly title?: SessionTitle;
  readonly model: ModelChoice;
  readonly items: readonly Item[];
  /** The parent of the next entry. */
  readonly leafId: string | null;
  readonly run?: RunView;
  readonly lastRun?: RunPurpose & { readonly runId: string; readonly outcome: RunOutcome };
  readonly turn: number;
  /** The part of the current answer that has been streamed. */
  readonly blocks: readonly BlockView[];
  readonly tools: readonly ToolView[];
  readonly shells: readonly ShellView[];
  /** The background commands that run, if any. */
  readonly background?: readonly BackgroundCommandStart[];
  readonly approvals: readonly Approval[];
  /** The calls that were denied, if any. */
  readonly denied?: readonly string[];
  /** The changes that recent calls have made to files, if any. */
  readonly diffs?: readonly CallDiff[];
  readonly queue: readonly Queued[];
  readonly todos: readonly TodoItem[];
  readonly compacting: boolean;
  readonly stats: Stats;
}

export interface Stats {
  readonly totals: Totals;
  /** The tokens in the context, and the context window. */
  readonly contextTokens: number;
  readonly contextWindow?: number;
}

export function snapshotOf(
  view: PodView,
  rest: Pick<Snapshot, 'seq' | 'id' | 'cwd' | 'createdAt' | 'model' | 'leafId' | 'stats'>,
): Snapshot {
  const { state, settings, title, items, run, lastRun, turn, queue, todos, compacting } = view;
  const denied = deniedIn(view);
  const background = [...view.background.values()].filter(({ end }) => end === undefined);
  const diffs = view.diffs.of(items);
  return {
    ...rest,
    state,
    settings,
    items: [...items],
    ...withoutUndefined({ title, run, lastRun }),
    turn,
    blocks: view.blocks(),
    tools: [...view.tools.values()],
    shells: [...view.shells.values()],
    ...(background.length > 0 && { background }),
    approvals: view.approvals.pending(),
    ...(denied.length > 0 && { denied }),
    ...(diffs.length > 0 && { diffs }),
    queue: [...queue],
    todos,
    compacting,
  };
}

function deniedIn({ approvals }: PodView): readonly string[] {
  return approvals.all().flatMap(({ approval: { callId, fallback }, settlement }) => {
    const isDenied =
      settlement?.status === 'denied' || (settlement?.status === 'expired' && fallback === 'deny');
    return isDenied && callId !== undefined ? [callId] : [];
  });
}
