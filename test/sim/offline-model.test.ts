import { describe, expect, test } from 'vitest';
import { objectOf } from '../../src/base/index.ts';
import {
  offlineModel,
  type Sim,
  type SimMessage,
  type SimRequest,
  PROVIDER_APIS,
  type ProviderApiName,
} from '../../src/sim/index.ts';
import { simStarter } from './sims.ts';
import { type Call, CONVERSATIONS, type Tool } from './api-conversations.ts';

const start = simStarter();
const LS: Tool = { name: 'ls', argument: 'path' };
const READ: Tool = { name: 'read', argument: 'file_path' };
const README = '# Octopus\n\n![badge](x)\n\nOctopus is a *small* thing. It has eight arms.\n';

/** Runs the tools that the model calls until it returns only text; returns its calls and its last text. */
async function converse(
  sim: Sim,
  api: ProviderApiName,
  prompt: string,
  results: Readonly<Record<string, string>>,
) {
  const talk = CONVERSATIONS[api];
  const tools = [LS, READ];
  const calls: Call[] = [];
  let history = talk.user(prompt);
  for (;;) {
    const response = await fetch(`${sim.url}${talk.path}`, {
      method: 'POST',
      body: JSON.stringify(talk.body(history, tools)),
    });
    const answer = objectOf(await response.json());
    const called = talk.calls(answer);
    if (called.length === 0) return { calls, text: talk.text(answer), turns: calls.length + 1 };
    calls.push(...called);
    history = [...history, ...talk.echo(answer)];
    for (const call of called) {
      const result = results[call.name];
      history = [...history, ...talk.result(call, result ?? 'Error: it broke', result === undefined)];
    }
  }
}

describe.each(PROVIDER_APIS)('the offline model with the %s API', (api) => {
  test('lists the files, reads the README and answers from it', async () => {
    const sim = await start();
    const { calls, text, turns } = await converse(sim, api, 'What is this?', {
      ls: 'README.md\nsrc/\ntest/\n',
      read: README,
    });
    expect(turns).toBe(3);
    expect(calls.map((call) => [call.name, call.arguments])).toEqual([
      ['ls', { path: '.' }],
      ['read', { file_path: 'README.md' }],
    ]);
    expect(text).toContain('simulated');
    expect(text).toContain('You asked: What is this?');
    expect(text).toContain('3 entries');
    expect(text).toContain('titled "Octopus". It begins: Octopus is a small thing.');
    expect(text).toContain('ANTHROPIC_API_KEY');
  });

  test('tries the README even if listing fails, and reports what failed', async () => {
    const sim = await start();
    const { calls, text } = await converse(sim, api, 'What is this?', {});
    expect(calls.map((call) => call.name)).toEqual(['ls', 'read']);
    expect(text).toContain('Listing the files did not work: Error: it broke');
    expect(text).toContain('Reading README.md did not work: Error: it broke');
  });

  test('reports that there is no README', async () => {
    const sim = await start();
    const { calls, text } = await converse(sim, api, 'What is this?', { ls: 'a.txt\n', read: README });
    expect(calls.map((call) => call.name)).toEqual(['ls']);
    expect(text).toContain('1 entry');
    expect(text).toContain('There is no README');
  });
});

function request(fields: Partial<SimRequest>): SimRequest {
  return {
    api: 'anthropic',
    model: 'sim',
    stream: true,
    system: '',
    messages: [],
    tools: [],
    body: {},
    ...fields,
  };
}

function user(text: string): SimMessage {
  return { role: 'user', text, toolCalls: [], toolResults: [] };
}

function call(id: string, name: string) {
  return { id, name, arguments: {} };
}

function result(id: string, text: string) {
  return { id, name: '', text, isError: false };
}

function answerText(fields: Partial<SimRequest>): string {
  return offlineModel(request(fields))
    .parts.map((part) => ('text' in part ? part.text : ''))
    .join('');
}

describe('the offline model', () => {
  test('repeats the question and explains how to use a real model if it has no tools', () => {
    expect(answerText({ messages: [user('Why is the sky blue? [[sim delay=1]]')] })).toBe(
      [
        'I am a simulated model: a script that comes with Polypod, without any intelligence.',
        'You asked: Why is the sky blue?',
        'For a real model, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run Ollama on this machine.',
      ].join('\n\n'),
    );
  });

  test('thinks before it calls a tool', () => {
    const tools = [{ name: 'ls', parameters: {} }];
    expect(offlineModel(request({ messages: [user('Hi')], tools })).parts).toEqual([
      { thinking: 'I will look around first: list the files, then read the README if there is one.' },
      { toolCall: { name: 'ls', arguments: { path: '.' } } },
    ]);
  });

  test('ignores unrelated tools', () => {
    const tools = [{ name: 'bash', parameters: {} }];
    expect(answerText({ messages: [user('Hi')], tools })).toContain('You asked: Hi');
  });

  test('answers a second question from what it has already read', () => {
    const tools = ['ls', 'read'].map((name) => ({ name, parameters: {} }));
    const messages: SimMessage[] = [
      user('First?'),
      { role: 'assistant', text: '', toolCalls: [call('1', 'ls'), call('2', 'read')], toolResults: [] },
      {
        role: 'tool',
        text: '',
        toolCalls: [],
        toolResults: [result('2', README), result('1', '["README.md"]')],
      },
      { role: 'assistant', text: 'Octopus.', toolCalls: [], toolResults: [] },
      user('Second?'),
    ];
    const text = answerText({ messages, tools });
    expect(text).toContain('You asked: Second?');
    expect(text).toContain('1 entry');
    expect(text).toContain('titled "Octopus"');
  });

  test('treats a call without a result as failed, and continues', () => {
    const tools = [{ name: 'ls', parameters: {} }];
    const calls = [{ id: '1', name: 'ls', arguments: {} }];
    const messages: SimMessage[] = [
      user('First?'),
      { role: 'assistant', text: '', toolCalls: calls, toolResults: [] },
      user('Second?'),
    ];
    expect(answerText({ messages, tools })).toContain('Listing the files did not work: no result came back');
  });

  test('shortens quotes between characters, not inside one', () => {
    const text = answerText({ messages: [user('👩‍👩‍👧'.repeat(100))] });
    expect(text).toContain('👩‍👩‍👧…');
    expect(text).not.toMatch(/‍…/);
  });
});
