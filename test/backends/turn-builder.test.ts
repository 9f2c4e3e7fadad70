import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TurnBuilder } from '../../src/backends/turn-builder.ts';
import type { AgentCall } from '../../src/backends/index.ts';
import { textOutput } from '../../src/tools/index.ts';
import { Conversation, NO_TOTALS, type RunEvent } from '../../src/worker/index.ts';

type Taken = Parameters<TurnBuilder['take']>[0];

function builder(hasTotalCost = false) {
  const conversation = new Conversation([], NO_TOTALS);
  return { conversation, builder: new TurnBuilder({ conversation, hasTotalCost }) };
}

function call(callId: string, name = 'Bash'): AgentCall {
  return {
    callId,
    name,
    arguments: '{"command":"ls"}',
    title: 'ls',
    access: [{ type: 'foreign', readOnly: false }],
  };
}

function ended(callId: string): Taken {
  return { type: 'call-end', callId, status: 'done', output: textOutput('ok', `result of ${callId}`) };
}

/** The events in short: `turn-start 1`, `delta Hello`, `tool-end a done`. */
function shown(events: readonly RunEvent[]): readonly string[] {
  return events.map((event) => {
    switch (event.type) {
      case 'turn-start':
        return `turn-start ${event.turn}`;
      case 'block-start':
      case 'block-stop':
      case 'block-abort':
        return `${event.type} ${event.index} ${event.blockType}`;
      case 'block-delta':
        return `delta ${event.delta.type === 'input-json' ? event.delta.json : event.delta.text}`;
      case 'status':
        return `status ${event.status}`;
      case 'llm-end':
        return `llm-end ${event.outcome} ${event.items.map(({ type }) => type).join(' ')}`.trim();
      case 'tool-start':
        return `tool-start ${event.call.callId}`;
      case 'tool-update':
        return `tool-update ${event.callId} ${event.text}`;
      case 'tool-end':
        return `tool-end ${event.callId} ${event.status}`;
      case 'turn-end':
        return `turn-end ${event.turn} ${event.results.length}`;
      case 'input':
        return `input ${event.origin}`;
      default:
        return event.type;
    }
  });
}

function run(events: readonly Taken[], made = builder()): readonly string[] {
  return shown(events.flatMap((event) => made.builder.take(event)));
}

describe('the events of an agent', () => {
  test('with only text are one turn', () => {
    expect(
      run([
        { type: 'thinking', text: 'Hm' },
        { type: 'text', text: 'Hel' },
        { type: 'text', text: 'lo' },
        { type: 'turn-end', outcome: { status: 'finished' } },
      ]),
    ).toEqual([
      'turn-start 1',
      'status started',
      'block-start 0 thinking',
      'delta Hm',
      'block-stop 0 thinking',
      'block-start 1 text',
      'delta Hel',
      'delta lo',
      'block-stop 1 text',
      'status completed',
      'llm-end completed reasoning message',
      'turn-end 1 0',
    ]);
  });

  test('with parallel calls have their results in call order, and the turn ends with the last', () => {
    const made = builder();
    expect(
      run(
        [
          { type: 'call', call: call('a') },
          { type: 'call', call: call('b') },
          { type: 'answer-end' },
          { type: 'call-start', callId: 'a' },
          { type: 'call-start', callId: 'b' },
          { type: 'call-update', callId: 'b', text: 'half' },
          ended('b'),
          ended('a'),
        ],
        made,
      ).slice(-8),
    ).toEqual([
      'status completed',
      'llm-end completed tool-call tool-call',
      'tool-start a',
      'tool-start b',
      'tool-update b half',
      'tool-end b done',
      'tool-end a done',
      'turn-end 1 2',
    ]);
    expect(made.conversation.items.map((item) => ('callId' in item ? item.callId : item.type))).toEqual([
      'a',
      'b',
      'a',
      'b',
    ]);
  });

  test('that belong to a later turn wait until the calls of this one have ended', () => {
    expect(
      run([
        { type: 'call', call: call('a') },
        { type: 'call-start', callId: 'a' },
        { type: 'text', text: 'Meanwhile' },
        { type: 'call', call: call('b') },
        { type: 'call-start', callId: 'b' },
        ended('b'),
        ended('a'),
      ]).slice(6),
    ).toEqual([
      'llm-end completed tool-call',
      'tool-start a',
      'tool-end a done',
      'turn-end 1 1',
      'turn-start 2',
      'status started',
      'block-start 0 text',
      'delta Meanwhile',
      'block-stop 0 text',
      'block-start 1 tool-use',
      'delta {"command":"ls"}',
      'block-stop 1 tool-use',
      'status completed',
      'llm-end completed message tool-call',
      'tool-start b',
      'tool-end b done',
      'turn-end 2 1',
    ]);
  });

  test('after a cancellation keep the text and give open calls a result', () => {
    const cut = builder();
    run([{ type: 'text', text: 'Half an ans' }], cut);
    expect(shown(cut.builder.finish({ status: 'cancelled' }))).toEqual([
      'block-abort 0 text',
      'status cancelled',
      'llm-end cancelled message',
      'turn-end 1 0',
    ]);
    expect(cut.conversation.items).toMatchObject([{ role: 'assistant', interrupted: true }]);
    const calling = builder();
    run(
      [
        { type: 'call', call: call('a') },
        { type: 'call-start', callId: 'a' },
      ],
      calling,
    );
    expect(shown(calling.builder.finish({ status: 'cancelled' }))).toEqual([
      'tool-end a interrupted',
      'turn-end 1 1',
    ]);
  });

  test('with a failure report it, also before the first text', () => {
    const failure = { kind: 'auth', message: 'Not logged in' } as const;
    expect(run([{ type: 'turn-end', outcome: { status: 'failed', failure } }])).toEqual([
      'turn-start 1',
      'status started',
      'error',
      'status failed',
      'llm-end failed',
      'turn-end 1 0',
    ]);
  });

  test('with a sum of costs add up to that sum', () => {
    const made = builder(true);
    run(
      [
        { type: 'text', text: 'One' },
        { type: 'usage', usage: { inputTokens: 10, outputTokens: 2 } },
        { type: 'answer-end' },
        { type: 'total-cost', usd: 0.5 },
        { type: 'text', text: 'Two' },
        { type: 'usage', usage: { inputTokens: 20, outputTokens: 3 } },
        { type: 'answer-end' },
        { type: 'total-cost', usd: 0.75 },
        { type: 'total-cost', usd: 0.75 },
      ],
      made,
    );
    expect(made.conversation.totals).toMatchObject({
      turns: 2,
      inputTokens: 30,
      outputTokens: 5,
      cost: 0.75,
    });
  });

  test('a message of the user becomes part of the conversation after the running calls', () => {
    expect(
      run([
        { type: 'call', call: call('a') },
        { type: 'call-start', callId: 'a' },
        { type: 'sent-message', content: [{ type: 'text', text: 'stop that' }] },
        ended('a'),
        { type: 'text', text: 'Yes' },
      ]).slice(8, 12),
    ).toEqual(['tool-end a done', 'turn-end 1 1', 'input steer', 'turn-start 2']);
  });

  test('a denied call is not run, and the agent’s own report of it is ignored', () => {
    const made = builder();
    run([{ type: 'call', call: call('a') }, { type: 'answer-end' }], made);
    expect(shown(made.builder.denyCall('a', 'Ada denied this call.'))).toEqual([
      'tool-start a',
      'tool-end a denied',
      'turn-end 1 1',
    ]);
    expect(run([ended('a')], made)).toEqual([]);
  });
});

const id = fc.constantFrom('a', 'b', 'c', 'd');
const event: fc.Arbitrary<Taken> = fc.oneof(
  fc.record({
    type: fc.constantFrom('text' as const, 'thinking' as const),
    text: fc.string({ minLength: 1, maxLength: 3 }),
  }),
  fc.constant({ type: 'answer-end' } as const),
  id.map((callId) => ({ type: 'call', call: call(callId) }) as const),
  id.map((callId) => ({ type: 'call-start', callId }) as const),
  id.map((callId) => ({ type: 'call-update', callId, text: 'x' }) as const),
  id.map(ended),
  fc.constant({ type: 'usage', usage: { inputTokens: 1 } } as const),
  fc.constant({ type: 'compacted', summary: 'short' } as const),
  fc.constant({ type: 'sent-message', content: [{ type: 'text', text: 'more' }] } as const),
);

test('any order of an agent’s events makes balanced turns, and loses no text and no message', () => {
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 40 }),
      fc.constantFrom('finished', 'cancelled'),
      (events, status) => {
        const made = builder();
        const out = [
          ...events.flatMap((taken) => made.builder.take(taken)),
          ...made.builder.finish({ status }),
        ];
        const problems = imbalances(out);
        expect(problems).toEqual([]);
        const texts = events.map((taken) => ('text' in taken && !('callId' in taken) ? taken.text : ''));
        const deltas = out.map((each) =>
          each.type === 'block-delta' && each.delta.type !== 'input-json' ? each.delta.text : '',
        );
        expect(deltas.join('')).toBe(texts.join(''));
        const inputs = events.filter(({ type }) => type === 'sent-message').length;
        expect(out.filter(({ type }) => type === 'input')).toHaveLength(inputs);
      },
    ),
    { numRuns: 500 },
  );
});

/** What is wrong with the order of the events of a run. */
function imbalances(events: readonly RunEvent[]): readonly string[] {
  const problems: string[] = [];
  let turn: 'none' | 'answer' | 'calls' = 'none';
  const blocks = new Set<number>();
  const calls = new Set<string>();
  for (const each of events) {
    const wrong = (text: string): number => problems.push(`${each.type}: ${text}`);
    switch (each.type) {
      case 'turn-start':
        if (turn !== 'none') wrong(`in ${turn}`);
        turn = 'answer';
        break;
      case 'block-start':
        if (turn !== 'answer' || blocks.has(each.index)) wrong(`in ${turn}`);
        blocks.add(each.index);
        break;
      case 'block-delta':
        if (!blocks.has(each.index)) wrong('without a block');
        break;
      case 'block-stop':
      case 'block-abort':
        if (!blocks.delete(each.index)) wrong('without a block');
        break;
      case 'llm-end':
        if (turn !== 'answer' || blocks.size > 0) wrong(`in ${turn} with ${blocks.size} blocks`);
        turn = 'calls';
        for (const item of each.items) if (item.type === 'tool-call') calls.add(item.callId);
        break;
      case 'tool-start':
        if (turn !== 'calls' || !calls.has(each.call.callId)) wrong(`in ${turn}`);
        break;
      case 'tool-end':
        if (turn !== 'calls' || !calls.delete(each.callId)) wrong(`in ${turn}`);
        break;
      case 'turn-end':
        if (turn !== 'calls' || calls.size > 0) wrong(`in ${turn} with ${calls.size} calls`);
        turn = 'none';
        break;
      case 'input':
        if (turn !== 'none') wrong(`in ${turn}`);
        break;
      default:
    }
  }
  if (turn !== 'none') problems.push(`ends in ${turn}`);
  return problems;
}
