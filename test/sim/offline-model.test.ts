import { describe, expect, test } from 'vitest';
import { objectOf } from '../../src/base/index.ts';
import {
  offlineModel,
  type Sim,
  type SimMessage,
  type SimRequest,
  WIRES,
  type WireName,
} from '../../src/sim/index.ts';
import { simStarter } from './sims.ts';
import { type Call, TALK, type Tool } from './talk.ts';

const start = simStarter();
const LS: Tool = { name: 'ls', argument: 'path' };
const READ: Tool = { name: 'read', argument: 'file_path' };
const README = '# Octopus\n\n![badge](x)\n\nOctopus is a *small* thing. It has eight arms.\n';

/** Runs the tools that the model calls until it only talks; hands out its calls and its last words. */
async function converse(sim: Sim, wire: WireName, prompt: string, results: Readonly<Record<string, string>>) {
  const talk = TALK[wire];
  const tools = [LS, READ];
  const calls: Call[] = [];
  let said = talk.user(prompt);
  for (;;) {
    const response = await fetch(`${sim.url}${talk.path}`, {
      method: 'POST',
      body: JSON.stringify(talk.body(said, tools)),
    });
    const answer = objectOf(await response.json());
    const called = talk.calls(answer);
    if (called.length === 0) return { calls, text: talk.text(answer), turns: calls.length + 1 };
    calls.push(...called);
    said = [...said, ...talk.echo(answer)];
    for (const call of called) {
      const result = results[call.name];
      said = [...said, ...talk.result(call, result ?? 'Error: it broke', result === undefined)];
    }
  }
}

describe.each(WIRES)('the offline model on the %s wire', (wire) => {
  test('lists the files, reads the README and answers from it', async () => {
    const sim = await start();
    const { calls, text, turns } = await converse(sim, wire, 'What is this?', {
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

  test('tries the README even if listing fails, and says what did not work', async () => {
    const sim = await start();
    const { calls, text } = await converse(sim, wire, 'What is this?', {});
    expect(calls.map((call) => call.name)).toEqual(['ls', 'read']);
    expect(text).toContain('Listing the files did not work: Error: it broke');
    expect(text).toContain('Reading README.md did not work: Error: it broke');
  });

  test('says so when there is no README', async () => {
    const sim = await start();
    const { calls, text } = await converse(sim, wire, 'What is this?', { ls: 'a.txt\n', read: README });
    expect(calls.map((call) => call.name)).toEqual(['ls']);
    expect(text).toContain('1 entry');
    expect(text).toContain('There is no README');
  });
});

function request(fields: Partial<SimRequest>): SimRequest {
  return {
    wire: 'anthropic',
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

function textOf(fields: Partial<SimRequest>): string {
  return offlineModel(request(fields))
    .parts.map((part) => ('text' in part ? part.text : ''))
    .join('');
}

describe('the offline model', () => {
  test('without tools repeats the question and says how to get a real model', () => {
    expect(textOf({ messages: [user('Why is the sky blue? [[sim delay=1]]')] })).toBe(
      [
        'I am a simulated model: a script that comes with Polypod, without any intelligence.',
        'You asked: Why is the sky blue?',
        'For a real model, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run Ollama on this machine.',
      ].join('\n\n'),
    );
  });

  test('thinks before it calls', () => {
    const tools = [{ name: 'ls', parameters: {} }];
    expect(offlineModel(request({ messages: [user('Hi')], tools })).parts).toEqual([
      { thinking: 'I will look around first: list the files, then read the README if there is one.' },
      { toolCall: { name: 'ls', arguments: { path: '.' } } },
    ]);
  });

  test('ignores tools that it has no use for', () => {
    const tools = [{ name: 'bash', parameters: {} }];
    expect(textOf({ messages: [user('Hi')], tools })).toContain('You asked: Hi');
  });

  test('answers a second question from what it has read already', () => {
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
    const text = textOf({ messages, tools });
    expect(text).toContain('You asked: Second?');
    expect(text).toContain('1 entry');
    expect(text).toContain('titled "Octopus"');
  });

  test('takes a call that nobody answered as failed, and goes on', () => {
    const tools = [{ name: 'ls', parameters: {} }];
    const calls = [{ id: '1', name: 'ls', arguments: {} }];
    const messages: SimMessage[] = [
      user('First?'),
      { role: 'assistant', text: '', toolCalls: calls, toolResults: [] },
      user('Second?'),
    ];
    expect(textOf({ messages, tools })).toContain('Listing the files did not work: no result came back');
  });

  test('shortens what it quotes between characters, not inside one', () => {
    const text = textOf({ messages: [user('👩‍👩‍👧'.repeat(100))] });
    expect(text).toContain('👩‍👩‍👧…');
    expect(text).not.toMatch(/‍…/);
  });
});
