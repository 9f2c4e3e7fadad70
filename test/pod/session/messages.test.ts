import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Item, textContent, PROVIDER_APIS } from '../../../src/llm/index.ts';
import {
  type AgentMessage,
  answerMessage,
  fileStopReason,
  inputMessage,
  itemsOf,
  resultMessage,
  spentOn,
} from '../../../src/pod/session/index.ts';
import { ANSWER, anyItem, messageItem, spaced, messagesOf } from './samples.ts';

/** As after the file was written and read. */
function reread(message: AgentMessage): AgentMessage {
  return JSON.parse(JSON.stringify(message)) as AgentMessage;
}

describe('items converted to messages', () => {
  it('round-trip exactly, for any item and provider', () => {
    const stopReason = fc.constantFrom('stop', 'length', 'toolUse', 'error', 'aborted');
    fc.assert(
      fc.property(
        fc.array(anyItem, { maxLength: 8 }),
        fc.constantFrom(...PROVIDER_APIS),
        stopReason,
        (...given) => {
          const [items, wire, stopReason] = given;
          const messages = messagesOf(items, { ...ANSWER, wire, stopReason });
          expect(messages.map(reread).flatMap(itemsOf)).toEqual(JSON.parse(JSON.stringify(items)));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('need only the standard fields in the usual case', () => {
    const items: Item[] = [
      { type: 'reasoning', text: 'hm', seal: { wire: 'anthropic', data: { signature: 'c2ln' } } },
      { type: 'reasoning', text: '', seal: { wire: 'anthropic', data: { redacted: 'ZGFyaw==' } } },
      messageItem('assistant', 'I look.'),
      { type: 'tool-call', callId: 'call_1', name: 'read', arguments: '{"path":"a"}' },
    ];
    const usage = {
      inputTokens: 100,
      outputTokens: 20,
      totalTokens: 120,
      cacheReadInputTokens: 60,
      cacheCreationInputTokens: 10,
    };
    expect(answerMessage(items, { ...ANSWER, usage, stopReason: 'toolUse' })).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', thinkingSignature: 'c2ln' },
        { type: 'redactedThinking', data: 'ZGFyaw==' },
        { type: 'text', text: 'I look.' },
        { type: 'toolCall', id: 'call_1', name: 'read', arguments: { path: 'a' } },
      ],
      api: 'anthropic-messages',
      provider: 'anthropic',
      model: 'claude-test',
      usage: {
        input: 30,
        output: 20,
        cacheRead: 60,
        cacheWrite: 10,
        totalTokens: 120,
        cost: { input: 0.1, output: 0.2, cacheRead: 0.03, cacheWrite: 0.04, total: 0.37 },
      },
      stopReason: 'toolUse',
      timestamp: ANSWER.timestamp,
    });
    expect(inputMessage({ type: 'message', role: 'user', content: [] }, 1)).toEqual({
      role: 'user',
      content: [],
      timestamp: 1,
    });
    expect(
      resultMessage({ type: 'tool-result', callId: 'call_1', content: [], isError: true }, 'read', 1),
    ).toEqual({
      role: 'toolResult',
      toolCallId: 'call_1',
      toolName: 'read',
      content: [],
      isError: true,
      timestamp: 1,
    });
  });

  it('do not store arguments twice that differ only in spacing', () => {
    const text = spaced({ path: 'a', content: 'long'.repeat(100), list: [1, { x: null }] });
    const call: Item = { type: 'tool-call', callId: 'c', name: 'write', arguments: text };
    const message = reread(answerMessage([call], ANSWER));
    expect(itemsOf(message)).toEqual([call]);
    expect(JSON.stringify(message).split('longlong')).toHaveLength(51);
    expect(message.polypod).toMatchObject({ items: [{ take: 1, spaced: true }] });
  });

  it('accept arguments that are nested too deep for the stack', () => {
    const text = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const call: Item = { type: 'tool-call', callId: 'c', name: 'write', arguments: text };
    expect(itemsOf(reread(answerMessage([call], ANSWER)))).toEqual([call]);
  });

  it('join adjacent items of the model into one answer, and name the tool of a result', () => {
    const call: Item = { type: 'tool-call', callId: 'c', name: 'bash', arguments: '{}' };
    const result: Item = { type: 'tool-result', callId: 'c', content: [], isError: false };
    const messages = messagesOf(
      [messageItem('user', 'a'), messageItem('assistant', 'b'), call, result],
      ANSWER,
    );
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'toolResult']);
    expect(messages[2]).toMatchObject({ toolName: 'bash' });
  });
});

describe('messages of pi and xcsh', () => {
  const answer = (api: string, ...content: object[]) =>
    itemsOf({ role: 'assistant', content, api, stopReason: 'stop' });
  const thought = (thinkingSignature: string) => ({ type: 'thinking', thinking: 'hm', thinkingSignature });
  const call = (id: string, more: object = {}) => ({
    type: 'toolCall',
    id,
    name: 'read',
    arguments: { path: 'a' },
    ...more,
  });
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'xyz' };

  it.each([
    ['anthropic-messages', thought('sig'), { wire: 'anthropic', data: { signature: 'sig' } }],
    ['google-generative-ai', thought('c2ln'), { wire: 'gemini', data: { signature: 'c2ln' } }],
    ['openai-completions', thought('reasoning'), { wire: 'openai-chat', data: { field: 'reasoning' } }],
    [
      'openai-responses',
      thought(JSON.stringify(reasoning)),
      { wire: 'openai-responses', data: { id: 'rs_1', summary: [], encrypted_content: 'xyz' } },
    ],
    ['openai-responses', thought('no json'), undefined],
    ['anthropic-messages', thought(''), undefined],
    ['somebody-elses', thought('sig'), undefined],
    [
      'openai-responses',
      { type: 'text', text: 'x', textSignature: '{"v":1,"id":"msg_1","phase":"commentary"}' },
      { wire: 'openai-responses', data: { phase: 'commentary' } },
    ],
    ['openai-responses', { type: 'text', text: 'x', textSignature: 'msg_1' }, undefined],
    [
      'google-generative-ai',
      { type: 'text', text: 'x', textSignature: 'c2ln' },
      { wire: 'gemini', data: { signature: 'c2ln' } },
    ],
    [
      'google-vertex',
      call('c', { thoughtSignature: 'c2ln' }),
      { wire: 'gemini', data: { signature: 'c2ln' } },
    ],
    ['google-vertex', call('c'), { wire: 'gemini', data: {} }],
    [
      'anthropic-messages',
      { type: 'thinking', thinking: '[Reasoning redacted]', thinkingSignature: 'dark', redacted: true },
      { wire: 'anthropic', data: { redacted: 'dark' } },
    ],
    [
      'anthropic-messages',
      { type: 'redactedThinking', data: 'dark' },
      { wire: 'anthropic', data: { redacted: 'dark' } },
    ],
    ['bedrock-converse-stream', thought('sig'), { wire: 'bedrock', data: { signature: 'sig' } }],
    [
      'bedrock-converse-stream',
      { type: 'redactedThinking', data: 'dark' },
      { wire: 'bedrock', data: { redacted: 'dark' } },
    ],
  ])('%s %j is sealed with %j', (api, block, seal) => {
    const [item] = answer(api, block);
    expect(item && 'seal' in item ? item.seal : undefined).toEqual(seal);
  });

  it('pair calls and results by the first part of a joined id', () => {
    expect(answer('openai-responses', call('call_1|fc_1'))).toMatchObject([{ callId: 'call_1' }]);
    expect(itemsOf({ role: 'toolResult', toolCallId: 'call_1|fc_1', content: [] })).toMatchObject([
      { callId: 'call_1' },
    ]);
  });

  const user = (text: string) => [messageItem('user', text)];
  it.each<[string, AgentMessage, readonly Item[]]>([
    ['plain text', { role: 'user', content: 'hi' }, user('hi')],
    ['developer', { role: 'developer', content: 'be brief' }, [messageItem('system', 'be brief')]],
    [
      'a command',
      { role: 'bashExecution', command: 'ls', output: 'a', exitCode: 0 },
      user('Ran `ls`\n```\na\n```'),
    ],
    [
      'a failed command',
      { role: 'bashExecution', command: 'x', output: '', exitCode: 127 },
      user('Ran `x`\n(no output)\n\nCommand exited with code 127'),
    ],
    [
      'a cancelled command',
      { role: 'bashExecution', command: 'x', output: 'y', cancelled: true },
      user('Ran `x`\n```\ny\n```\n\n(command cancelled)'),
    ],
    ['a command kept to themselves', { role: 'bashExecution', command: 'x', excludeFromContext: true }, []],
    ['custom', { role: 'custom', customType: 'x', content: 'note' }, user('note')],
    ['version 2 custom', { role: 'hookMessage', content: 'note' }, user('note')],
    [
      'a file',
      { role: 'fileMention', files: [{ path: 'a.ts', content: 'x' }] },
      user('<file path="a.ts">\nx\n</file>'),
    ],
    ['a role that nobody knows', { role: 'tomorrow', content: 'x' }, []],
    [
      'a broken answer',
      { role: 'assistant', stopReason: 'error', content: [{ type: 'text', text: 'x' }] },
      [],
    ],
    [
      'a stopped answer',
      {
        role: 'assistant',
        stopReason: 'aborted',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'x' },
          { type: 'toolCall', id: 'a', name: 'bash', arguments: {} },
        ],
      },
      [{ type: 'message', role: 'assistant', content: textContent('x'), interrupted: true }],
    ],
    [
      'an answer that was stopped before its first word',
      { role: 'assistant', stopReason: 'aborted', content: [] },
      [{ type: 'message', role: 'assistant', content: [], interrupted: true }],
    ],
    ['nonsense', { role: 'assistant', content: 'x', api: 7 }, []],
    [
      'an image beside the file',
      { role: 'user', content: [{ type: 'image', data: 'blob:sha256:00', mimeType: 'image/png' }] },
      user('[image kept outside of this session file]'),
    ],
    [
      'notes of ours that do not fit any more',
      { role: 'assistant', content: [], polypod: { items: [1, { take: 5 }] } },
      [],
    ],
  ])('%s', (_, message, items) => {
    expect(itemsOf(message)).toEqual(items);
  });
});

describe('usage', () => {
  it('round-trips, including unknown values', () => {
    const count = fc.option(fc.nat(), { nil: undefined });
    const usage = fc.record({
      inputTokens: count,
      outputTokens: count,
      totalTokens: count,
      cacheReadInputTokens: count,
      cacheCreationInputTokens: count,
      reasoningTokens: count,
    });
    const cost = fc.record({
      input: fc.nat(),
      output: fc.nat(),
      cacheRead: fc.nat(),
      cacheWrite: fc.nat(),
      total: fc.nat(),
    });
    const spent = fc.record({
      usage: fc.option(usage, { nil: undefined }),
      cost: fc.option(cost, { nil: undefined }),
    });
    fc.assert(
      fc.property(spent, (given) => {
        const { usage: _usage, cost: _cost, ...answer } = ANSWER;
        const known = JSON.parse(JSON.stringify(given)) as object;
        expect(spentOn(reread(answerMessage([], { ...answer, ...known })))).toEqual(known);
      }),
    );
  });

  it('of other programs is converted to our counting', () => {
    const usage = { input: 5, output: 7, cacheRead: 3, cacheWrite: 2, totalTokens: 17, cost: { total: 0.5 } };
    expect(spentOn({ role: 'assistant', usage })).toEqual({
      usage: {
        inputTokens: 10,
        outputTokens: 7,
        totalTokens: 17,
        cacheReadInputTokens: 3,
        cacheCreationInputTokens: 2,
      },
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 },
    });
  });
});

describe('the end of an answer', () => {
  const call: Item = { type: 'tool-call', callId: 'c', name: 'x', arguments: '{}' };
  it.each([
    ['completed', 'end-turn', [], 'stop'],
    ['completed', 'max-tokens', [], 'length'],
    ['completed', 'tool-use', [call], 'toolUse'],
    ['cancelled', undefined, [], 'aborted'],
    ['failed', undefined, [], 'error'],
    // Other programs would omit it and send its results alone.
    ['cancelled', undefined, [call], 'toolUse'],
  ] as const)('%s, %s, %j: %s', (outcome, reason, items, word) => {
    expect(fileStopReason(outcome, reason, items)).toBe(word);
  });
});
