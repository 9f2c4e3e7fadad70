import { isObject } from '../../base/index.ts';
import type { Totals } from '../../worker/index.ts';
import { factKind } from './fact.ts';
import { amount, type Field, flag, list, object, record, text, word } from './field.ts';
import { readTotals } from './totals.ts';

const totals: Field<Totals> = (value) => (isObject(value) ? readTotals(value) : undefined);
const origin = { by: text, door: text };

/** A run began. One without an end was under way when the process died. */
export const RUN_START = factKind(
  'run-start',
  record({ runId: text }, { ...origin, taskId: text, overrides: object }),
);

/** A run ended. `totals` are those of the whole conversation, so that nobody has to add up what came before. */
export const RUN_END = factKind(
  'run-end',
  record(
    {
      runId: text,
      status: word('finished', 'paused', 'cancelled', 'failed', 'limited', 'interrupted'),
    },
    { message: text, kind: text, callIds: list(text), totals },
  ),
);

/** A call began while others of its turn wait for a decision: if the process dies, it must not begin again. */
export const TOOL_START = factKind('tool-start', record({ callId: text }, {}));

/** A call ended before those in front of it: its result is kept here until its place in the order comes. */
export const TOOL_END = factKind('tool-end', record({ callId: text, name: text, message: object }, {}));

/** A message waits for its turn. */
export const QUEUED = factKind(
  'queued',
  record(
    { queueId: text, lane: word('prompt', 'steer', 'follow-up'), content: list(object) },
    { ...origin, taskId: text, overrides: object },
  ),
);

/** Messages that will not be delivered. */
export const UNQUEUED = factKind('unqueued', record({ queueIds: list(text) }, {}));

/** A person is asked about a call. */
export const APPROVAL_REQUEST = factKind(
  'approval-request',
  record(
    { approvalId: text, requestedAt: text, tool: text, arguments: text, title: text, reason: text },
    {
      runId: text,
      callId: text,
      podId: text,
      rule: object,
      deadline: text,
      fallback: word('deny', 'pause'),
    },
  ),
);

/** The question is settled; the first answer counts. */
export const APPROVAL_RESPONSE = factKind(
  'approval-response',
  record(
    { approvalId: text, status: word('approved', 'denied', 'expired', 'cancelled'), at: text },
    {
      ...origin,
      comment: text,
      updatedArguments: text,
      remember: word('once', 'session', 'always'),
    },
  ),
);

/** All that the pod is set to. Model, thinking level and name also have entries that others read. */
export const SETTINGS = factKind('settings', record({ settings: object }, origin));

/** The whole list of steps; it replaces the one before. */
export const TODOS = factKind('todos', record({ items: list(object) }, {}));

/** A person's own command began. */
export const SHELL_START = factKind(
  'shell-start',
  record({ shellId: text, command: text, private: flag }, origin),
);

/** It ended; what it brought is put into the conversation once no turn is under way. */
export const SHELL_END = factKind('shell-end', record({ shellId: text, message: object }, {}));

/** A command that left no other entry was accepted under an idempotency key; the receipt stands beside it. */
export const ACCEPTED = factKind('accepted', record({}, {}));

/** Numbers up to this one may have been given out. */
export const MARK = factKind('mark', record({}, {}));

/** The conversation went back to an entry: the line that makes a branch durable. */
export const BRANCH = factKind('branch', record({}, { from: text }));

/** This file goes on from here on its own: runs, approvals and receipts before it are another session's. */
export const FORK = factKind('fork', record({ sessionId: text }, { entryId: text }));

/** A result whose call was lost when the file was damaged: kept for people, and part of no conversation. */
export const ORPHANED_RESULT = factKind('orphaned-result', record({ message: object }, {}));

/** A message that lacks what belongs to it, as its line was: kept for people, and part of no conversation. */
export const DAMAGED_ENTRY = factKind('damaged-entry', record({ line: text }, {}));

/** The file was damaged and repaired. What stands before it need not be all that was told of. */
export const REPAIRED = factKind('repaired', record({ original: text }, { lost: amount }));

/**
 * All that else would have to be looked for in front of it. Written after a compaction, so that a long session is
 * opened from its end. `state` is the pod's own.
 */
export const CHECKPOINT = factKind(
  'checkpoint',
  record({}, { provider: text, modelId: text, thinkingLevel: text, name: text, totals, state: object }),
);
