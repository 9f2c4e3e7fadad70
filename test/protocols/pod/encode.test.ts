import { describe, expect, it } from 'vitest';
import type { PodEvent } from '../../../src/pod/index.ts';
import { encodeBatch } from '../../../src/protocols/pod/broadcast.ts';
import { ProjectionState } from '../../../src/protocols/pod/encode/projection-state.ts';
import { EventBatch } from '../../../src/pod/index.ts';

/** The lines of both kinds of clients for a sequence of events: `event` and the compared data. */
function encode(facts: readonly object[]): {
  readonly plain: readonly unknown[];
  readonly extended: readonly unknown[];
} {
  const projection = new ProjectionState({
    podId: 'pod',
    seq: 0,
    state: 'running',
    name: 'hello-pod',
    turn: 0,
  });
  const events = facts.map((fact, at) => ({ seq: at + 1, ...fact }) as PodEvent);
  const encoded = encodeBatch(new EventBatch(events), projection);
  const lines = (kind: 'plain' | 'extended') =>
    encoded.lines(kind, 0).events.map(({ event, data }) => [event, data]);
  return { plain: lines('plain'), extended: lines('extended') };
}

const CALL = { type: 'tool-call', callId: 'c1', name: 'ls', arguments: '{}' };
const ANSWERED = [
  { type: 'turn-start', turn: 4 },
  { type: 'llm-end', turn: 4, outcome: 'completed', items: [CALL] },
];
const TOTALS = {
  turns: 1,
  toolCalls: 0,
  inputTokens: 1,
  outputTokens: 1,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
};
const ended = (outcome: object) => ({ type: 'run-end', runId: 'r', outcome, totals: TOTALS });
const result = (callId: string) => ({
  type: 'tool-result',
  callId,
  content: [{ type: 'text', text: 'done' }],
  isError: false,
});
const named = (lines: readonly unknown[], event: string) =>
  lines.filter((line) => Array.isArray(line) && line[0] === event);

describe('the end of a turn', () => {
  it.each([
    [{ status: 'paused', callIds: ['c1'] }, 'paused', 'paused'],
    [{ status: 'cancelled' }, 'finished', 'cancelled'],
    // The process ended while an approval was pending.
    [{ status: 'interrupted' }, 'paused', 'paused'],
  ])('is delayed until its calls are decided: %j', (outcome, plain, extended) => {
    expect(named(encode(ANSWERED).extended, 'turn_end')).toEqual([]);
    const lines = encode([...ANSWERED, ended(outcome)]);
    expect(named(lines.plain, 'turn_end')).toEqual([['turn_end', { turn: 4, result: plain }]]);
    expect(named(lines.extended, 'turn_end')).toEqual([['turn_end', { turn: 4, result: extended }]]);
  });

  it.each([
    ['completed', 'finished', 'finished'],
    ['cancelled', 'finished', 'cancelled'],
    ['failed', 'finished', 'failed'],
  ])('is not delayed without calls: %s', (outcome, plain, extended) => {
    const lines = encode([
      { type: 'turn-start', turn: 1 },
      { type: 'llm-end', turn: 1, outcome, items: [] },
    ]);
    expect(lines.plain).toEqual([
      ['turn_start', { turn: 1 }],
      ['turn_end', { turn: 1, result: plain }],
    ]);
    expect(lines.extended).toEqual([
      ['turn_start', { turn: 1 }],
      ['turn_end', { turn: 1, result: extended }],
    ]);
  });

  it('is sent once, before the results of its calls', () => {
    const { plain } = encode([
      ...ANSWERED,
      { type: 'tool-start', call: { callId: 'c1', name: 'ls', arguments: '{}', title: 'ls' } },
      {
        type: 'tool-end',
        callId: 'c1',
        name: 'ls',
        status: 'done',
        output: { summary: '', ...result('c1') },
      },
      { type: 'turn-end', turn: 4, results: [result('c1')] },
      ended({ status: 'finished' }),
    ]);
    expect(plain).toEqual([
      ['turn_start', { turn: 4 }],
      ['turn_end', { turn: 4, result: 'finished' }],
      ['tool_result', { id: 'c1', output: 'done', is_error: false }],
    ]);
  });

  it('is also sent if the process ended during the turn, as are the ends of its blocks', () => {
    const lines = encode([
      { type: 'turn-start', turn: 2 },
      { type: 'block-start', index: 0, blockType: 'text' },
      { type: 'block-delta', index: 0, delta: { type: 'text', text: 'half a' } },
      { type: 'recovered', lost: { from: 4, to: 9 } },
      ended({ status: 'interrupted' }),
    ]);
    expect(lines.plain.slice(2)).toEqual([
      ['turn_end', { turn: 2, result: 'finished' }],
      ['error', { code: 'internal', message: expect.stringContaining('the process ended') as string }],
    ]);
    expect(
      lines.extended.slice(2).map((line) => (Array.isArray(line) ? line.slice(0, 2) : line)),
    ).toMatchObject([
      ['recovered', { lost: { from: 4, to: 9 } }],
      ['block_aborted', { type: 'text' }],
      ['turn_end', { turn: 2, result: 'interrupted' }],
      ['run_end', { result: 'interrupted' }],
    ]);
  });
});

describe('the encoding of an answer', () => {
  it('keeps interleaved calls apart, with their text as the model wrote it', () => {
    const { plain } = encode([
      { type: 'turn-start', turn: 1 },
      { type: 'block-start', index: 0, blockType: 'tool-use', id: 'a', name: 'x' },
      { type: 'block-start', index: 1, blockType: 'tool-use', id: 'b', name: 'y' },
      { type: 'block-delta', index: 1, delta: { type: 'input-json', json: '{"n": 1' } },
      { type: 'block-delta', index: 0, delta: { type: 'input-json', json: 'not json' } },
      { type: 'block-delta', index: 1, delta: { type: 'input-json', json: '}' } },
      { type: 'block-start', index: 2, blockType: 'tool-use', id: 'c', name: 'z' },
      { type: 'block-stop', index: 1, blockType: 'tool-use', id: 'b', name: 'y' },
      { type: 'block-stop', index: 0, blockType: 'tool-use', id: 'a', name: 'x' },
      { type: 'block-stop', index: 2, blockType: 'tool-use', id: 'c', name: 'z' },
    ]);
    expect(named(plain, 'tool_call_done')).toEqual([
      ['tool_call_done', { id: 'b', name: 'y', arguments: '{"n": 1}' }],
      ['tool_call_done', { id: 'a', name: 'x', arguments: 'not json' }],
      ['tool_call_done', { id: 'c', name: 'z', arguments: '{}' }],
    ]);
  });

  it('omits actions of the provider itself', () => {
    const { extended } = encode([
      { type: 'block-start', index: 0, blockType: 'opaque', name: 'web_search' },
      { type: 'block-stop', index: 0, blockType: 'opaque', name: 'web_search' },
      { type: 'block-start', index: 1, blockType: 'tool-result', toolUseId: 'a' },
      { type: 'block-delta', index: 1, delta: { type: 'text', text: 'not the model' } },
      { type: 'block-stop', index: 1, blockType: 'tool-result', toolUseId: 'a' },
      { type: 'block-abort', index: 1, blockType: 'tool-result', reason: 'x' },
    ]);
    expect(extended).toEqual([]);
  });

  it('omits usage values that the provider did not report', () => {
    expect(encode([{ type: 'usage', outputTokens: 7, cacheReadInputTokens: 3 }])).toEqual({
      plain: [['usage', { output_tokens: 7 }]],
      extended: [['usage', { output_tokens: 7, cache_read_input_tokens: 3 }]],
    });
  });

  it('has one error for a failed run, and none for an attempt that is retried', () => {
    const failure = { kind: 'overloaded', message: 'too many' };
    const lines = encode([
      { type: 'turn-start', turn: 1 },
      { type: 'error', ...failure },
      { type: 'retry-start', attempt: 1, maxAttempts: 3, delayMs: 5, continuation: false, failure },
      { type: 'error', ...failure },
      { type: 'llm-end', turn: 1, outcome: 'failed', items: [] },
      ended({ status: 'failed', failure }),
    ]);
    const error = ['error', { code: 'provider_error', message: 'too many' }];
    expect(named(lines.plain, 'error')).toEqual([error]);
    expect(named(lines.extended, 'error')).toEqual([error]);
    expect(named(lines.extended, 'retry')).toEqual([
      ['retry', { attempt: 1, max_attempts: 3, delay_ms: 5, continuation: false, message: 'too many' }],
    ]);
  });

  it('reports the limit that ended a run', () => {
    const lines = encode([
      ended({ status: 'limited', limit: 'max-turns', message: 'as many turns as allowed' }),
    ]);
    expect(lines.plain).toEqual([['error', { code: 'internal', message: 'as many turns as allowed' }]]);
    expect(lines.extended).toMatchObject([
      ['run_end', { result: 'limited', message: 'as many turns as allowed' }],
    ]);
  });
});
