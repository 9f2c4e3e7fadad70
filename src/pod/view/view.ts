import { promptTitle } from '../../base/index.ts';
import { type BlockEvent, type BlockHead, type Content, contentText, type Item } from '../../llm/index.ts';
import { endedCommandsIn, type TodoItem, type ToolOutput } from '../../tools/index.ts';
import { type CallLine, type RunOutcome, summaryItem } from '../../worker/index.ts';
import type {
  Approval,
  BackgroundCommandEnd,
  BackgroundCommandStart,
  Lane,
  PodFact,
  PodFactOf,
  PodState,
  Queued,
  RunPurpose,
  Settlement,
} from '../event.ts';
import { DEFAULT_SETTINGS, type PodSettings } from '../settings.ts';
import type { SessionTitle } from '../session-title.ts';
import { RecentDiffs } from './recent-diffs.ts';
import { TaskIndex } from './task-book.ts';

/** A block of an answer that is being streamed or was just finished, from its start, for clients that join late. */
export type BlockView = BlockHead & {
  readonly index: number;
  readonly open: boolean;
  readonly text: string;
};

/** A running call; `text` is the end of its output so far. */
export interface ToolView {
  readonly call: CallLine;
  readonly text: string;
}

export interface ShellView {
  readonly shellId: string;
  readonly command: string;
  readonly private: boolean;
  /** Absent while it runs. */
  readonly output?: ToolOutput;
}

/** A background command that runs, or whose end the model does not know yet. */
export interface BackgroundView extends BackgroundCommandStart {
  readonly end?: BackgroundCommandEnd;
}

export interface RunView extends RunPurpose {
  readonly runId: string;
}

/** The current state of a pod: the sum of all its events. Commands are checked against it, and only events change it. */
export class PodView {
  state: PodState = 'idle';
  settings: PodSettings = DEFAULT_SETTINGS;
  todos: readonly TodoItem[] = [];
  /** Undefined before the first prompt. */
  title: SessionTitle | undefined;
  items: Item[] = [];
  turn = 0;
  /** The current run. */
  run: RunView | undefined;
  lastRun: (RunView & { readonly outcome: RunOutcome }) | undefined;
  /** The tokens in the context at the last answer. */
  contextTokens = 0;
  compacting = false;
  readonly queue: Queued[] = [];
  readonly approvals = new ApprovalIndex();
  readonly tools = new Map<string, ToolView>();
  readonly shells = new Map<string, ShellView>();
  readonly background = new Map<string, BackgroundView>();
  readonly diffs = new RecentDiffs();
  /** The last tasks and their states. */
  tasks = new TaskIndex();
  #blocks = new Map<number, OpenBlock>();

  /** The blocks of the current answer in order. */
  blocks(): readonly BlockView[] {
    return [...this.#blocks.entries()].map(([index, { head, pieces, open }]) => ({
      ...head,
      index,
      open,
      text: pieces.join(''),
    }));
  }

  nextQueued(lane: Lane): Queued | undefined {
    return this.queue.find((queued) => queued.lane === lane);
  }

  /** The first prompt is the title, until a model writes one. */
  beginTitle(prompt: readonly Content[]): void {
    if (this.title !== undefined) return;
    const text = promptTitle(contentText(prompt));
    if (text !== undefined) this.title = { text, source: 'prompt' };
  }

  /** Applies an event. Deltas are frequent: their cost must not depend on the number of earlier events. */
  apply(fact: PodFact): void {
    switch (fact.type) {
      case 'block-start':
      case 'block-delta':
      case 'block-stop':
      case 'block-abort':
        this.#applyBlock(fact);
        return;
      case 'run-start': {
        const { type: _, ...run } = fact;
        this.run = run;
        this.tasks.begin(fact);
        return;
      }
      case 'run-end':
        this.#endTask(fact.runId, fact.outcome.status);
        this.lastRun = { ...(this.run ?? this.lastRun), runId: fact.runId, outcome: fact.outcome };
        this.run = undefined;
        // A turn that was killed before its answer left nothing, so its number is reused.
        this.turn = fact.conversation?.turns ?? this.turn;
        this.#blocks.clear();
        this.tools.clear();
        return;
      case 'input':
        this.items.push(inputItem(fact));
        if (fact.origin === 'prompt' && fact.item.type === 'message') {
          if (fact.customType === undefined) this.beginTitle(fact.item.content);
          this.tasks.describe(this.run?.taskId, fact.item.content);
        }
        if (fact.queueId !== undefined) this.#unqueue([fact.queueId]);
        if (fact.origin === 'notice') this.reportEnded([...this.background.keys()]);
        return;
      case 'turn-start':
        this.turn = fact.turn;
        this.#blocks.clear();
        return;
      case 'retry-start':
        // The kept part of the interrupted answer has become input.
        this.#blocks.clear();
        return;
      case 'llm-end':
        this.approvals.beginTurn();
        this.items.push(...fact.items);
        this.#blocks.clear();
        if (fact.usage?.inputTokens !== undefined)
          this.contextTokens = fact.usage.inputTokens + (fact.usage.outputTokens ?? 0);
        return;
      case 'tool-start':
        this.tools.set(fact.call.callId, { call: fact.call, text: '' });
        return;
      case 'tool-update': {
        const tool = this.tools.get(fact.callId);
        if (tool !== undefined) this.tools.set(fact.callId, { ...tool, text: fact.text });
        return;
      }
      case 'tool-end':
        this.tools.delete(fact.callId);
        this.diffs.add(fact.callId, fact.output.details);
        this.reportEnded(endedCommandsIn(fact.name, fact.output.details));
        if (fact.status === 'denied') this.tasks.deny(this.run?.taskId);
        return;
      case 'turn-end':
        this.items.push(...this.#unanswered(fact.results));
        return;
      case 'compaction-start':
        this.compacting = true;
        return;
      case 'compaction-end':
        this.compacting = false;
        if (fact.result.status !== 'compacted') return;
        this.items = [summaryItem(fact.result.summary), ...this.items.slice(fact.result.replaced)];
        this.contextTokens = fact.result.tokensAfter;
        return;
      case 'state':
        this.state = fact.state;
        return;
      case 'queued': {
        const { type: _, ...queued } = fact;
        this.queue.push(queued);
        this.tasks.queue(fact);
        return;
      }
      case 'unqueued':
        for (const { queueId, taskId } of this.queue)
          if (taskId !== undefined && fact.queueIds.includes(queueId))
            this.tasks.set(taskId, { status: 'cancelled' });
        this.#unqueue(fact.queueIds);
        return;
      case 'approval-request':
        this.approvals.open(fact.approval);
        return;
      case 'approval-response': {
        const { type: _, approvalId, ...settlement } = fact;
        this.approvals.settle(approvalId, settlement);
        return;
      }
      case 'settings':
        this.settings = fact.settings;
        return;
      case 'todos':
        this.todos = fact.items;
        return;
      case 'title':
        this.title = { text: fact.title, source: 'model' };
        return;
      case 'branched':
        this.approvals.beginTurn();
        this.items = [...fact.items];
        this.turn = fact.turn;
        this.contextTokens = 0;
        return;
      case 'shell-start': {
        const { shellId, command, private: isPrivate } = fact;
        this.shells.set(shellId, { shellId, command, private: isPrivate });
        return;
      }
      case 'shell-end':
        this.shells.delete(fact.shellId);
        return;
      case 'background-start': {
        const { type: _, ...command } = fact;
        this.background.set(command.id, command);
        return;
      }
      case 'background-end': {
        const { id, status, message } = fact;
        const command = this.background.get(id);
        if (command !== undefined) this.background.set(id, { ...command, end: { status, message } });
        return;
      }
      case 'recovered':
        // Everything that was active ended unexpectedly.
        this.compacting = false;
        this.#blocks.clear();
        this.tools.clear();
        return;
      case 'ping':
      case 'usage':
      case 'status':
      case 'error':
      case 'retry-end':
      case 'shell-update':
      case 'client-call':
      case 'client-cancel':
      case 'file-change':
      case 'rewound':
      case 'commanded':
      case 'closed':
        return;
    }
  }

  /** The model knows now that these background commands have ended, as far as they have. */
  reportEnded(ids: readonly string[]): void {
    for (const id of ids) if (this.background.get(id)?.end !== undefined) this.background.delete(id);
  }

  #applyBlock(event: BlockEvent): void {
    switch (event.type) {
      case 'block-start': {
        const { type: _, index, ...head } = event;
        this.#blocks.set(index, { head, pieces: [], open: true });
        return;
      }
      case 'block-delta': {
        const { delta } = event;
        this.#blocks.get(event.index)?.pieces.push(delta.type === 'input-json' ? delta.json : delta.text);
        return;
      }
      case 'block-stop': {
        const block = this.#blocks.get(event.index);
        if (block !== undefined) block.open = false;
        return;
      }
      case 'block-abort':
        this.#blocks.delete(event.index);
    }
  }

  /** Some results of an interrupted turn may already be present. */
  #unanswered(results: readonly Item[]): readonly Item[] {
    const last = this.items.findLastIndex(({ type }) => type === 'tool-call');
    const answered = new Set(
      this.items.slice(last + 1).map((item) => ('callId' in item ? item.callId : undefined)),
    );
    return results.filter((item) => !('callId' in item) || !answered.has(item.callId));
  }

  /** Also for a run that waited for a decision in an earlier process, and is cancelled here. */
  #endTask(runId: string, status: RunOutcome['status']): void {
    const { taskId } = this.run ?? (this.lastRun?.runId === runId ? this.lastRun : undefined) ?? {};
    if (taskId !== undefined) this.tasks.set(taskId, { runId, status });
  }

  #unqueue(queueIds: readonly string[]): void {
    for (const queueId of queueIds) {
      const at = this.queue.findIndex((queued) => queued.queueId === queueId);
      if (at >= 0) this.queue.splice(at, 1);
    }
  }
}

interface OpenBlock {
  readonly head: BlockHead;
  readonly pieces: string[];
  open: boolean;
}

/** An approval with its settlement, if any. */
export interface SettledApproval {
  readonly approval: Approval;
  readonly settlement?: Settlement;
}

/**
 * The approvals of a pod: the pending ones and the last settled ones, so that a late decision can be answered with who decided.
 */
export class ApprovalIndex {
  readonly #asked = new Map<string, SettledApproval>();
  /** Stored separately, because it is checked after every event, including deltas. */
  #pending: readonly Approval[] = [];
  /** The approvals of the last answer's calls: only these can reuse an earlier decision. */
  readonly #ofTurn = new Map<string, string>();

  open(approval: Approval): void {
    this.#asked.set(approval.approvalId, { approval });
    this.#pending = [...this.#without(approval.approvalId), approval];
    if (approval.callId !== undefined && approval.podId === undefined)
      this.#ofTurn.set(approval.callId, approval.approvalId);
  }

  /** Later calls are different ones, even if their ids were used before. */
  beginTurn(): void {
    this.#ofTurn.clear();
  }

  settle(approvalId: string, settlement: Settlement): void {
    const asked = this.#asked.get(approvalId);
    // Insert again at the end, so that the oldest settled approvals are removed first.
    if (asked === undefined || !this.#asked.delete(approvalId)) return;
    this.#asked.set(approvalId, { ...asked, settlement });
    this.#pending = this.#without(approvalId);
    if (this.#asked.size > MOST_SETTLED) this.#forget();
  }

  get(approvalId: string): SettledApproval | undefined {
    return this.#asked.get(approvalId);
  }

  /** The approval of a call of the last answer. */
  about(callId: string): SettledApproval | undefined {
    return this.#asked.get(this.#ofTurn.get(callId) ?? '');
  }

  pending(): readonly Approval[] {
    return this.#pending;
  }

  /** Whether a call of the pod's own run waits for a decision. Approvals of child pods do not count. */
  hasOwnCall(): boolean {
    return this.pending().some(
      ({ callId, runId, podId }) => callId !== undefined && runId !== undefined && podId === undefined,
    );
  }

  all(): readonly SettledApproval[] {
    return [...this.#asked.values()];
  }

  #without(approvalId: string): readonly Approval[] {
    return this.#pending.filter((approval) => approval.approvalId !== approvalId);
  }

  #forget(): void {
    for (const [approvalId, { settlement }] of this.#asked) {
      if (settlement === undefined) continue;
      this.#asked.delete(approvalId);
      return;
    }
  }
}

const MOST_SETTLED = 1_000;

function inputItem({ item, customType }: PodFactOf<'input'>): Item {
  return item.type === 'message' && customType !== undefined ? { ...item, automatic: true } : item;
}
