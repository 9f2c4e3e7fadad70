import { type JsonObject, withoutUndefined } from '../../../base/index.ts';
import type { Change, PodEvent, Row, Snapshot, PodEventOf } from '../../../pod/index.ts';
import { type Phase, phaseOf } from '../sessions/status.ts';
import { autoApprovalFor } from '../sessions/auto-approval.ts';

/** The settings whose changes are sent to subscribers. */
export interface ProjectedSettings {
  readonly name?: string;
  readonly acceptEdits: boolean;
  readonly skipPermissionsUntil?: string;
  readonly annotations?: JsonObject;
}

interface Question {
  readonly callId?: string;
  /** A setting approves it automatically. */
  readonly isAutoApproved: boolean;
}

/** The state of a session after the events so far. The next event is compared with it. */
export class ProjectionState {
  readonly sessionId: string;
  readonly parentId: string | undefined;
  seq: number;
  state: Row['state'] = 'idle';
  lastRun: Row['lastRun'] | undefined;
  settings: ProjectedSettings = { acceptEdits: false };
  /** False once the session's row or one of its events is known. */
  isNew = true;
  /** Whether the session has received a prompt. */
  isPrompted = false;
  isInterrupting = false;
  isClosed = false;
  readonly queued = new Set<string>();
  /** Pending approvals. */
  readonly approvals = new Map<string, Question>();
  /** The calls of the current turn whose results were sent. */
  readonly answered = new Set<string>();

  /** The state before the change, after the last event that was published. */
  static before({ id, before, publishedSeq }: Change, now: Row | undefined): ProjectionState {
    // For a session that was not known before, all events are new.
    const projection = new ProjectionState(
      id,
      (before ?? now)?.parentId,
      before === undefined ? 0 : publishedSeq,
    );
    if (before === undefined) return projection;
    projection.isNew = false;
    projection.state = before.state;
    projection.lastRun = before.lastRun;
    projection.settings = {
      acceptEdits: before.acceptEdits ?? false,
      ...withoutUndefined({ name: before.name }),
      ...(before.skipPermissionsUntil === undefined
        ? {}
        : { skipPermissionsUntil: before.skipPermissionsUntil }),
      ...withoutUndefined({ annotations: before.annotations }),
    };
    // The prompts of a fork before its first run are its parent's.
    projection.isPrompted = before.lastRun !== undefined;
    for (const { approvalId, callId } of before.approvals)
      projection.approvals.set(approvalId, { ...(callId && { callId }), isAutoApproved: false });
    return projection;
  }

  private constructor(sessionId: string, parentId: string | undefined, seq: number) {
    this.sessionId = sessionId;
    this.parentId = parentId;
    this.seq = seq;
  }

  get phase(): Phase {
    return phaseOf({
      state: this.state,
      ...withoutUndefined({ lastRun: this.lastRun }),
      queued: this.queued.size,
      ...withoutUndefined({ annotations: this.settings.annotations }),
      approvals: [...this.approvals.values()].filter(({ isAutoApproved }) => !isAutoApproved),
      isInterrupting: this.isInterrupting,
      isLaunching: true,
      isClosed: this.isClosed,
    });
  }

  /** Whether nothing happens until the next command. */
  get isQuiet(): boolean {
    return (
      (this.state === 'idle' || this.state === 'paused') &&
      this.lastRun?.status !== 'running' &&
      this.queued.size === 0
    );
  }

  /** Replaces the state with a snapshot, because events were lost. */
  rebase({ seq, state, run, lastRun, settings, approvals, queue }: Snapshot): void {
    this.seq = seq;
    this.isNew = false;
    this.state = state;
    if (run !== undefined) this.lastRun = { runId: run.runId, status: 'running' };
    else if (lastRun !== undefined) this.lastRun = { runId: lastRun.runId, status: lastRun.outcome.status };
    this.settings = settings;
    this.isPrompted = this.lastRun !== undefined;
    this.isInterrupting &&= run !== undefined;
    this.approvals.clear();
    for (const { approvalId, callId } of approvals)
      this.approvals.set(approvalId, { ...(callId && { callId }), isAutoApproved: false });
    this.queued.clear();
    for (const { queueId, lane } of queue) if (lane === 'prompt') this.queued.add(queueId);
  }

  /** Restores which calls of the current turn have had their results sent. */
  replayTurn(turn: readonly PodEvent[]): void {
    for (const event of turn) if (event.type === 'tool-end') this.answered.add(event.callId);
  }

  apply(event: PodEvent, now: number): void {
    this.seq = event.seq;
    this.isNew = false;
    switch (event.type) {
      case 'state':
        this.state = event.state;
        if (event.state === 'idle') this.isInterrupting = false;
        return;
      case 'run-start':
        this.isInterrupting = false;
        this.lastRun = { runId: event.runId, status: 'running' };
        return;
      case 'run-end':
        this.lastRun = { runId: event.runId, status: event.outcome.status };
        return;
      case 'input':
        this.isPrompted = true;
        if (event.queueId !== undefined) this.queued.delete(event.queueId);
        return;
      case 'queued':
        if (event.lane === 'prompt') this.queued.add(event.queueId);
        return;
      case 'unqueued':
        for (const queueId of event.queueIds) this.queued.delete(queueId);
        return;
      case 'turn-start':
        this.answered.clear();
        return;
      case 'tool-end':
        this.answered.add(event.callId);
        return;
      case 'approval-request':
        this.approvals.set(event.approval.approvalId, this.#question(event, now));
        return;
      case 'approval-response':
        this.approvals.delete(event.approvalId);
        return;
      case 'settings':
        this.settings = event.settings;
        return;
      case 'commanded':
        this.#command(event);
        return;
      case 'closed':
        this.isClosed = true;
        return;
      default:
        return;
    }
  }

  /** An approval that a client created is decided at once if the settings cover it. Calls of our own tools do not create one then. */
  #question({ approval }: PodEventOf<'approval-request'>, now: number): Question {
    const { runId, podId, callId, tool } = approval;
    const isClients = runId === undefined && podId === undefined;
    const isAutoApproved = isClients && autoApprovalFor(this.settings, tool, now) !== undefined;
    return { ...(callId && { callId }), isAutoApproved };
  }

  #command({ command }: PodEventOf<'commanded'>): void {
    if (command === 'cancel' && this.state !== 'idle') this.isInterrupting = true;
  }
}
