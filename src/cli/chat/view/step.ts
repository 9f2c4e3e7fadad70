import { promptTitle, withoutUndefined } from '../../../base/index.ts';
import type { PodEvent, PodEventOf } from '../../../pod/index.ts';
import { addTotals } from '../../../worker/index.ts';
import { isFromAnotherClient } from '../../hosting/headless-approvals.ts';
import {
  blockAbort,
  blockDelta,
  blockStart,
  blockStop,
  shellEnd,
  shellTitle,
  textOf,
  toolEnd,
  toolStart,
  toolUpdate,
} from './answer-steps.ts';
import { notice, type Print } from './print.ts';
import {
  compacted,
  endOfRun,
  decisionPrint,
  rewoundNotices,
  settingsNotices,
  COMMAND_NOTICES,
} from './notices.ts';
import type { Step, StepResult } from './step-result.ts';
import { formatOtherOrigin, type View } from './view.ts';

/** Reduces an event into the view. */
export function step(view: View, event: PodEvent, now: number): StepResult {
  const result = stepWith(view, event, now);
  if (view.hasOtherClients || !isFromAnotherClient(event, view.me)) return result;
  return { ...result, view: { ...result.view, hasOtherClients: true } };
}

function stepWith<T extends PodEvent['type']>(
  view: View,
  event: PodEventOf<T> & { readonly type: T },
  now: number,
): StepResult {
  const take: Step<T> = STEPS[event.type];
  const { prints = NOTHING, ...changes } = take(view, event, now);
  return { view: { ...view, ...changes }, prints };
}

const NOTHING: readonly Print[] = [];
/** For events that are not shown. */
const silent = () => ({});

const STEPS: { readonly [T in PodEvent['type']]: Step<T> } = {
  ping: silent,
  usage: silent,
  status: silent,
  // A retried error is shown as a retry, and a final one with the run.
  error: silent,
  'block-start': blockStart,
  'block-delta': blockDelta,
  'block-stop': blockStop,
  'block-abort': blockAbort,

  'run-start': (_, __, now) => ({
    activity: 'waiting for the model',
    since: now,
    written: 0,
    hasBegun: true,
  }),
  input: (view, { origin, item, queueId, by, door }) => {
    const queue = view.queue.filter((queued) => queued.queueId !== queueId);
    const isUserMessage = item.type === 'message' && item.role === 'user' && origin !== 'continuation';
    // A shell command of the user has its own card, and what a notice reports was shown when it happened.
    if (!isUserMessage || origin === 'shell' || origin === 'notice') return { queue };
    const images = item.content.filter(({ type }) => type === 'image').length;
    const from = formatOtherOrigin(view.me, { by, door });
    const title = view.title ?? promptTitle(textOf(item.content));
    return { queue, title, prints: [{ type: 'message', text: textOf(item.content), from, images }] };
  },
  'turn-start': () => ({ activity: 'waiting for the model', written: 0, thoughts: new Map() }),
  'llm-end': (view, { usage, cost }) => ({
    ...(usage?.inputTokens !== undefined && {
      contextTokens: usage.inputTokens + (usage.outputTokens ?? 0),
    }),
    totals: {
      ...view.totals,
      ...(view.totals.cost !== undefined && cost !== undefined && { cost: view.totals.cost + cost.total }),
    },
  }),
  'tool-start': toolStart,
  'tool-update': toolUpdate,
  'tool-end': toolEnd,
  'turn-end': silent,
  'retry-start': (_, { attempt, maxAttempts, delayMs, failure }) => ({
    activity: 'waiting to try again',
    thoughts: new Map(),
    prints: [
      { type: 'text-end' },
      notice(
        `${failure.message}; retrying in ${(delayMs / 1000).toFixed(1)} s (${attempt} of ${maxAttempts})`,
        'warning',
      ),
    ],
  }),
  'retry-end': silent,
  'compaction-start': (_, { reason }, now) => ({
    activity: 'summarising the conversation',
    since: now,
    prints: reason === 'manual' ? [] : [notice('the context is full: summarising the conversation')],
  }),
  'compaction-end': (view, { result }) => ({
    compactions: view.compactions + 1,
    prints: [compacted(result)],
    ...(result.status === 'compacted' && { contextTokens: result.tokensAfter }),
  }),
  'run-end': (view, { runId, outcome, totals, conversation }) => ({
    calls: [],
    thoughts: new Map(),
    totals: conversation ?? addTotals(view.totals, totals),
    lastRun: { runId, outcome },
    prints: [{ type: 'text-end' }, ...endOfRun(outcome, view.calls)],
  }),

  state: (_, { state }) => ({ state }),
  queued: (view, { type: _, seq: __, ...queued }) => ({ queue: [...view.queue, queued] }),
  unqueued: (view, { queueIds, reason }) => ({
    queue: view.queue.filter(({ queueId }) => !queueIds.includes(queueId)),
    prints: reason === undefined ? [] : [notice(reason)],
  }),
  'approval-request': (view, { approval }) => ({
    approvals: [...view.approvals, approval],
    activity: 'waiting for your answer',
  }),
  'approval-response': (view, event) => ({
    approvals: view.approvals.filter(({ approvalId }) => approvalId !== event.approvalId),
    activity: 'working',
    prints: [decisionPrint(view, event)],
  }),
  settings: (view, { settings, by, door }) => ({
    settings,
    ...withoutUndefined({ model: settings.model }),
    // The context window of the new model is not known yet.
    ...(settings.model && isOther(settings.model, view.model) && { contextWindow: undefined }),
    prints: settingsNotices(view, settings, { by, door }),
  }),
  todos: (_, { items }) => {
    if (items.length === 0) return { todos: items };
    const done = items.filter(({ status }) => status === 'completed').length;
    const current = items.find(({ status }) => status === 'in_progress');
    const now = current === undefined ? '' : `: ${current.content}`;
    return { todos: items, prints: [notice(`todos ${done}/${items.length}${now}`)] };
  },
  title: (_, { title, totals }) => ({ title, totals }),
  branched: () => ({
    contextTokens: 0,
    prints: [notice('returned to another point of the conversation; all messages stay in the session')],
  }),
  'file-change': silent,
  rewound: (view, event) => ({ prints: rewoundNotices(view, event) }),
  'shell-start': (view, { shellId, command, private: isPrivate, by, door }, now) => {
    const from = formatOtherOrigin(view.me, { by, door });
    const title = shellTitle(command, isPrivate);
    return {
      hasBegun: true,
      shells: [...view.shells, { id: shellId, title, startedAt: now, text: '' }],
      prints: from === undefined ? [] : [notice(`${from} runs a command`)],
    };
  },
  'shell-update': (view, { shellId, text }) => ({
    shells: view.shells.map((shell) => (shell.id === shellId ? { ...shell, text } : shell)),
  }),
  'shell-end': shellEnd,
  'background-start': (view, { type: _, seq: __, ...command }) => ({
    background: [...view.background, command],
  }),
  'background-end': (view, { id, command, status, message }) => ({
    background: view.background.filter((one) => one.id !== id),
    prints: [notice(`background command ${id} (${command}): ${message}`, BACKGROUND_TONES[status])],
  }),
  'client-call': silent,
  'client-cancel': silent,
  recovered: () => ({
    calls: [],
    shells: [],
    thoughts: new Map(),
    prints: [
      { type: 'text-end' },
      notice('the process of this session ended unexpectedly; the session was reopened', 'warning'),
    ],
  }),
  commanded: (view, { command, by, door }) => {
    const from = formatOtherOrigin(view.me, { by, door });
    const label = COMMAND_NOTICES[command];
    return from === undefined || label === undefined ? {} : { prints: [notice(`${label} by ${from}`)] };
  },
  closed: (view, { by, door }) => {
    const from = formatOtherOrigin(view.me, { by, door });
    return {
      isClosed: true,
      prints: [notice(from === undefined ? 'closed' : `closed by ${from}`, 'warning')],
    };
  },
};

const BACKGROUND_TONES = {
  done: undefined,
  ended: undefined,
  failed: 'warning',
  interrupted: 'warning',
} as const;

function isOther(one: View['model'], other: View['model']): boolean {
  return one.provider !== other.provider || one.modelId !== other.modelId;
}
