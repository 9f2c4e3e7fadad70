import { isObject } from '../../base/index.ts';
import type { Totals } from '../../worker/index.ts';
import { factKind } from './fact.ts';
import { amount, type Field, flag, list, object, record, text, word } from './field.ts';
import { readTotals } from './totals.ts';

const totals: Field<Totals> = (value) => (isObject(value) ? readTotals(value) : undefined);
const origin = { by: text, door: text };

/** A run started. Without an end, it was active when the process died. */
export const RUN_START = factKind(
  'run-start',
  record({ runId: text }, { ...origin, taskId: text, overrides: object }),
);

/** A run ended. `totals` cover the whole conversation, so that readers need not add up earlier runs. */
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

/** A call started while other calls of its turn wait for a decision: if the process dies, it must not start again. */
export const TOOL_START = factKind('tool-start', record({ callId: text }, {}));

/** A call ended before earlier calls of its turn. Its result is stored here until its position in the order comes. */
export const TOOL_END = factKind('tool-end', record({ callId: text, name: text, message: object }, {}));

/** A message was queued. */
export const QUEUED = factKind(
  'queued',
  record(
    { queueId: text, lane: word('prompt', 'steer', 'follow-up'), content: list(object) },
    { ...origin, taskId: text, overrides: object },
  ),
);

/** Messages that will not be delivered. */
export const UNQUEUED = factKind('unqueued', record({ queueIds: list(text) }, {}));

/** An approval was requested. */
export const APPROVAL_REQUEST = factKind(
  'approval-request',
  record(
    { approvalId: text, requestedAt: text, tool: text, arguments: text, title: text, reason: text },
    {
      runId: text,
      callId: text,
      podId: text,
      podName: text,
      rule: object,
      deadline: text,
      fallback: word('deny', 'pause'),
    },
  ),
);

/** The approval was settled; the first decision wins. */
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

/** The complete settings of the pod. Model, thinking level and name also have entries that other programs read. */
export const SETTINGS = factKind('settings', record({ settings: object }, origin));

/** The complete todo list; it replaces the previous one. */
export const TODOS = factKind('todos', record({ items: list(object) }, {}));

/** A model has written a title. `totals` are as in `run-end`. */
export const TITLE = factKind('title', record({ title: text }, { totals }));

/** A person's shell command started. */
export const SHELL_START = factKind(
  'shell-start',
  record({ shellId: text, command: text, private: flag }, origin),
);

/** The command ended. Its output is added to the conversation once no turn is in progress. */
export const SHELL_END = factKind('shell-end', record({ shellId: text, message: object }, {}));

/** A background command of the agent started. Without an end, it was running when the process died. */
export const BACKGROUND_START = factKind(
  'background-start',
  record({ id: text, command: text, callId: text, startedAt: text }, {}),
);

/** A background command ended. The model is informed with its next request. */
export const BACKGROUND_END = factKind(
  'background-end',
  record({ id: text, status: word('done', 'failed', 'ended', 'interrupted'), message: text }, {}),
);

/** A command without another entry was accepted under an idempotency key; the entry carries its receipt. */
export const ACCEPTED = factKind('accepted', record({}, {}));

/** Numbers up to this one may have been assigned. */
export const MARK = factKind('mark', record({}, {}));

/** The leaf moved to an earlier entry. This entry makes the branch durable. */
export const BRANCH = factKind('branch', record({}, { from: text }));

const version = record({ mode: amount }, { hash: text });

/** A file is about to change; a missing version means that the file does not exist. */
export const FILE_CHANGE = factKind(
  'file-change',
  record({ path: text }, { before: version, after: version, directories: list(text), callId: text }),
);

/** Files or the conversation were returned to the point before an entry. */
export const REWIND = factKind(
  'rewind',
  record(
    {
      target: text,
      parts: word('both', 'files', 'conversation'),
      files: list(record({ path: text, outcome: word('restored', 'removed', 'skipped') }, { reason: text })),
    },
    { ...origin, from: text },
  ),
);

/** The fork starts here: earlier runs, approvals and receipts belong to another session. */
export const FORK = factKind('fork', record({ sessionId: text }, { entryId: text }));

/** A result whose call was lost when the file was damaged. It is kept for people and is not part of the conversation. */
export const ORPHANED_RESULT = factKind('orphaned-result', record({ message: object }, {}));

/** The line of a message with missing fields. It is kept for people and is not part of the conversation. */
export const DAMAGED_ENTRY = factKind('damaged-entry', record({ line: text }, {}));

/** The file was damaged and repaired. Entries before this one may be incomplete. */
export const REPAIRED = factKind('repaired', record({ original: text }, { lost: amount }));

/**
 * The state of a pod, so that earlier entries need not be read. Written after a compaction, so that a long session can be opened
 * from its end. `state` belongs to the pod.
 */
export const CHECKPOINT = factKind(
  'checkpoint',
  record({}, { provider: text, modelId: text, thinkingLevel: text, name: text, totals, state: object }),
);
