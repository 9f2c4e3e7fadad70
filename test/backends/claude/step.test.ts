import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../../src/backends/index.ts';
import {
  cancelAnswered,
  type ClaudeState,
  initialState,
  messageSent,
  type Sent,
  step,
  takeRequest,
} from '../../../src/backends/claude/step.ts';

const FIXTURES = new URL('fixtures/', import.meta.url);
const PATHS = { cwd: '/project', home: '/home/user' };

type Line = Readonly<Record<string, unknown>>;

/** Recorded frames, with lines for what the host did in between. */
function play(lines: readonly Line[]): {
  readonly events: readonly AgentEvent[];
  readonly state: ClaudeState;
} {
  const events: AgentEvent[] = [];
  let state = initialState(PATHS);
  for (const line of lines) {
    if (line.polypod === 'sent') state = messageSent(state, String(line.uuid), line.sent as Sent);
    else if (line.polypod === 'compact') state = { ...state, isCompacting: true };
    else if (line.polypod === 'cancel') state = { ...state, isCancelling: true };
    else if (line.polypod === 'answer') state = takeRequest(state, String(line.requestId))?.state ?? state;
    else {
      const next = line.type === 'control_response' ? cancelAnswered(state) : step(state, line);
      events.push(...next.events);
      state = next.state;
    }
  }
  return { events, state };
}

function recorded(name: string): readonly Line[] {
  return readFileSync(new URL(name, FIXTURES), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const names = readdirSync(FIXTURES).filter((name) => name.endsWith('.jsonl'));

describe('the frames of Claude Code become events', () => {
  it.each(names)('%s', async (name) => {
    const { events, state } = play(recorded(name));
    const lines = events.map((event) => JSON.stringify(event));
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(
      new URL(name.replace('.jsonl', '.events'), FIXTURES).pathname,
    );
    expect(events.at(-1)?.type).toBe('turn-end');
    expect(state).toMatchObject({
      isActive: false,
      isRunning: false,
      isCancelling: false,
      answer: undefined,
    });
    expect([state.calls.size, state.requests.size, state.sent.size]).toEqual([0, 0, 0]);
  });

  it('the text of an answer is reported once, although later frames repeat it', () => {
    const text = play(recorded('text.jsonl')).events.flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    );
    expect(text.join('')).toBe('The answer is 42, certainly.');
  });

  it('calls and permission requests follow the end of their answer', () => {
    for (const name of names) {
      let isInAnswer = false;
      for (const { type } of play(recorded(name)).events) {
        if (type === 'text' || type === 'thinking') isInAnswer = true;
        else if (type === 'answer-end' || type === 'turn-end') isInAnswer = false;
        else if (type === 'call' || type === 'permission' || type === 'call-end')
          expect([name, isInAnswer]).toEqual([name, false]);
      }
    }
  });
});

describe('a frame that is not valid', () => {
  const values = [undefined, null, 1, '', 'x', [], {}, [null], [[]], { content: [null, 1, 'x', {}] }, true];
  const types = [
    'system',
    'stream_event',
    'assistant',
    'user',
    'result',
    'command_lifecycle',
    'control_request',
    'control_cancel_request',
    'conversation_reset',
    'tool_progress',
    'unknown',
    7,
  ];
  const keys = [
    'event',
    'message',
    'request',
    'request_id',
    'parent_tool_use_id',
    'tool_use_result',
    'tool_result_meta',
    'modelUsage',
    'errors',
    'subtype',
    'session_id',
    'command_uuid',
    'compact_metadata',
    'terminal_reason',
  ];

  it.each(types)('of type %s changes nothing that matters and never throws', (type) => {
    const sent = messageSent(initialState(PATHS), 'id', 'prompt');
    for (const key of keys)
      for (const value of values) {
        for (const state of [initialState(PATHS), sent]) {
          const next = step(state, { type, [key]: value });
          expect(Array.isArray(next.events)).toBe(true);
        }
        for (const subtype of [
          'init',
          'api_retry',
          'compact_boundary',
          'task_started',
          'can_use_tool',
          'elicitation',
        ])
          step(sent, { type, subtype, request_id: 'r', request: { subtype, [key]: value }, [key]: value });
        for (const event of ['message_start', 'content_block_delta', 'message_delta', 'message_stop'])
          step(sent, { type, event: { type: event, delta: value, message: value, usage: value } });
      }
  });

  it('is refused if it is an unknown request', () => {
    const frame = { type: 'control_request', request_id: 'r1', request: { subtype: 'hook_callback' } };
    expect(step(initialState(PATHS), frame).refused).toEqual([
      { requestId: 'r1', error: 'Polypod does not support the request hook_callback.' },
    ]);
  });
});

describe('the state', () => {
  it('does not end a turn with the result of another one while its prompt is queued', () => {
    let state = messageSent(initialState(PATHS), 'own', 'prompt');
    const result = { type: 'result', is_error: false, subtype: 'success', total_cost_usd: 1 };
    const other = step(state, result);
    expect(other.events).toEqual([{ type: 'total-cost', usd: 1 }]);
    state = step(other.state, { type: 'command_lifecycle', command_uuid: 'own', state: 'started' }).state;
    expect(step(state, result).events.at(-1)).toEqual({ type: 'turn-end', outcome: { status: 'finished' } });
  });

  it('refuses requests that are open when a turn fails', () => {
    let state = messageSent(initialState(PATHS), 'own', 'prompt');
    state = step(state, { type: 'command_lifecycle', command_uuid: 'own', state: 'started' }).state;
    const request = {
      subtype: 'can_use_tool',
      tool_name: 'Bash',
      input: { command: 'ls' },
      tool_use_id: 'c1',
    };
    state = step(state, { type: 'control_request', request_id: 'r1', request }).state;
    const { events, refused } = step(state, {
      type: 'result',
      is_error: true,
      subtype: 'error_during_execution',
    });
    expect(events.map(({ type }) => type)).toEqual(['permission-withdrawn', 'turn-end']);
    expect(refused).toEqual([{ requestId: 'r1', error: 'The turn has ended.' }]);
  });

  it('drops a permission request that is withdrawn before its answer has ended', () => {
    let state = messageSent(initialState(PATHS), 'own', 'prompt');
    const start = { type: 'message_start', message: { id: 'm1', usage: { input_tokens: 1 } } };
    state = step(state, { type: 'stream_event', event: start }).state;
    const request = {
      subtype: 'can_use_tool',
      tool_name: 'Bash',
      input: { command: 'ls' },
      tool_use_id: 'c1',
    };
    state = step(state, { type: 'control_request', request_id: 'r1', request }).state;
    state = step(state, { type: 'control_cancel_request', request_id: 'r1' }).state;
    const { events } = step(state, { type: 'stream_event', event: { type: 'message_stop' } });
    expect(events.map(({ type }) => type)).toEqual(['usage', 'context', 'answer-end']);
  });
});
