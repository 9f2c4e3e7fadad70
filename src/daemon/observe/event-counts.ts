import type { Change, Host, Row } from '../../pod/index.ts';
import { NO_TOTALS, addTotals, type Totals } from '../../worker/index.ts';

/** Counters since the start of the daemon. */
export interface Counts {
  readonly runsStarted: number;
  /** By outcome. */
  readonly runsEnded: Readonly<Record<string, number>>;
  /** The totals; the cost only where prices are known. */
  readonly totals: Required<Totals>;
  readonly approvalsAsked: number;
  readonly approvalsSettled: number;
  readonly events: number;
}

export const NO_COUNTS: Counts = {
  runsStarted: 0,
  runsEnded: {},
  totals: { cost: 0, ...NO_TOTALS },
  approvalsAsked: 0,
  approvalsSettled: 0,
  events: 0,
};

type RowFigures = Pick<Row, 'totals' | 'approvals' | 'lastRun'>;

/** Adds the difference between two versions of a row to the counts. */
export function counted(counts: Counts, before: RowFigures | undefined, after: RowFigures): Counts {
  const { lastRun } = after;
  const known = before?.lastRun?.runId === lastRun?.runId ? before?.lastRun : undefined;
  const begins = lastRun !== undefined && known === undefined;
  const ends = lastRun?.endedAt !== undefined && known?.endedAt === undefined;
  const { runsEnded } = counts;
  return {
    ...counts,
    runsStarted: counts.runsStarted + (begins ? 1 : 0),
    runsEnded: ends ? { ...runsEnded, [lastRun.status]: (runsEnded[lastRun.status] ?? 0) + 1 } : runsEnded,
    totals: { cost: 0, ...addTotals(counts.totals, growth(before?.totals ?? NO_TOTALS, after.totals)) },
    approvalsAsked: counts.approvalsAsked + without(after.approvals, before?.approvals),
    approvalsSettled: counts.approvalsSettled + without(before?.approvals, after.approvals),
  };
}

/** A branch to an earlier entry can have lower totals; counters never decrease. */
function growth(before: Totals, after: Totals): Totals {
  const more = (figure: keyof Totals): number => Math.max(0, (after[figure] ?? 0) - (before[figure] ?? 0));
  return {
    turns: more('turns'),
    toolCalls: more('toolCalls'),
    inputTokens: more('inputTokens'),
    outputTokens: more('outputTokens'),
    cacheReadInputTokens: more('cacheReadInputTokens'),
    cacheCreationInputTokens: more('cacheCreationInputTokens'),
    cost: more('cost'),
  };
}

/** How many of the first list are not in the second. */
function without(some: RowFigures['approvals'] = [], others: RowFigures['approvals'] = []): number {
  const known = new Set(others.map(({ approvalId }) => approvalId));
  return some.filter(({ approvalId }) => !known.has(approvalId)).length;
}

/** Counts the events of a host's pods; returns a function that reads the counts. */
export function countEvents(host: Host): () => Counts {
  let counts = NO_COUNTS;
  /** The last event number of each loaded pod. */
  const numbers = new Map<string, number>();
  host.onPods((id, move) => {
    if (move === 'out') numbers.delete(id);
  });
  host.sessions.onChange(({ id, before, last }: Change) => {
    const row = host.sessions.get(id);
    if (row === undefined) return;
    // Earlier events of a pod were counted when they were published.
    const since = numbers.get(id) ?? (before === undefined ? 0 : last - 1);
    numbers.set(id, last);
    counts = counted({ ...counts, events: counts.events + Math.max(0, last - since) }, before, row);
  });
  return () => counts;
}
