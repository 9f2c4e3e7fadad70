import { isObject, type JsonObject, withoutUndefined } from '../../../base/index.ts';
import type { PodEvent, PodEventOf } from '../../../pod/index.ts';
import { claudeSessionId, wireApprovalId } from '../sessions/identity.ts';
import {
  transcriptRows,
  transcriptRowsOfBroken,
  type TranscriptRow,
  summaryRow,
  textOf,
} from '../conversation/transcript-rows.ts';
import type { ProjectionState } from './projection-state.ts';
import { NEVER_EXPIRES } from '../sessions/session.ts';
import { type Phase, wireStatus } from '../sessions/status.ts';
import { titleOf } from '../sessions/title.ts';
import { toolInput } from '../tool-input.ts';
import type { EventType } from '../wire.ts';

/** An event for subscribers without its timestamp. */
export interface UntimedEvent {
  readonly type: EventType;
  readonly data: JsonObject & { readonly session_id: string };
}

type Encoder<T extends PodEvent['type']> = (
  event: PodEventOf<T>,
  projection: ProjectionState,
  now: number,
) => readonly UntimedEvent[];

const NOTHING: readonly UntimedEvent[] = [];
/** The protocol has no event for it, or a status change reports it. */
const silent = (): readonly UntimedEvent[] => NOTHING;

/** Encodes an event, given the projection state before it. The table has an entry for every event type. */
export function encode(event: PodEvent, projection: ProjectionState, now: number): readonly UntimedEvent[] {
  return encodeWith(event, projection, now);
}

/** The event that reports a change of a session's phase. */
export function phaseChange(projection: ProjectionState, before: Phase, after: Phase): UntimedEvent {
  const { sessionId, parentId, lastRun } = projection;
  const { status, detail } = wireStatus(after);
  return {
    type: 'session_status_changed',
    data: {
      session_id: sessionId,
      old_status: wireStatus(before).status,
      new_status: status,
      ...(detail && { detail }),
      ...(lastRun && { run_id: lastRun.runId }),
      ...(parentId === undefined ? {} : { parent_session_id: parentId }),
    },
  };
}

function encodeWith<T extends PodEvent['type']>(
  event: PodEventOf<T> & { readonly type: T },
  projection: ProjectionState,
  now: number,
): readonly UntimedEvent[] {
  const encodeEvent: Encoder<T> = ENCODERS[event.type];
  return encodeEvent(event, projection, now);
}

const ENCODERS: { readonly [T in PodEvent['type']]: Encoder<T> } = {
  ping: silent,
  status: silent,
  error: silent,
  usage: silent,
  // Rows are sent complete, once the answer is final.
  'block-start': silent,
  'block-delta': silent,
  'block-stop': silent,
  'block-abort': silent,
  'run-start': silent,
  'run-end': silent,
  'turn-start': silent,
  'retry-start': silent,
  'retry-end': silent,
  'tool-start': silent,
  'tool-update': silent,
  'compaction-start': silent,
  state: silent,
  queued: silent,
  unqueued: silent,
  todos: silent,
  branched: silent,
  'file-change': silent,
  rewound: silent,
  'shell-start': silent,
  'shell-update': silent,
  'shell-end': silent,
  'background-start': silent,
  'background-end': silent,
  'client-call': silent,
  'client-cancel': silent,
  recovered: silent,
  commanded: silent,
  closed: silent,

  // The client that launched the session already has its first prompt.
  // What no person wrote is no part of the stored conversation either.
  input: ({ item, customType }, projection) =>
    projection.isPrompted && customType === undefined
      ? conversation(transcriptRows(item), projection)
      : NOTHING,
  'llm-end': ({ items, outcome, broken = [], usage }, projection) => [
    ...(usage === undefined || outcome !== 'completed' ? NOTHING : [tokenUpdate(projection)]),
    ...conversation(
      outcome === 'failed' ? transcriptRowsOfBroken(broken) : items.flatMap(transcriptRows),
      projection,
    ),
  ],
  'tool-end': ({ callId, output }, projection) =>
    conversation([{ type: 'tool_result', callId, content: textOf(output.content) }], projection),
  // The results of calls that were never started appear only here.
  'turn-end': ({ results }, projection) =>
    conversation(
      results.flatMap((item) =>
        item.type === 'tool-result' && !projection.answered.has(item.callId) ? transcriptRows(item) : [],
      ),
      projection,
    ),
  'compaction-end': ({ result }, projection) =>
    result.status === 'compacted' ? conversation([summaryRow(result.summary)], projection) : NOTHING,

  'approval-request': ({ approval }, { sessionId }) => [
    {
      type: 'new_approval',
      data: {
        approval_id: wireApprovalId(approval.approvalId),
        session_id: sessionId,
        tool_name: approval.tool,
        ...withoutUndefined({ sub_agent: approval.podName }),
      },
    },
  ],
  'approval-response': ({ approvalId, status, comment }, { sessionId, approvals }) => {
    const callId = approvals.get(approvalId)?.callId;
    return [
      {
        type: 'approval_resolved',
        data: {
          approval_id: wireApprovalId(approvalId),
          session_id: sessionId,
          approved: status === 'approved',
          response_text: comment ?? '',
          ...(callId === undefined ? {} : { tool_use_id: callId }),
        },
      },
    ];
  },
  // A name that a person has given takes precedence.
  title: ({ title }, { sessionId, settings }) =>
    titleOf(settings) === ''
      ? [{ type: 'session_status_changed', data: { session_id: sessionId, title } }]
      : NOTHING,
  // The initial settings of a session are not a change.
  settings: ({ settings }, projection, now) =>
    projection.isNew
      ? NOTHING
      : [...settingsChange(settings, projection, now), ...titleChange(settings, projection)],
};

function tokenUpdate({ sessionId, phase }: ProjectionState): UntimedEvent {
  const { status } = wireStatus(phase);
  return {
    type: 'session_status_changed',
    data: { session_id: sessionId, old_status: status, new_status: status, reason: 'token_update' },
  };
}

function settingsChange(
  { acceptEdits, skipPermissionsUntil: until, skipPermissionsForMs }: PodEventOf<'settings'>['settings'],
  { sessionId, settings: before }: ProjectionState,
  now: number,
): readonly UntimedEvent[] {
  const isOn = until !== undefined && Date.parse(until) > now;
  const changes = {
    ...(acceptEdits === before.acceptEdits ? {} : { auto_accept_edits: acceptEdits }),
    ...(until === before.skipPermissionsUntil ? {} : { dangerously_skip_permissions: isOn }),
    ...(until !== before.skipPermissionsUntil && isOn && until !== NEVER_EXPIRES
      ? { dangerously_skip_permissions_timeout_ms: skipPermissionsForMs ?? Date.parse(until) - now }
      : {}),
  };
  if (Object.keys(changes).length === 0) return NOTHING;
  return [
    {
      type: 'session_settings_changed',
      data: { session_id: sessionId, event_type: 'settings_updated', ...changes },
    },
  ];
}

function titleChange(
  settings: PodEventOf<'settings'>['settings'],
  { sessionId, settings: before }: ProjectionState,
): readonly UntimedEvent[] {
  const title = titleOf(settings);
  if (title === titleOf(before)) return NOTHING;
  return [{ type: 'session_status_changed', data: { session_id: sessionId, title } }];
}

function conversation(
  rows: readonly TranscriptRow[],
  { sessionId }: ProjectionState,
): readonly UntimedEvent[] {
  return rows.map((one) => ({
    type: 'conversation_updated',
    data: {
      session_id: sessionId,
      claude_session_id: claudeSessionId(sessionId),
      event_type: one.type,
      content_type: CONTENT_TYPES[one.type],
      parent_tool_use_id: '',
      ...rowFields(one),
    },
  }));
}

const CONTENT_TYPES: Readonly<Record<TranscriptRow['type'], string>> = {
  message: 'text',
  thinking: 'thinking',
  tool_call: 'tool_use',
  tool_result: 'tool_result',
  system: 'system',
};

function rowFields(row: TranscriptRow): JsonObject {
  switch (row.type) {
    case 'message':
      return { role: row.role, content: row.content };
    case 'thinking':
      return { role: 'assistant', content: row.content };
    case 'tool_call':
      return { tool_id: row.callId, tool_name: row.name, tool_input: inputOf(row.name, row.arguments) };
    case 'tool_result':
      return { tool_result_for_id: row.callId, tool_result_content: row.content };
    case 'system':
      return { subtype: row.subtype, content: row.content };
  }
}

/** Returns the arguments as an object. Invalid JSON from the model stays readable. */
function inputOf(tool: string, text: string): JsonObject {
  const value = toolInput(tool, text);
  return isObject(value) ? value : { raw: text };
}
