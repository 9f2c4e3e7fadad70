import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { initialState, type PiInput, type PiState, step } from '../../../src/backends/pi/step.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const START = initialState({ cwd: '/project', home: '/home' }, {});

const frame = (type: string, more: object = {}): PiInput => ({ type: 'frame', frame: { type, ...more } });
const response = (id: string, more: object = {}): PiInput =>
  frame('response', { id, command: 'prompt', success: true, ...more });
const textInput = (text: string) => [{ type: 'text', text }] as const;

/** Applies all inputs: what is reported and what is sent, in order. */
function run(inputs: readonly PiInput[], start: PiState = START) {
  let state = start;
  const events: unknown[] = [];
  const sent: unknown[] = [];
  for (const input of inputs) {
    const result = step(state, input);
    state = result.state;
    events.push(...result.events);
    sent.push(...result.send);
  }
  return { state, events, sent };
}

describe('recorded frames of pi', () => {
  const names = readdirSync(FIXTURES).filter((name) => name.endsWith('.jsonl'));

  it.each(names)('%s become events', async (name) => {
    const lines = readFileSync(join(FIXTURES, name), 'utf8').trimEnd().split('\n');
    let state = START;
    const output: string[] = [];
    for (const line of lines) {
      const result = step(state, JSON.parse(line) as PiInput);
      state = result.state;
      output.push(...result.events.map((event) => JSON.stringify(event)));
      output.push(...result.send.map((message) => `> ${JSON.stringify(message)}`));
    }
    expect(state.turn).toBeUndefined();
    expect(state.requests.size).toBe(0);
    await expect(`${output.join('\n')}\n`).toMatchFileSnapshot(
      join(FIXTURES, name.replace(/\.jsonl$/, '.events')),
    );
  });

  it.each(names)('%s do not throw if any value in them is another one', (name) => {
    const lines = readFileSync(join(FIXTURES, name), 'utf8').trimEnd().split('\n');
    for (const value of [null, 7, 'text', [], {}, [null], { type: null }])
      run(lines.map((line) => damaged(JSON.parse(line) as PiInput, value)));
  });
});

/** Replaces every value of the frame, one level after the other. */
function damaged(input: PiInput, value: unknown): PiInput {
  if (input.type !== 'frame') return input;
  const entries = Object.entries(input.frame).map(([key, old]) => [
    key,
    key === 'type'
      ? old
      : typeof old === 'object' && old !== null
        ? { ...old, ...replaced(old, value) }
        : value,
  ]);
  return { type: 'frame', frame: Object.fromEntries(entries) as object & Record<string, unknown> };
}

function replaced(old: object, value: unknown): object {
  return Object.fromEntries(Object.keys(old).map((key) => [key, value]));
}

describe('a turn', () => {
  it('ignores frames that are unknown or come without a turn', () => {
    const { state, events, sent } = run([
      frame('something_new', { value: 1 }),
      frame('agent_settled'),
      frame('tool_execution_end', { toolCallId: 'unknown', result: {} }),
      frame('tool_execution_update', { toolCallId: 'unknown', partialResult: { content: 'x' } }),
      response('prompt'),
      frame('extension_ui_request', { id: 'n', method: 'notify', message: 'hi' }),
    ]);
    expect({ events, sent, turn: state.turn }).toEqual({ events: [], sent: [], turn: undefined });
  });

  it('that is cancelled before pi has accepted the prompt is aborted again after that', () => {
    const { sent, state } = run([
      { type: 'prompt', input: textInput('go') },
      { type: 'cancel' },
      response('prompt'),
    ]);
    expect(sent.map((message) => (message as { type: string }).type)).toEqual([
      'prompt',
      'clear_queue',
      'abort',
      'clear_queue',
      'abort',
      'get_state',
    ]);
    expect(run([frame('agent_start'), frame('agent_settled')], state).events).toEqual([
      { type: 'turn-end', outcome: { status: 'cancelled' } },
    ]);
  });

  it('fails if pi refuses the prompt', () => {
    const { events } = run([
      { type: 'prompt', input: textInput('go') },
      response('prompt', { success: false, error: 'No API key found for sim. Use /login.' }),
    ]);
    expect(events).toEqual([
      {
        type: 'turn-end',
        outcome: {
          status: 'failed',
          failure: { kind: 'auth', message: 'No API key found for sim. Use /login.' },
        },
      },
    ]);
  });

  it('does not end before pi has accepted a steering message', () => {
    const { state, events } = run([
      { type: 'prompt', input: textInput('go') },
      response('prompt'),
      frame('agent_start'),
      frame('message_start', { message: { role: 'user' } }),
      { type: 'steer', input: textInput('more') },
      frame('agent_settled'),
    ]);
    expect(events).toEqual([]);
    expect(run([response('steer', { success: false, error: 'no' })], state).events).toEqual([
      { type: 'turn-end', outcome: { status: 'finished' } },
    ]);
    const continued = [
      response('steer'),
      frame('agent_start'),
      frame('message_start', { message: { role: 'user' } }),
      frame('agent_settled'),
    ];
    expect(run(continued, state).events).toEqual([
      { type: 'steered' },
      { type: 'turn-end', outcome: { status: 'finished' } },
    ]);
  });

  it('starts for a steering message that arrives after the end of the last one', () => {
    const { events, sent } = run([
      { type: 'steer', input: textInput('more') },
      response('steer'),
      frame('agent_start'),
      frame('message_start', { message: { role: 'user' } }),
      frame('agent_settled'),
    ]);
    expect(events).toEqual([
      { type: 'turn-start' },
      { type: 'steered' },
      { type: 'turn-end', outcome: { status: 'finished' } },
    ]);
    expect(sent).toMatchObject([{ type: 'prompt', message: 'more' }, { type: 'get_state' }]);
  });

  it('ends if no run follows an accepted prompt', () => {
    const idle = { command: 'get_state', data: { isStreaming: false } };
    const { state, events } = run([{ type: 'prompt', input: textInput('/command') }, response('prompt')]);
    expect(events).toEqual([]);
    expect(run([response('check-0', idle)], state).events).toEqual([]);
    expect(run([response('check-1', idle)], state).events).toEqual([
      { type: 'turn-end', outcome: { status: 'finished' } },
    ]);
  });

  it('that pi starts by itself is reported', () => {
    const { events } = run([frame('agent_start'), frame('agent_settled')]);
    expect(events).toEqual([{ type: 'turn-start' }, { type: 'turn-end', outcome: { status: 'finished' } }]);
  });

  it('withdraws what is open when it ends', () => {
    const { events, sent } = run([
      frame('agent_start'),
      frame('extension_ui_request', { id: 'd', method: 'confirm', title: 'Sure?', message: 'Really?' }),
      frame('agent_settled'),
    ]);
    expect(events).toMatchObject([
      { type: 'turn-start' },
      { type: 'question', requestId: 'd', question: { message: 'Sure?\nReally?' } },
      { type: 'question-withdrawn', requestId: 'd' },
      { type: 'turn-end' },
    ]);
    expect(sent).toEqual([{ type: 'extension_ui_response', id: 'd', cancelled: true }]);
  });
});

describe('an answer', () => {
  it('that was not streamed is reported at its end', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'text', text: 'Yes.' },
    ];
    const { events } = run([
      frame('agent_start'),
      frame('message_end', { message: { role: 'assistant', content, stopReason: 'stop' } }),
    ]);
    expect(events.slice(1)).toEqual([
      { type: 'thinking', text: 'Hm.' },
      { type: 'text', text: 'Yes.' },
      { type: 'answer-end', stopReason: 'end-turn' },
    ]);
  });
});

describe('the answer to a request', () => {
  const gate = (request: object) =>
    frame('extension_ui_request', {
      id: 'g',
      method: 'input',
      title: 'polypod-gate',
      placeholder: JSON.stringify(request),
    });
  const asked = run([
    frame('agent_start'),
    gate({ type: 'call', callId: 'c', name: 'bash', input: { command: 'ls' }, isBuiltin: true }),
  ]).state;

  it('is sent once', () => {
    const reply = { type: 'answer', requestId: 'g', reply: { decision: 'allow' } } as const;
    expect(run([reply, reply], asked).sent).toEqual([
      { type: 'extension_ui_response', id: 'g', value: '{"decision":"allow"}' },
    ]);
  });

  it('denies the call if the changed arguments are not JSON', () => {
    const reply = { decision: 'allow', arguments: '{"command":' } as const;
    const { sent } = run([{ type: 'answer', requestId: 'g', reply }], asked);
    expect(sent).toEqual([
      {
        type: 'extension_ui_response',
        id: 'g',
        value: '{"decision":"deny","reason":"The changed arguments are not JSON."}',
      },
    ]);
  });

  it('is a refusal if nothing runs, or the request is unknown', () => {
    const refusal = [{ type: 'extension_ui_response', id: 'g', cancelled: true }];
    expect(run([gate({ type: 'call', callId: 'c', name: 'bash', input: {} })]).sent).toEqual(refusal);
    expect(run([frame('agent_start'), gate({ type: 'other' })]).sent).toEqual(refusal);
    expect(run([frame('agent_start'), gate({})]).sent).toEqual(refusal);
  });
});
