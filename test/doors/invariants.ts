import type { Content } from '../../src/llm/index.ts';
import type { PodEvent } from '../../src/pod/index.ts';
import { textIn } from './expected/pod.ts';
import type { Sent } from './schedule.ts';

/** The invariants of a log once nothing runs, whatever was sent and whenever the daemon was killed. */
export function brokenRules(log: readonly PodEvent[], sent: readonly Sent[]): readonly string[] {
  return [
    ...numbers(log),
    ...runs(log),
    ...approvals(log),
    ...calls(log),
    ...sent.flatMap((one) => promptProblems(log, one)),
  ];
}

/** Numbers increase by one, except those that the log reports as lost. */
function numbers(log: readonly PodEvent[]): readonly string[] {
  const lost = log.flatMap((event) => (event.type === 'recovered' ? [event.lost] : []));
  return log.flatMap((event, at) => {
    const before = log[at - 1]?.seq ?? 0;
    const isNext =
      event.seq === before + 1 || lost.some(({ from, to }) => from <= before + 1 && event.seq <= to + 1);
    return isNext ? [] : [`event ${event.seq} comes after ${before}`];
  });
}

/** Runs do not overlap. A run that a kill or a pause ended while a call was undecided may resume, or end once more. */
function runs(log: readonly PodEvent[]): readonly string[] {
  let open: string | undefined;
  let resumable: string | undefined;
  const broken: string[] = [];
  for (const event of log) {
    if (event.type === 'run-start') {
      if (open !== undefined) broken.push(`the run ${event.runId} begins while ${open} has not ended`);
      open = event.runId;
    }
    if (event.type === 'run-end') {
      if (event.runId !== open && event.runId !== resumable)
        broken.push(`the run ${event.runId} ends and has not begun`);
      const { status } = event.outcome;
      resumable = status === 'interrupted' || status === 'paused' ? event.runId : undefined;
      open = undefined;
    }
  }
  return open === undefined ? broken : [...broken, `the run ${open} never ends`];
}

function approvals(log: readonly PodEvent[]): readonly string[] {
  const settled = log.flatMap((event) => (event.type === 'approval-response' ? [event.approvalId] : []));
  return log.flatMap((event) => {
    if (event.type !== 'approval-request') return [];
    const times = settled.filter((id) => id === event.approval.approvalId).length;
    return times === 1 ? [] : [`the approval ${event.approval.title} was settled ${times} times`];
  });
}

/** Every call of the model has exactly one result in the conversation. */
function calls(log: readonly PodEvent[]): readonly string[] {
  const made = log
    .flatMap((event) => (event.type === 'llm-end' ? event.items : []))
    .flatMap(callId('tool-call'));
  const brought = log
    .flatMap((event) =>
      event.type === 'turn-end' ? event.results : event.type === 'input' ? [event.item] : [],
    )
    .flatMap(callId('tool-result'));
  return JSON.stringify(made.toSorted()) === JSON.stringify(brought.toSorted())
    ? []
    : [`calls ${made.join(' ')} have the results ${brought.join(' ')}`];
}

function callId(type: 'tool-call' | 'tool-result') {
  return (item: { readonly type: string; readonly callId?: string }): readonly string[] =>
    item.type === type && item.callId !== undefined ? [item.callId] : [];
}

/**
 * An accepted prompt reached the model once and was answered or ended, or was removed from the queue because its client had
 * cancelled it; a rejected one did not.
 */
function promptProblems(
  log: readonly PodEvent[],
  { mark, kind, outcome, hasCancelled }: Sent,
): readonly string[] {
  const startsWithMark = (content: readonly Content[]): boolean => textIn(content).startsWith(`${mark} `);
  const inputs = log.filter(
    (event) => event.type === 'input' && event.item.type === 'message' && startsWithMark(event.item.content),
  );
  const queueIds = log.flatMap((event) =>
    event.type === 'queued' && startsWithMark(event.content) ? [event.queueId] : [],
  );
  const dropped = log.filter(
    (event) => event.type === 'unqueued' && event.queueIds.some((id) => queueIds.includes(id)),
  );
  const times = inputs.length + dropped.length;
  const name = `the ${kind} ${mark}, which was ${outcome},`;
  if (outcome === 'accepted' && times !== 1)
    return [`${name} reached the model ${inputs.length} times and was dropped ${dropped.length} times`];
  if (outcome === 'refused' && times !== 0) return [`${name} reached the model`];
  if (times > 1) return [`${name} reached the model ${times} times`];
  if (dropped.length > 0 && hasCancelled?.() !== true)
    return [`${name} was removed from the queue, and its client had not cancelled it`];
  const input = inputs[0];
  if (input === undefined || log.some((event) => event.type === 'run-end' && event.seq > input.seq))
    return [];
  return [`${name} is not answered, and no run ended after it`];
}
