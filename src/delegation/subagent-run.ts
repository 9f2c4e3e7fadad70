import { derivedAbort, isReaderTooSlow, onAbort, uuidv7 } from '../base/index.ts';
import { textContent } from '../llm/index.ts';
import type { Caller, Children, ChildPod, ModelChoice, PodSettings } from '../pod/index.ts';
import { childOverrides, childSettings } from './subagent-inheritance.ts';
import { SubagentProgress } from './subagent-progress.ts';
import type { SubagentType } from './subagent-types.ts';

export interface SubagentRequest {
  readonly type: SubagentType;
  readonly description: string;
  readonly prompt: string;
  /** Of the type, if it has one. */
  readonly model: ModelChoice | undefined;
}

export interface SubagentRunParts {
  readonly children: Children;
  /** The settings of the parent. */
  readonly settings: () => PodSettings;
  /** The cost of the sub-agents that are running, in USD by child: their parent's totals do not contain it yet. */
  readonly running: Map<string, number>;
  /** Called when there is something new to show. */
  readonly show: (child: ChildPod, progress: SubagentProgress) => void;
}

/** A run of a sub-agent that has ended. */
export interface SubagentRun {
  readonly childId: string;
  readonly progress: SubagentProgress;
  /** Whether it was stopped because the budget of its parent's run is used up. */
  readonly isOverBudget: boolean;
}

/** Runs a sub-agent in a child pod until its run has ended. Cancels that run when the signal aborts. */
export async function runSubagent(
  { type, description, prompt, model }: SubagentRequest,
  parts: SubagentRunParts,
  signal: AbortSignal,
): Promise<SubagentRun> {
  const { children, settings, running } = parts;
  const awaitedRun = uuidv7();
  const parent = settings();
  const { overrides } = children.currentRun();
  const progress = new SubagentProgress(awaitedRun);
  const child = await children.spawn({
    settings: childSettings(type, { description, parent }),
    awaitedRun,
  });
  const { controller: stop, release } = derivedAbort(signal);
  const left = (): number | undefined => budgetLeft(parts);
  running.set(child.id, 0);
  try {
    const { seq } = await child.handle(
      {
        type: 'prompt',
        content: textContent(prompt),
        runId: awaitedRun,
        overrides: childOverrides(type, { settings: parent, overrides, budget: left(), model }),
      },
      PARENT,
    );
    const forget = onAbort(stop.signal, () => void child.handle({ type: 'cancel' }, PARENT).catch(() => {}));
    try {
      await follow(child, seq, progress, () => {
        running.set(child.id, progress.cost);
        // Sub-agents that run in parallel share one budget.
        if ((left() ?? 1) <= 0) stop.abort();
        parts.show(child, progress);
      });
    } finally {
      forget();
    }
    // The child was unloaded with an unfinished run, because the process ends. A result would let the parent continue.
    if (progress.outcome === undefined) await aborted(signal);
    // Nobody can read their output after the run. The command is rejected if there are none.
    await child.handle({ type: 'end-background' }, PARENT).catch(() => {});
    return { childId: child.id, progress, isOverBudget: stop.signal.aborted && !signal.aborted };
  } finally {
    release();
    running.delete(child.id);
  }
}

/** Reads the events of a child until its run has ended or the child is unloaded. */
async function follow(
  child: ChildPod,
  after: number,
  progress: SubagentProgress,
  onNews: () => void,
): Promise<void> {
  let seq = after;
  for (;;) {
    try {
      for await (const watched of child.watch({ after: seq })) {
        if (watched.type === 'snapshot') {
          seq = watched.snapshot.seq;
          progress.join(watched.snapshot);
        } else {
          seq = watched.batch.lastSeq;
          let isNews = false;
          for (const event of watched.batch.events) {
            isNews = progress.add(event) || event.type === 'llm-end' || isNews;
            if (progress.outcome !== undefined) break;
          }
          if (isNews) onNews();
        }
        if (progress.outcome !== undefined) return;
      }
      return;
    } catch (thrown) {
      // A watcher that was too slow resumes where it stopped.
      if (!isReaderTooSlow(thrown)) throw thrown;
    }
  }
}

/** The rest of the budget of the parent's run, in USD; undefined without a budget. */
export function budgetLeft({
  children,
  running,
}: Pick<SubagentRunParts, 'children' | 'running'>): number | undefined {
  const { overrides, used } = children.currentRun();
  if (overrides.budget === undefined) return undefined;
  const unsettled = [...running.values()].reduce((sum, cost) => sum + cost, 0);
  return Math.max(0, overrides.budget - (used.cost ?? 0) - unsettled);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}

/** The sender of a child's prompt. */
const PARENT: Caller = { by: 'parent', door: 'process' };
