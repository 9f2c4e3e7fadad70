import { isObject } from '../../base/index.ts';
import { factKind } from './fact.ts';
import { amount, type Field, list, object, record, text, word } from './field.ts';
import { readTotals } from './totals.ts';
import type { Totals } from '../../worker/index.ts';

const totals: Field<Totals> = (value) => (isObject(value) ? readTotals(value) : undefined);

/** A run began. One without an end was under way when the process died. */
export const RUN_START = factKind('run-start', record({ runId: text }, {}));

/** A run ended. `totals` are those of the whole conversation, so that nobody has to add up what came before. */
export const RUN_END = factKind(
  'run-end',
  record(
    {
      runId: text,
      status: word('finished', 'paused', 'cancelled', 'failed', 'limited', 'interrupted'),
    },
    { message: text, totals },
  ),
);

/** A person is asked about a call. */
export const APPROVAL_REQUEST = factKind(
  'approval-request',
  record(
    { approvalId: text, runId: text, callId: text, tool: text, arguments: text },
    { title: text, reason: text, rule: object, deadline: text, fallback: word('deny', 'pause') },
  ),
);

/** The question is settled; the first answer counts. */
export const APPROVAL_RESPONSE = factKind(
  'approval-response',
  record(
    { approvalId: text, status: word('approved', 'denied', 'expired', 'cancelled') },
    {
      by: text,
      door: text,
      comment: text,
      updatedArguments: text,
      remember: word('once', 'session', 'always'),
    },
  ),
);

/** What the agent may do from now on. */
export const PERMISSIONS = factKind(
  'permissions',
  record({ mode: word('read-only', 'workspace-write', 'full-access') }, { rules: list(object) }),
);

/** The whole list of steps; it replaces the one before. */
export const TODOS = factKind('todos', record({ phases: list(object) }, {}));

/** The tools that the model is given, by name; with them those that a client runs. */
export const TOOLS = factKind('tools', record({ names: list(text) }, { client: list(object) }));

/** A command was accepted under an idempotency key; the same key with the same digest gets the same reply. */
export const RECEIPT = factKind(
  'receipt',
  record({ key: text, digest: text, reply: object }, { principal: text }),
);

/** A writer took the session over; who has a lower number must not write any more. */
export const EPOCH = factKind('epoch', record({ epoch: amount }, { host: text, pid: amount }));

/** The conversation went back to an entry: the line that makes a branch durable. */
export const BRANCH = factKind('branch', record({}, { from: text }));

/** This file goes on from here on its own: runs, approvals and receipts before it are another session's. */
export const FORK = factKind('fork', record({ sessionId: text }, { entryId: text }));

/**
 * All that else would have to be looked for in front of it. Written after a compaction, so that a long session is
 * opened from its end. `state` is the pod's own.
 */
export const CHECKPOINT = factKind(
  'checkpoint',
  record({}, { provider: text, modelId: text, thinkingLevel: text, name: text, totals, state: object }),
);
