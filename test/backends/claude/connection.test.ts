import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { claude } from '../../../src/backends/claude/index.ts';
import { type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import type { Sim, SimRequest } from '../../../src/sim/index.ts';
import { listProcesses } from './processes.ts';
import { isInstalled, launch, makeDirectories, only, open, simulate, textOf } from './fixture.ts';

const bash = (command: string, more: object = {}) => ({
  toolCall: { name: 'Bash', arguments: { command, ...more } },
});
const results = (request: SimRequest): number =>
  request.messages.flatMap(({ toolResults }) => toolResults).length;
const prompts = (request: SimRequest): string =>
  request.messages.flatMap(({ role, text }) => (role === 'user' ? [text] : [])).join('\n');
const bodies = (sim: Sim): string => JSON.stringify(sim.requests.map(({ body }) => body));
const lastBody = (sim: Sim): JsonObject => objectOf(sim.requests.at(-1)?.body);
const lastModel = (sim: Sim): string => stringOf(lastBody(sim).model);

describe.skipIf(!isInstalled)('Claude Code', () => {
  it('runs an approved call and finishes the turn', async () => {
    const sim = await simulate([
      { parts: [{ thinking: 'Think.' }, { text: 'I create a file.' }, bash('touch made; echo out')] },
      { parts: [{ text: 'Done.' }] },
    ]);
    const { turn, place } = await open(sim);
    const events = await turn('Create a file.');
    expect(existsSync(join(place.cwd, 'made'))).toBe(true);
    const types = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
    expect(types).toEqual([
      'session',
      'thinking',
      'text',
      'usage',
      'context',
      'answer-end',
      'call',
      'permission',
      'call-end',
      'text',
      'usage',
      'context',
      'answer-end',
      'total-cost',
      'turn-end',
    ]);
    expect(textOf(events)).toBe('I create a file.Done.');
    expect(only(events, 'permission')[0]?.request.call).toEqual({
      callId: 'toolu_sim1',
      name: 'Bash',
      arguments: '{"command":"touch made; echo out"}',
      title: 'touch made; echo out',
      tool: 'bash',
      access: [{ type: 'command', command: 'touch made; echo out', cwd: place.cwd }],
    });
    expect(only(events, 'call-end')[0]).toEqual({
      type: 'call-end',
      callId: 'toolu_sim1',
      status: 'done',
      output: {
        summary: 'touch made; echo out: done',
        content: [{ type: 'text', text: 'out' }],
        isError: false,
        details: { exitCode: 0 },
      },
    });
    expect(only(events, 'turn-end')[0]?.outcome).toEqual({ status: 'finished' });
  });

  it('does not run a denied call, and the model receives the reason', async () => {
    const sim = await simulate([{ parts: [bash('touch made')] }, { parts: [{ text: 'I see.' }] }]);
    const { turn, place } = await open(sim, {
      approve: () => ({ decision: 'deny', reason: 'The reason is 4711.' }),
    });
    const events = await turn('Create a file.');
    expect(existsSync(join(place.cwd, 'made'))).toBe(false);
    expect(only(events, 'call-end')[0]?.status).toBe('denied');
    expect(bodies(sim)).toContain('The reason is 4711.');
  });

  it('runs a call with changed arguments', async () => {
    const sim = await simulate((request) =>
      results(request) === 0
        ? {
            parts: [
              { toolCall: { name: 'Write', arguments: { file_path: `${place.cwd}/a`, content: 'a' } } },
            ],
          }
        : { parts: [{ text: 'Done.' }] },
    );
    const place = makeDirectories();
    const { turn } = await open(sim, {
      place,
      approve: ({ call }) => {
        const { path, content } = JSON.parse(call.arguments) as { path: string; content: string };
        return { decision: 'allow', arguments: JSON.stringify({ path: `${path}2`, content: `${content}b` }) };
      },
    });
    await turn('Write.');
    expect(readdirSync(place.cwd)).toEqual(['a2']);
    expect(readFileSync(join(place.cwd, 'a2'), 'utf8')).toBe('ab');
  });

  it('asks for parallel calls after the answer and reports each result', async () => {
    const sim = await simulate((request) =>
      results(request) === 0
        ? {
            parts: [
              { text: 'All.' },
              { toolCall: { name: 'Read', arguments: { file_path: `${place.cwd}/a` } } },
              { toolCall: { name: 'Read', arguments: { file_path: `${place.cwd}/missing` } } },
              bash('echo bad; exit 3'),
              bash('echo last'),
            ],
          }
        : { parts: [{ text: 'Done.' }] },
    );
    const place = makeDirectories();
    writeFileSync(join(place.cwd, 'a'), 'one\ntwo\n');
    const { turn } = await open(sim, { place });
    const events = await turn('Read.');
    const order = events.map(({ type }) => type);
    expect(order.indexOf('permission')).toBeGreaterThan(order.indexOf('answer-end'));
    expect(only(events, 'call').map(({ call }) => call.title)).toEqual([
      'read a',
      'read missing',
      'echo bad; exit 3',
      'echo last',
    ]);
    // Reads run at the same time.
    const ends = only(events, 'call-end').toSorted((a, b) => a.callId.localeCompare(b.callId));
    expect(ends.map(({ status, output }) => [status, output.details])).toEqual([
      ['done', { firstLine: 1, lastLine: 3, lines: 3 }],
      ['failed', undefined],
      ['failed', { exitCode: 3 }],
      ['done', { exitCode: 0 }],
    ]);
  });

  it('reports the diff of a change in the form of our own tools', async () => {
    const sim = await simulate((request) => {
      const file = `${place.cwd}/a.txt`;
      const steps = [
        { name: 'Write', arguments: { file_path: file, content: 'one\ntwo\n' } },
        { name: 'Edit', arguments: { file_path: file, old_string: 'two', new_string: 'three' } },
      ];
      const toolCall = steps[results(request)];
      return { parts: [toolCall === undefined ? { text: 'Done.' } : { toolCall }] };
    });
    const place = makeDirectories();
    const { turn } = await open(sim, { place });
    const events = await turn('Write.');
    expect(only(events, 'call-end').map(({ output }) => [output.summary, output.details])).toEqual([
      [
        'Created a.txt (2 lines)',
        {
          created: true,
          diff: '--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n',
          added: 2,
          removed: 0,
        },
      ],
      [
        'Edited a.txt: +1 -1',
        { diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n', added: 1, removed: 1 },
      ],
    ]);
    const write = only(events, 'permission')[0]?.request.call.access[0];
    expect(write?.type === 'write' && write.after?.(undefined)).toBe('one\ntwo\n');
    const edit = only(events, 'permission')[1]?.request.call.access[1];
    expect(edit?.type === 'write' && edit.after?.('one\ntwo\n')).toBe('one\nthree\n');
  });

  it('cancels in a text', async () => {
    const sim = await simulate([
      { parts: [{ text: 'Words. ' }], pace: { deltas: 100_000, delayMs: 20 } },
      { parts: [{ text: 'Again.' }] },
    ]);
    const { connection, next, turn } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Talk.' }]);
    await next('text');
    connection.cancel();
    expect((await next('turn-end')).outcome).toEqual({ status: 'cancelled' });
    expect(textOf(await turn('Talk again.'))).toBe('Again.');
  });

  it('cancels before the turn has begun', async () => {
    const sim = await simulate(() => ({ parts: [{ text: 'Answer.' }] }));
    const { connection, next, turn } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Talk.' }]);
    connection.cancel();
    expect((await next('turn-end')).outcome).toEqual({ status: 'cancelled' });
    expect(textOf(await turn('Talk again.'))).toBe('Answer.');
  });

  it('cancels in a call, ends its processes, and leaves none after the close', async () => {
    const sim = await simulate([
      { parts: [bash('touch begun; sleep 1000 & setsid sleep 1001; true')] },
      { parts: [{ text: 'Again.' }] },
    ]);
    const { connection, next, place, pid } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Wait.' }]);
    await expect.poll(() => existsSync(join(place.cwd, 'begun'))).toBe(true);
    connection.cancel();
    expect((await next('call-end')).status).toBe('interrupted');
    expect((await next('turn-end')).outcome).toEqual({ status: 'cancelled' });
    expect(pid()).toBeGreaterThan(0);
    await connection.close();
    expect(listProcesses(place.root)).toEqual([]);
  });

  it('withdraws an open permission request when the turn is cancelled', async () => {
    const sim = await simulate([{ parts: [bash('touch made')] }]);
    const { connection, next, place, events } = await open(sim, { approve: () => undefined });
    connection.prompt([{ type: 'text', text: 'Wait.' }]);
    const { request } = await next('permission');
    connection.cancel();
    expect((await next('turn-end')).outcome).toEqual({ status: 'cancelled' });
    expect(only(events, 'permission-withdrawn')).toEqual([
      { type: 'permission-withdrawn', requestId: request.requestId },
    ]);
    connection.answer(request.requestId, { decision: 'allow' });
    await connection.close();
    expect(existsSync(join(place.cwd, 'made'))).toBe(false);
  });

  it('steers in a text: the answer ends and the next one has the message', async () => {
    const sim = await simulate((request) =>
      prompts(request).includes('Stop that.')
        ? { parts: [{ text: 'Stopped.' }] }
        : { parts: [{ text: 'Words. ' }], pace: { deltas: 100_000, delayMs: 20 } },
    );
    const { connection, next, events } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Talk.' }]);
    await next('text');
    connection.steer?.([{ type: 'text', text: 'Stop that.' }]);
    await next('steered');
    expect((await next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(textOf(events)).toMatch(/^Words\. .*Stopped\.$/);
    expect(only(events, 'turn-end')).toHaveLength(1);
    expect(only(events, 'turn-start')).toHaveLength(0);
  });

  it('steers in a call: the message follows the result, and the call is not ended', async () => {
    const sim = await simulate((request) =>
      results(request) === 0
        ? { parts: [bash('touch begun; until [ -e go ]; do sleep 0.05; done; echo through')] }
        : { parts: [{ text: prompts(request).includes('Also this.') ? 'Both.' : 'One.' }] },
    );
    const { connection, next, events, place } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Wait.' }]);
    await expect.poll(() => existsSync(join(place.cwd, 'begun'))).toBe(true);
    connection.steer?.([{ type: 'text', text: 'Also this.' }]);
    writeFileSync(join(place.cwd, 'go'), '');
    await next('turn-end');
    expect(only(events, 'steered')).toHaveLength(1);
    expect(only(events, 'call-end').map(({ status }) => status)).toEqual(['done']);
    expect(textOf(events)).toMatch(/Both\.$/);
    expect(only(events, 'turn-end')).toHaveLength(1);
  });

  it('reports usage per request and the cost of the session as a sum', async () => {
    const usage = { inputTokens: 1000, outputTokens: 50, cacheReadInputTokens: 600 };
    const sim = await simulate([
      { parts: [bash('echo')], usage },
      { parts: [{ text: 'One.' }], usage },
      { parts: [{ text: 'Two.' }], usage },
    ]);
    const { turn, events } = await open(sim);
    await turn('First.');
    await turn('Second.');
    const counted = only(events, 'usage').map((event) => event.usage);
    expect(counted).toHaveLength(3);
    for (const one of counted)
      expect(one).toMatchObject({
        inputTokens: 1000,
        outputTokens: 50,
        totalTokens: 1050,
        cacheReadInputTokens: 600,
      });
    const [first = 0, second = 0] = only(events, 'total-cost').map(({ usd }) => usd);
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(first);
    expect(only(events, 'context').at(-1)).toEqual({ type: 'context', tokens: 1050, window: 1_000_000 });
  });

  it('reports a failed request to the model', async () => {
    const sim = await simulate([
      { parts: [{ text: 'One.' }], fault: { kind: 'context-too-long' } },
      { parts: [{ text: 'One.' }], fault: { kind: 'context-too-long' } },
      { parts: [{ text: 'One.' }], fault: { kind: 'context-too-long' } },
    ]);
    const { turn } = await open(sim);
    const events = await turn('Talk.');
    expect(textOf(events)).toBe('');
    expect(only(events, 'turn-end')[0]?.outcome).toMatchObject({
      status: 'failed',
      failure: { kind: 'context-too-long' },
    });
  });

  it('reports retries', async () => {
    const sim = await simulate([{ parts: [{ text: 'One.' }], fault: { kind: '529', times: 1 } }]);
    const { turn } = await open(sim);
    const events = await turn('Talk.');
    expect(only(events, 'retry')).toMatchObject([
      { attempt: 1, failure: { kind: 'overloaded', httpStatus: 529 } },
    ]);
    expect(textOf(events)).toBe('One.');
  });

  it('stops at the limits of turns and cost', async () => {
    const turns = await open(await simulate(() => ({ parts: [bash('echo')] })), {
      settings: { maxTurns: 2 },
    });
    expect(only(await turns.turn('Go.'), 'turn-end')[0]?.outcome).toMatchObject({
      status: 'limited',
      limit: 'max-turns',
    });
    const budget = await open(await simulate(() => ({ parts: [bash('echo')] })), {
      settings: { budget: 0.001 },
    });
    expect(only(await budget.turn('Go.'), 'turn-end')[0]?.outcome).toMatchObject({
      status: 'limited',
      limit: 'budget',
    });
  });

  it('resumes a session in another process after the first one was killed in a call', async () => {
    const sim = await simulate((request) =>
      results(request) === 0
        ? { parts: [{ text: 'First answer.' }, bash('touch begun; sleep 1000')] }
        : { parts: [{ text: 'Resumed.' }] },
    );
    const first = await open(sim);
    first.connection.prompt([{ type: 'text', text: 'The number is 4711.' }]);
    const { sessionId } = await first.next('session');
    await expect.poll(() => existsSync(join(first.place.cwd, 'begun'))).toBe(true);
    process.kill(first.pid(), 'SIGKILL');
    expect((await first.ended).message).toBe('it was ended by SIGKILL');
    await first.connection.close();
    expect(listProcesses(first.place.root)).toEqual([]);
    const second = await open(sim, { place: first.place, start: { type: 'resume', sessionId } });
    expect(textOf(await second.turn('Go on.'))).toBe('Resumed.');
    const last = JSON.stringify(sim.requests.at(-1)?.body);
    expect(last).toContain('The number is 4711.');
    expect(last).toContain('First answer.');
    expect(only(second.events, 'session')[0]?.sessionId).toBe(sessionId);
  });

  it('forks a session', async () => {
    const sim = await simulate(() => ({ parts: [{ text: 'Answer.' }] }));
    const first = await open(sim);
    await first.turn('The number is 4711.');
    const sessionId = only(first.events, 'session')[0]?.sessionId ?? '';
    const second = await open(sim, { place: first.place, start: { type: 'fork', sessionId } });
    await second.turn('In the fork.');
    expect(only(second.events, 'session')[0]?.sessionId).not.toBe(sessionId);
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('The number is 4711.');
    await first.turn('In the first.');
    expect(JSON.stringify(sim.requests.at(-1)?.body)).not.toContain('In the fork.');
  });

  it('rejects the resumption of an unknown session with the reason', async () => {
    const sim = await simulate([]);
    const start = { type: 'resume', sessionId: '0194e2a5-0000-4000-8000-000000000000' } as const;
    await expect(open(sim, { start })).rejects.toThrow(/No conversation found/);
  });

  it('reports its end in the middle of a turn', async () => {
    const sim = await simulate([{ parts: [{ text: 'Words. ' }], pace: { deltas: 100_000, delayMs: 20 } }]);
    const { connection, next, ended, pid } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Talk.' }]);
    await next('text');
    process.kill(pid(), 'SIGTERM');
    expect((await ended).message).toMatch(/143|SIGTERM/);
  });

  it('rejects a program that is not Claude Code', async () => {
    const sim = await simulate([]);
    const command = [process.execPath, '-e', 'console.error("the reason"); process.exit(7)'] as const;
    await expect(open(sim, { command: [...command, '--'] })).rejects.toThrow(/exit code 7[\s\S]*the reason/);
  });

  it('fails after a thousand lines that are not JSON', async () => {
    const sim = await simulate([]);
    const script = `
      console.log(JSON.stringify({type:'control_response',response:{subtype:'success',request_id:'polypod-1',response:{claude_code_version:'99.0.0',current_permission_mode:'default'}}}));
      for (let i = 0; i < 2000; i += 1) console.log('no json');
      setInterval(() => {}, 1000);`;
    const { ended } = await open(sim, { command: [process.execPath, '-e', script, '--'] });
    expect((await ended).message).toContain('1000 lines');
  });

  it('rejects an old version and a mode in which it would not ask', async () => {
    const sim = await simulate([]);
    const program = (response: object) =>
      [
        process.execPath,
        '-e',
        `console.log('${JSON.stringify({ type: 'control_response', response: { subtype: 'success', request_id: 'polypod-1', response } })}'); setInterval(() => {}, 1000);`,
        '--',
      ] as [string, ...string[]];
    await expect(
      open(sim, { command: program({ claude_code_version: '2.0.1', current_permission_mode: 'default' }) }),
    ).rejects.toThrow(/version 2\.0\.1 is not supported/);
    await expect(
      open(sim, {
        command: program({ claude_code_version: '2.1.327', current_permission_mode: 'bypassPermissions' }),
      }),
    ).rejects.toThrow(/permission mode is bypassPermissions/);
  });

  it('sends images', async () => {
    const sim = await simulate([{ parts: [{ text: 'A dot.' }] }]);
    const { connection, next } = await open(sim);
    connection.prompt([
      { type: 'text', text: 'What is this?' },
      { type: 'image', mediaType: 'image/png', data: PIXEL },
    ]);
    await next('turn-end');
    expect(bodies(sim)).toContain('"media_type":"image/png"');
  });

  it('compacts the conversation', async () => {
    const sim = await simulate((request) => ({
      parts: [
        {
          text: JSON.stringify(request.body).includes('Focus on 4711')
            ? '<analysis>a</analysis><summary>The summary is 0815.</summary>'
            : 'Answer.',
        },
      ],
    }));
    const { connection, turn, next, events } = await open(sim);
    await turn('First.');
    await turn('Second.');
    connection.compact?.({ instructions: 'Focus on 4711' });
    expect((await next('turn-end')).outcome).toEqual({ status: 'finished' });
    const compacted = only(events, 'compacted');
    expect(compacted).toHaveLength(1);
    expect(compacted[0]?.summary).toContain('The summary is 0815.');
    expect(compacted[0]?.tokensBefore).toBeGreaterThan(0);
    expect(textOf(events)).toBe('Answer.Answer.');
    await turn('Third.');
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('The summary is 0815.');
  });

  it('reports why it cannot compact', async () => {
    const { connection, next } = await open(await simulate([]));
    connection.compact?.({});
    expect((await next('turn-end')).outcome).toEqual({
      status: 'failed',
      failure: { kind: 'invalid-request', message: 'Error: No messages to compact' },
    });
  });

  it('asks the questions of the model as a form', async () => {
    const questions = [
      { question: 'Which color?', header: 'Color', options: OPTIONS, multiSelect: false },
      { question: 'Which sizes?', header: 'Sizes', options: OPTIONS, multiSelect: true },
    ];
    const sim = await simulate([
      { parts: [{ toolCall: { name: 'AskUserQuestion', arguments: { questions } } }] },
      { parts: [{ text: 'Thanks.' }] },
    ]);
    const { connection, next } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Ask.' }]);
    const { requestId, question } = await next('question');
    expect(question.schema).toMatchObject({
      properties: { answer1: { type: 'string', enum: ['Red', 'Blue'] }, answer2: { type: 'array' } },
      required: ['answer1', 'answer2'],
    });
    connection.reply(requestId, { action: 'accept', content: { answer1: 'Red', answer2: ['Red', 'Blue'] } });
    await next('turn-end');
    const last = JSON.stringify(sim.requests.at(-1)?.body);
    expect(last).toContain('\\"Which color?\\"=\\"Red\\"');
    expect(last).toContain('\\"Which sizes?\\"=\\"Red, Blue\\"');
  });

  it('shows what a sub-agent does in its call, and asks for its calls', async () => {
    const sim = await simulate((request) => {
      if (prompts(request).includes('SUBTASK') && !prompts(request).includes('Delegate.'))
        return {
          parts:
            results(request) === 0
              ? [{ text: 'In the sub-agent.' }, bash('touch sub')]
              : [{ text: 'Sub done.' }],
        };
      if (results(request) > 0) return { parts: [{ text: 'Main done.' }] };
      const input = {
        description: 'Do it',
        prompt: 'SUBTASK',
        subagent_type: 'general-purpose',
        run_in_background: false,
      };
      return { parts: [{ toolCall: { name: 'Agent', arguments: input } }] };
    });
    const { turn, place } = await open(sim);
    const events = await turn('Delegate.');
    const [own, sub] = only(events, 'permission');
    expect(own?.request.call).toMatchObject({ name: 'Agent', title: 'agent general-purpose: Do it' });
    expect(sub?.request).toMatchObject({
      parentCallId: own?.request.call.callId,
      call: { title: 'touch sub' },
    });
    expect(only(events, 'call').map(({ call }) => call.name)).toEqual(['Agent']);
    expect(only(events, 'call-update').at(-1)?.text).toMatch(/In the sub-agent\.[\s\S]*> touch sub/);
    expect(existsSync(join(place.cwd, 'sub'))).toBe(true);
    expect(textOf(events)).toBe('Main done.');
  });

  it('reports a turn that it starts itself after a background command', async () => {
    const sim = await simulate((request) => {
      if (results(request) === 0)
        return { parts: [bash('until [ -e go ]; do sleep 0.05; done', { run_in_background: true })] };
      return { parts: [{ text: prompts(request).includes('task-notification') ? 'It ended.' : 'It runs.' }] };
    });
    const { turn, next, events, place } = await open(sim);
    expect(textOf(await turn('Start it.'))).toBe('It runs.');
    writeFileSync(join(place.cwd, 'go'), '');
    await next('turn-start');
    expect((await next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(textOf(events)).toBe('It runs.It ended.');
  });

  it('asks for the calls of a sub-agent in the background, also between two turns', async () => {
    const sim = await simulate((request) => {
      if (prompts(request).includes('SUBTASK') && !prompts(request).includes('Delegate.'))
        return { parts: results(request) === 0 ? [bash('touch sub')] : [{ text: 'Sub done.' }] };
      if (results(request) > 0)
        return {
          parts: [{ text: prompts(request).includes('task-notification') ? 'It ended.' : 'It runs.' }],
        };
      const input = { description: 'Do it', prompt: 'SUBTASK', subagent_type: 'general-purpose' };
      return { parts: [{ toolCall: { name: 'Agent', arguments: { ...input, run_in_background: true } } }] };
    });
    const { connection, next, events, place } = await open(sim, {
      approve: ({ parentCallId }) => (parentCallId === undefined ? { decision: 'allow' } : undefined),
    });
    connection.prompt([{ type: 'text', text: 'Delegate.' }]);
    await expect.poll(() => textOf(events)).toContain('It runs.');
    const asked = await next('permission', ({ request }) => request.parentCallId !== undefined);
    expect(asked.request.parentCallId).toBe(only(events, 'call')[0]?.call.callId);
    connection.answer(asked.request.requestId, { decision: 'allow' });
    await expect.poll(() => textOf(events)).toContain('It ended.');
    await expect.poll(() => events.at(-1)?.type).toBe('turn-end');
    expect(existsSync(join(place.cwd, 'sub'))).toBe(true);
    expect(only(events, 'turn-end')).toHaveLength(only(events, 'turn-start').length + 1);
  });

  it('reports the list of todos', async () => {
    const todos = [
      { content: 'First', status: 'completed', activeForm: 'Doing' },
      { content: 'Second', status: 'in_progress', activeForm: 'Doing' },
    ];
    const sim = await simulate([
      { parts: [{ toolCall: { name: 'TodoWrite', arguments: { todos } } }] },
      { parts: [{ text: 'Done.' }] },
    ]);
    const { turn } = await open(sim, {
      settings: { model: 'claude-sonnet-4-5' },
      env: { CLAUDE_CODE_ENABLE_TASKS: '0' },
    });
    expect(only(await turn('Plan.'), 'todos')).toEqual([
      {
        type: 'todos',
        items: [
          { content: 'First', status: 'completed' },
          { content: 'Second', status: 'in_progress' },
        ],
      },
    ]);
  });

  it('applies settings: the model at once, others with a restart that keeps the conversation', async () => {
    const sim = await simulate(() => ({ parts: [{ text: 'Answer.' }] }));
    const { connection, turn } = await open(sim, { settings: { appendSystem: 'APPENDED-ONE' } });
    await turn('The number is 4711.');
    expect(bodies(sim)).toContain('APPENDED-ONE');
    await connection.configure({
      mode: 'workspace-write',
      paths: [],
      appendSystem: 'APPENDED-ONE',
      model: 'haiku',
    });
    await turn('Second.');
    expect(lastModel(sim)).toContain('haiku');
    await connection.configure({
      mode: 'workspace-write',
      paths: [],
      appendSystem: 'APPENDED-TWO',
      thinking: 'low',
    });
    await turn('Third.');
    const last = JSON.stringify(sim.requests.at(-1)?.body);
    expect(last).toContain('The number is 4711.');
    expect(last).toContain('APPENDED-TWO');
    expect(last).not.toContain('APPENDED-ONE');
    expect(last).toContain('"effort":"low"');
  });

  it('rejects settings that need a restart during a turn, and reports a restart that fails as its end', async () => {
    const sim = await simulate(() => ({ parts: [bash('true')] }));
    const { connection, next, ended } = await open(sim, { approve: () => undefined });
    connection.prompt([{ type: 'text', text: 'Go.' }]);
    await next('permission');
    const settings = { mode: 'workspace-write', paths: [], maxTurns: 7 } as const;
    await expect(connection.configure(settings)).rejects.toThrow(/after the turn has ended/);
    connection.cancel();
    await next('turn-end');
    const broken = connection.configure({ ...settings, appendSystem: 'x', maxTurns: Number.NaN });
    await expect(broken).rejects.toThrow(/did not start/);
    expect((await ended).message).toContain('did not start');
  });

  it('replaces the system prompt and removes tools', async () => {
    const sim = await simulate(() => ({ parts: [{ text: 'Answer.' }] }));
    const { turn } = await open(sim, {
      settings: {
        system: 'REPLACED',
        disallowedTools: ['WebSearch', 'write', '--dangerously-skip-permissions'],
      },
    });
    await turn('Go.');
    const { system, tools } = lastBody(sim);
    expect(JSON.stringify(system)).toContain('REPLACED');
    expect(JSON.stringify(tools)).toContain('"name":"Bash"');
    expect(JSON.stringify(tools)).not.toContain('"name":"Write"');
    expect(bodies(sim)).not.toMatch(/\bWebSearch\b/);
  });

  it.each([
    [{ allowedTools: ['read', 'Bash', 'mcp__other__go'] }, ['Bash', 'Read']],
    [
      { allowedTools: ['read', 'edit'], disallowedTools: ['NotebookEdit', 'mcp__local__*'] },
      ['Edit', 'Read'],
    ],
    [{ allowedTools: [] }, []],
    [{ disallowedTools: ['*'] }, []],
  ])('limits the tools of the model: %j', async (limits, names) => {
    const sim = await simulate(() => ({ parts: [{ text: 'Answer.' }] }));
    const server = { transport: 'stdio', name: 'local', command: process.execPath } as const;
    const { turn } = await open(sim, {
      settings: limits,
      mcpServers: [{ ...server, args: ['-e', MCP_SERVER], env: {}, passEnv: [] }],
    });
    await turn('Go.');
    const { tools = [] } = lastBody(sim) as { readonly tools?: readonly { readonly name: string }[] };
    // An entry of Claude Code for tools that are loaded later, which cannot be called.
    const own = tools.map(({ name }) => name).filter((name) => name !== 'DeferredToolPlaceholder');
    expect(own.toSorted()).toEqual(names);
    expect(bodies(sim)).not.toContain('mcp__local');
  });

  it('connects MCP servers of the pod, whose tools and forms ask', async () => {
    const sim = await simulate((request) =>
      results(request) === 0
        ? { parts: [{ toolCall: { name: 'mcp__local__go', arguments: { a: 1 } } }] }
        : { parts: [{ text: 'Done.' }] },
    );
    const place = makeDirectories();
    mkdirSync(join(place.cwd, 'below'));
    const { connection, next } = await open(sim, {
      place,
      mcpServers: [
        {
          transport: 'stdio',
          name: 'local',
          command: process.execPath,
          args: ['-e', MCP_SERVER],
          env: { TOKEN: 'token-4711' },
          passEnv: [],
          cwd: 'below',
        },
      ],
    });
    expect(statSync(join(place.directory, 'mcp.json')).mode & 0o777).toBe(0o600);
    connection.prompt([{ type: 'text', text: 'Go.' }]);
    const { request } = await next('permission', ({ request: { call } }) => call.name === 'mcp__local__go');
    expect(request.call).toMatchObject({ access: [{ type: 'foreign', readOnly: false }] });
    const { requestId, question } = await next('question');
    expect(question).toEqual({
      message: 'local: Which name?',
      schema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    connection.reply(requestId, { action: 'accept', content: { name: 'Ada' } });
    const { output } = await next('call-end', ({ callId }) => callId === request.call.callId);
    expect(output.content).toEqual([{ type: 'text', text: `token-4711 ${place.cwd}/below accept Ada` }]);
    await connection.close();
    expect(existsSync(join(place.directory, 'mcp.json'))).toBe(false);
  });

  it('does not treat a prompt as a command or as the name of a file', async () => {
    const sim = await simulate(() => ({ parts: [{ text: 'Answer.' }] }));
    const { turn, place } = await open(sim);
    const secret = join(place.root, 'secret.txt');
    writeFileSync(secret, 'CONTENT-4711');
    expect(textOf(await turn('/model haiku'))).toBe('Answer.');
    await turn(`Look at @${secret} please`);
    expect(bodies(sim)).not.toContain('CONTENT-4711');
    expect(lastModel(sim)).not.toContain('haiku');
  });

  it('starts every command in the working directory', async () => {
    const sim = await simulate([
      { parts: [bash('mkdir sub; cd sub; pwd')] },
      { parts: [bash('pwd')] },
      { parts: [{ text: 'Done.' }] },
    ]);
    const { turn, place } = await open(sim);
    const ends = only(await turn('Go.'), 'call-end');
    expect(ends.map(({ output }) => output.content)).toEqual([
      [{ type: 'text', text: join(place.cwd, 'sub') }],
      [{ type: 'text', text: place.cwd }],
    ]);
  });

  it('passes the probe, which leaves no files', async () => {
    const place = makeDirectories();
    const probe = claude.probe?.({
      ...launch(place, 'http://127.0.0.1:1'),
      signal: AbortSignal.timeout(100_000),
    });
    expect(await probe).toEqual({ status: 'asks' });
    expect(readdirSync(place.directory)).toEqual([]);
    expect(readdirSync(place.home)).toEqual([]);
  });

  it('describes its version and whether a user is signed in', async () => {
    const place = makeDirectories();
    const started = launch(place, 'http://127.0.0.1:1');
    const signal = AbortSignal.timeout(100_000);
    expect(await claude.describe({ ...started, signal })).toEqual({ version: '2.1.327', signedIn: 'yes' });
    const { ANTHROPIC_API_KEY: _, ...env } = started.env;
    expect(await claude.describe({ ...started, env, signal })).toMatchObject({
      version: '2.1.327',
      signedIn: 'no',
    });
    expect(await claude.describe({ ...started, command: ['/nonexistent/claude'], signal })).toMatchObject({
      version: undefined,
      problem: '/nonexistent/claude is not installed.',
    });
  });
});

const OPTIONS = [
  { label: 'Red', description: 'warm' },
  { label: 'Blue', description: 'cold' },
];
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A server with one tool, which asks the user for a name. */
const MCP_SERVER = `
  const send = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
  let call;
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params, result } = JSON.parse(line);
    if (method === 'initialize')
      send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'local', version: '1' } } });
    else if (method === 'tools/list')
      send({ id, result: { tools: [{ name: 'go', description: 'Goes.', inputSchema: { type: 'object' } }] } });
    else if (method === 'tools/call') {
      call = id;
      send({ id: 'form', method: 'elicitation/create', params: { message: 'Which name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } } });
    } else if (id === 'form')
      send({ id: call, result: { content: [{ type: 'text', text: [process.env.TOKEN, process.cwd(), result?.action, result?.content?.name].join(' ') }] } });
    else if (id !== undefined) send({ id, result: {} });
  });`;
