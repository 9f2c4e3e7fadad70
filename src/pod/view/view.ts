import type { BlockEvent, BlockHead, Item } from '../../llm/index.ts';
import type { TodoItem, ToolOutput } from '../../tools/index.ts';
import { type CallLine, type RunOutcome, summaryItem } from '../../worker/index.ts';
import type { Approval, Lane, PodFact, PodState, Queued, RunPurpose, Settlement } from '../event.ts';
import { DEFAULT_SETTINGS, type PodSettings } from '../settings.ts';
import { TaskIndex } from './task-book.ts';

/** A part of an answer that is being written, or was just finished: from its start, for those who come late. */
export type BlockView = BlockHead & {
  readonly index: number;
  readonly open: boolean;
  readonly text: string;
};

/** A call that runs; `text` is the end of what it has brought so far. */
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

export interface RunView extends RunPurpose {
  readonly runId: string;
}

/**
 * What is known of a pod now: the sum of all its events. Everything that is decided about a command is decided by this,
 * and everything that changes it is an event.
 */
export class PodView {
  state: PodState = 'idle';
  settings: PodSettings = DEFAULT_SETTINGS;
  todos: readonly TodoItem[] = [];
  items: Item[] = [];
  turn = 0;
  /** The run under way. */
  run: RunView | undefined;
  lastRun: (RunView & { readonly outcome: RunOutcome }) | undefined;
  /** Tokens in the context at the last answer. */
  contextTokens = 0;
  compacting = false;
  readonly queue: Queued[] = [];
  readonly approvals = new ApprovalIndex();
  readonly tools = new Map<string, ToolView>();
  readonly shells = new Map<string, ShellView>();
  /** The last tasks and where they stand. */
  tasks = new TaskIndex();
  #blocks = new Map<number, OpenBlock>();

  /** The blocks of the answer under way, in order. */
  blocks(): readonly BlockView[] {
    return [...this.#blocks.entries()].map(([index, { head, pieces, open }]) => ({
      ...head,
      index,
      open,
      text: pieces.join(''),
    }));
  }

  waiting(lane: Lane): readonly Queued[] {
    return this.queue.filter((queued) => queued.lane === lane);
  }

  /** Takes in an event. Deltas come by the ten thousand: their cost must not depend on what came before. */
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
        // A turn that a kill cut before its answer has left nothing: its number is given again.
        this.turn = fact.conversation?.turns ?? this.turn;
        this.#blocks.clear();
        this.tools.clear();
        return;
      case 'input':
        this.items.push(fact.item);
        if (fact.origin === 'prompt' && fact.item.type === 'message')
          this.tasks.describe(this.run?.taskId, fact.item.content);
        if (fact.queueId !== undefined) this.#unqueue([fact.queueId]);
        return;
      case 'turn-start':
        this.turn = fact.turn;
        this.#blocks.clear();
        return;
      case 'retry-start':
        // What of the broken answer is kept has become input.
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
      case 'recovered':
        // Whatever was under way ended without a word.
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
      case 'commanded':
      case 'closed':
        return;
    }
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

  /** Of a turn that a crash has parted, some results are there already. */
  #unanswered(results: readonly Item[]): readonly Item[] {
    const last = this.items.findLastIndex(({ type }) => type === 'tool-call');
    const answered = new Set(
      this.items.slice(last + 1).map((item) => ('callId' in item ? item.callId : undefined)),
    );
    return results.filter((item) => !('callId' in item) || !answered.has(item.callId));
  }

  /** Also one that waited for a decision in a process before this one, and is cancelled here. */
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

/** An approval and, once there is an answer, that. */
export interface Asked {
  readonly approval: Approval;
  readonly settlement?: Settlement;
}

/** All questions of a pod: those that wait, and the last ones that were settled, so that a late answer can be told by whom. */
export class ApprovalIndex {
  readonly #asked = new Map<string, Asked>();
  /** Kept apart: after every event, deltas too, it is asked whether there are any. */
  #pending: readonly Approval[] = [];
  /** The questions about calls of the last answer: only they may be answered by an earlier decision. */
  readonly #ofTurn = new Map<string, string>();

  open(approval: Approval): void {
    this.#asked.set(approval.approvalId, { approval });
    this.#pending = [...this.#without(approval.approvalId), approval];
    if (approval.callId !== undefined && approval.podId === undefined)
      this.#ofTurn.set(approval.callId, approval.approvalId);
  }

  /** What comes now are other calls, even under names that were used before. */
  beginTurn(): void {
    this.#ofTurn.clear();
  }

  settle(approvalId: string, settlement: Settlement): void {
    const asked = this.#asked.get(approvalId);
    // Set again at the end: the oldest settled ones are the first to be forgotten.
    if (asked === undefined || !this.#asked.delete(approvalId)) return;
    this.#asked.set(approvalId, { ...asked, settlement });
    this.#pending = this.#without(approvalId);
    if (this.#asked.size > MOST_SETTLED) this.#forget();
  }

  get(approvalId: string): Asked | undefined {
    return this.#asked.get(approvalId);
  }

  /** The question about a call of the last answer. */
  about(callId: string): Asked | undefined {
    return this.#asked.get(this.#ofTurn.get(callId) ?? '');
  }

  pending(): readonly Approval[] {
    return this.#pending;
  }

  /** Whether a call of the pod's own run waits for a decision; questions of child pods do not count. */
  hasOwnCall(): boolean {
    return this.pending().some(
      ({ callId, runId, podId }) => callId !== undefined && runId !== undefined && podId === undefined,
    );
  }

  all(): readonly Asked[] {
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
