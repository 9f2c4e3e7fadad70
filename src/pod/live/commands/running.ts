import { PolypodError, WrongStateError, withoutUndefined } from '../../../base/index.ts';
import type { Content } from '../../../llm/index.ts';
import { NO_TOTALS } from '../../../worker/index.ts';
import { podBusy } from '../../busy.ts';
import type { Caller, Overrides } from '../../command.ts';
import type { Lane } from '../../event.ts';
import { accept, type Handler, type PodParts, type Reply, type RecordReceipt } from './parts.ts';

/** Starts a run, or queues the prompt as it requests. */
export const prompt: Handler<'prompt'> = async (command, caller, recordReceipt, pod) => {
  const { content, overrides, taskId, customType, runId: wantedId, whenBusy = 'refuse' } = command;
  const lane = whenBusy === 'queue' ? 'prompt' : whenBusy;
  if (isBusy(pod) && lane !== 'refuse')
    return enqueue(pod, lane, { content, caller, recordReceipt, overrides, taskId });
  refuseIfBusy(pod);
  const ready = await pod.setup.prepare(overrides);
  // Another command may have started a run during the preparation.
  if (isBusy(pod) && lane !== 'refuse')
    return enqueue(pod, lane, { content, caller, recordReceipt, overrides, taskId });
  refuseIfBusy(pod);
  const refused = pod.refuseStart(overrides);
  if (refused !== undefined) throw new PolypodError('denied', refused);
  if (!pod.takeSlot()) {
    if (lane === 'prompt') return enqueue(pod, lane, { content, caller, recordReceipt, overrides, taskId });
    throw new PolypodError('overloaded', pod.whyNoSlot());
  }
  pod.approvals.cancelOwn();
  const { by, door } = caller;
  const runId = pod.runner.start(ready, {
    content,
    customType,
    purpose: { by, door, ...(taskId && { taskId }), ...withoutUndefined({ overrides }) },
    runId: wantedId,
    recordReceipt: (id) => recordReceipt({ runId: id }),
  });
  return { runId };
};

export const steer: Handler<'steer'> = async ({ content }, caller, recordReceipt, pod) =>
  enqueue(pod, 'steer', { content, caller, recordReceipt });

export const followUp: Handler<'follow-up'> = async ({ content }, caller, recordReceipt, pod) =>
  enqueue(pod, 'follow-up', { content, caller, recordReceipt });

export const clearQueue: Handler<'clear-queue'> = async ({ queueIds }, _, recordReceipt, pod) => {
  const waiting = pod.view.queue.map(({ queueId }) => queueId);
  for (const queueId of queueIds ?? [])
    if (!waiting.includes(queueId))
      throw new PolypodError(
        'not-found',
        `there is no queued message ${queueId}: it may have been delivered`,
      );
  pod.publish({ fact: { type: 'unqueued', queueIds: queueIds ?? waiting }, recorded: recordReceipt({}) });
  pod.runner.refill();
  return {};
};

export const cancel: Handler<'cancel'> = async (command, caller, recordReceipt, pod) => {
  const { view, runner, approvals } = pod;
  if (runner.active) {
    accept(command, caller, recordReceipt, pod);
    runner.cancel();
    return {};
  }
  if (view.state !== 'paused' && view.state !== 'waiting')
    throw new WrongStateError('there is no run to cancel');
  approvals.cancelOwn();
  runner.abandon();
  const { runId = '' } = view.lastRun ?? {};
  pod.publish({
    fact: { type: 'run-end', runId, outcome: { status: 'cancelled' }, totals: NO_TOTALS },
    recorded: recordReceipt({ runId }),
  });
  return { runId };
};

export const pause: Handler<'pause'> = async (command, caller, recordReceipt, pod) => {
  if (!pod.runner.active) throw new WrongStateError('there is no run to pause');
  accept(command, caller, recordReceipt, pod);
  pod.runner.pause();
  return {};
};

export const resume: Handler<'resume'> = async (_, caller, recordReceipt, pod) => {
  refuseIfNotPaused(pod);
  const { taskId, overrides } = pod.view.lastRun ?? {};
  const ready = await pod.setup.prepare(overrides);
  refuseIfNotPaused(pod);
  if (!pod.takeSlot()) throw new PolypodError('overloaded', pod.whyNoSlot());
  const { by, door } = caller;
  const purpose = { by, door, ...(taskId && { taskId }), ...withoutUndefined({ overrides }) };
  const runId = pod.runner.resume(ready, purpose, (id) => recordReceipt({ runId: id }));
  return { runId };
};

export const abortRetry: Handler<'abort-retry'> = async (command, caller, recordReceipt, pod) => {
  if (!pod.runner.abortRetry()) throw new WrongStateError('no retry is pending');
  accept(command, caller, recordReceipt, pod);
  return {};
};

export const compact: Handler<'compact'> = async (command, caller, recordReceipt, pod) => {
  refuseIfBusy(pod);
  const ready = await pod.setup.prepare();
  refuseIfBusy(pod);
  if (pod.view.state === 'paused' || pod.view.state === 'waiting')
    throw new WrongStateError('the run is paused: resume or cancel it before compacting');
  accept(command, caller, recordReceipt, pod);
  // Its events report the outcome; the receipt only confirms the start.
  void pod.runner.compact(ready, command);
  return {};
};

interface Waiting {
  readonly content: readonly Content[];
  readonly caller: Caller;
  readonly recordReceipt: RecordReceipt;
  readonly overrides?: Overrides | undefined;
  readonly taskId?: string | undefined;
}

function enqueue(
  pod: PodParts,
  lane: Lane,
  { content, caller, recordReceipt, overrides, taskId }: Waiting,
): Reply {
  const { view, queueLimit, newId, runner } = pod;
  if (view.queue.length >= queueLimit)
    throw new PolypodError(
      'overloaded',
      `${queueLimit} messages are already queued, which is the limit: wait until some are delivered, or clear the queue`,
    );
  const queueId = newId();
  const { by, door } = caller;
  pod.publish({
    fact: {
      type: 'queued',
      queueId,
      lane,
      content,
      by,
      door,
      ...(taskId && { taskId }),
      ...withoutUndefined({ overrides }),
    },
    recorded: recordReceipt({ queueId }),
  });
  if (lane !== 'prompt') runner.deliver(lane, content);
  return { queueId };
}

/** Also true if the waiting run was started by an earlier process. */
function isBusy({ runner, view }: PodParts): boolean {
  return runner.active || view.state === 'waiting';
}

function refuseIfBusy({ runner, view, rewinds }: PodParts): void {
  const waiting = view.state === 'waiting' ? view.approvals.pending()[0] : undefined;
  if (waiting !== undefined)
    throw new WrongStateError(
      `a run is waiting for approval ${waiting.approvalId}: decide, or cancel it first`,
    );
  if (runner.active) throw podBusy();
  if (rewinds.isActive) throw new WrongStateError('files are being restored: send it again');
}

function refuseIfNotPaused({ view, runner }: PodParts): void {
  const waiting = view.state === 'waiting' ? view.approvals.pending()[0] : undefined;
  if (waiting !== undefined)
    throw new WrongStateError(`waiting for approval ${waiting.approvalId}: send decide`);
  if (runner.active || view.state !== 'paused') throw new WrongStateError('nothing is paused');
}
