import type { PodEvent } from '../../src/pod/index.ts';
import type { WireName } from './clients/client.ts';

/** The actions of a client on a session. */
export const ACTIONS = {
  prompt: 'prompt',
  queue: 'queue a prompt behind a run',
  steer: 'steer a run',
  cancel: 'cancel a run',
  withdraw: 'cancel a run that waits for an approval',
  decide: 'approve or deny a call',
  resume: 'resume after an event number',
  late: 'read the history before it connected',
} as const;
export type Action = keyof typeof ACTIONS;

/** The events of a session in the numbered log; docs/pod.md lists the other events. */
export const FACTS = {
  'run-start': 'a run starts',
  input: 'a message reaches the model',
  'turn-start': 'a turn starts',
  'block-start': 'a block starts',
  'block-delta': 'a block grows',
  'block-stop': 'a block is complete',
  'block-abort': 'a block is aborted',
  usage: 'usage of a request',
  'llm-end': 'an answer is complete',
  'tool-start': 'a call starts',
  'tool-end': 'a call has a result',
  'turn-end': 'a turn ends',
  'run-end': 'a run ends',
  state: 'the state changes',
  queued: 'a message is queued',
  'approval-request': 'a call requires approval',
  'approval-response': 'an approval is decided or withdrawn',
  commanded: 'a client cancels the run',
} as const satisfies Partial<Record<PodEvent['type'], string>>;
export type Fact = keyof typeof FACTS;

/** What one protocol supports. Clients of the protocol cannot do or see what is missing. */
export interface DoorRow {
  /** Its transports; the first one acts in the scenarios. */
  readonly wires: readonly [WireName, ...WireName[]];
  readonly actions: Readonly<Record<Action, string | undefined>>;
  /** The names of the lines for each event of the log. */
  readonly facts: Readonly<Record<Fact, readonly string[]>>;
}

const POD_FACTS: DoorRow['facts'] = {
  'run-start': ['run_start'],
  input: ['user_message'],
  'turn-start': ['turn_start'],
  'block-start': ['tool_call_start'],
  'block-delta': ['text_delta', 'thinking_delta', 'tool_call_args_delta'],
  'block-stop': ['text_done', 'thinking_done', 'tool_call_done'],
  'block-abort': ['block_aborted'],
  usage: ['usage'],
  'llm-end': ['turn_end'],
  'tool-start': ['turn_end', 'tool_start'],
  'tool-end': ['tool_result'],
  'turn-end': [],
  'run-end': ['block_aborted', 'turn_end', 'run_end'],
  state: ['status'],
  queued: ['queued'],
  'approval-request': ['approval_request'],
  'approval-response': ['approval_resolved'],
  commanded: ['commanded', 'turn_end'],
};

/** Every door of the registry has a row here: a test compares the two. */
export const TABLE: Readonly<Record<string, DoorRow>> = {
  pod: {
    wires: ['pod', 'pod plain'],
    actions: {
      prompt: '`run`',
      queue: '`run` with `when_busy`',
      steer: '`steer`',
      cancel: '`cancel`',
      withdraw: '`cancel`',
      decide: '`decide`',
      resume: '`subscribe {after}`',
      late: '`snapshot`',
    },
    facts: POD_FACTS,
  },
  hld: {
    wires: ['hld'],
    actions: {
      prompt: '`launchSession`, for a new session',
      queue: undefined,
      steer: undefined,
      cancel: '`interruptSession`',
      withdraw: undefined,
      decide: '`sendDecision`',
      resume: undefined,
      late: '`getConversation`, `fetchApprovals`',
    },
    facts: {
      'run-start': ['session_status_changed'],
      input: ['conversation_updated'],
      'turn-start': [],
      'block-start': [],
      'block-delta': [],
      'block-stop': [],
      'block-abort': [],
      usage: [],
      'llm-end': ['session_status_changed', 'conversation_updated'],
      'tool-start': [],
      'tool-end': ['conversation_updated'],
      'turn-end': [],
      'run-end': [],
      state: ['session_status_changed'],
      queued: [],
      'approval-request': ['new_approval', 'session_status_changed'],
      'approval-response': ['approval_resolved'],
      commanded: ['session_status_changed'],
    },
  },
  rpc: {
    wires: ['rpc', 'rpc stdio'],
    actions: {
      prompt: '`prompt`',
      queue: '`prompt` with `streamingBehavior`',
      steer: '`steer`',
      cancel: '`abort`',
      withdraw: '`abort`',
      decide: '`extension_ui_response`',
      resume: undefined,
      late: '`get_messages`, and the pending approvals',
    },
    facts: {
      'run-start': ['agent_start'],
      input: ['turn_start', 'message_start', 'message_end'],
      'turn-start': ['turn_start'],
      'block-start': ['message_update'],
      'block-delta': ['message_update'],
      'block-stop': ['message_update'],
      'block-abort': [],
      usage: [],
      'llm-end': ['message_end'],
      'tool-start': ['tool_execution_start'],
      'tool-end': ['tool_execution_end', 'message_start', 'message_end'],
      'turn-end': ['turn_end'],
      'run-end': ['turn_start', 'message_start', 'message_end', 'turn_end', 'agent_end'],
      state: ['agent_settled'],
      queued: [],
      'approval-request': ['extension_ui_request'],
      'approval-response': ['extension_ui_request'],
      commanded: [],
    },
  },
  acp: {
    wires: ['acp', 'acp stdio'],
    actions: {
      prompt: '`session/prompt`',
      queue: '`session/prompt`',
      steer: undefined,
      cancel: '`session/cancel`',
      withdraw: '`session/cancel`',
      decide: 'the answer to `session/request_permission`',
      resume: undefined,
      late: '`session/load`, and the pending approvals',
    },
    facts: {
      'run-start': [],
      input: ['user_message_chunk'],
      'turn-start': [],
      'block-start': ['tool_call'],
      'block-delta': ['agent_message_chunk', 'agent_thought_chunk'],
      'block-stop': ['tool_call_update'],
      'block-abort': [],
      usage: [],
      'llm-end': [],
      'tool-start': ['tool_call_update'],
      'tool-end': ['tool_call_update'],
      'turn-end': [],
      'run-end': [],
      state: [],
      queued: [],
      'approval-request': ['session/request_permission'],
      'approval-response': ['$/cancel_request'],
      commanded: [],
    },
  },
  tasks: {
    wires: ['tasks SSE', 'tasks WebSocket'],
    actions: {
      prompt: '`POST /submit_task`, `prompt`',
      queue: '`POST /submit_task`, `prompt`',
      steer: undefined,
      cancel: '`POST /tasks/{taskId}/cancel`',
      withdraw: '`POST /tasks/{taskId}/cancel`',
      decide: '`POST /approvals/{approvalId}/decide`',
      resume: '`Last-Event-ID`, `after`',
      late: '`snapshot`',
    },
    facts: POD_FACTS,
  },
};
