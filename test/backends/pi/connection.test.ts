import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isObject, objectOf } from '../../../src/base/index.ts';
import { findProcess } from '../../../src/tools/index.ts';
import { addExtension, isInstalled, piFixture, textInput, textOfEvents } from './fixture.ts';

const bash = (command: string) => ({ toolCall: { name: 'bash', arguments: { command } } });

describe.skipIf(!isInstalled)('pi as a back end', () => {
  it('streams an answer with thinking, usage and cost, and reports a session that can be resumed', async () => {
    const { open, launch } = await piFixture([
      {
        parts: [{ thinking: 'Let me think.' }, { text: 'Good morning.' }],
        usage: { inputTokens: 100, outputTokens: 10 },
      },
    ]);
    const session = await open();
    const { sessionId, model } = await session.next('session');
    expect(model).toBe('sim/first');
    expect(statSync(sessionId).mode & 0o777).toBe(0o600);
    expect(statSync(join(launch.directory, 'gate.js')).mode & 0o777).toBe(0o600);
    session.connection.prompt(textInput('hello'));
    expect(await session.next('usage')).toMatchObject({
      usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110 },
      cost: {
        input: expect.closeTo(0.0003),
        output: expect.closeTo(0.00015),
        total: expect.closeTo(0.00045),
      },
    });
    expect(await session.next('context')).toEqual({ type: 'context', tokens: 110, window: 200_000 });
    expect(await session.next('turn-end')).toEqual({ type: 'turn-end', outcome: { status: 'finished' } });
    expect(textOfEvents(session.events)).toBe('Good morning.');
    expect(session.events.filter(({ type }) => type === 'thinking')).toEqual([
      { type: 'thinking', text: 'Let me think.' },
    ]);
  });

  it('runs a call after it was approved, and reports its output', async () => {
    const { open, cwd } = await piFixture([
      { parts: [bash('echo printed | tee made.txt')] },
      { parts: [{ text: 'Done.' }] },
    ]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    const { request } = await session.next('permission');
    expect(request.call).toMatchObject({
      name: 'bash',
      tool: 'bash',
      title: 'echo printed | tee made.txt',
      access: [{ type: 'command', command: 'echo printed | tee made.txt', cwd }],
    });
    expect(existsSync(join(cwd, 'made.txt'))).toBe(false);
    session.connection.answer(request.requestId, { decision: 'allow' });
    await session.next('call-start');
    expect(await session.next('call-end')).toMatchObject({
      callId: request.call.callId,
      status: 'done',
      output: { isError: false, content: textInput('printed\n'), details: { exitCode: 0, printedLength: 8 } },
    });
    expect(readFileSync(join(cwd, 'made.txt'), 'utf8')).toBe('printed\n');
    await session.next('turn-end');
  });

  it('does not run a denied call, and gives the reason to the model', async () => {
    const { open, cwd, sim } = await piFixture([
      { parts: [bash('touch made.txt')] },
      { parts: [{ text: 'I see.' }] },
    ]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    const { request } = await session.next('permission');
    session.connection.answer(request.requestId, {
      decision: 'deny',
      reason: 'Files are made by hand here.',
    });
    expect(await session.next('call-end')).toMatchObject({
      status: 'denied',
      output: { isError: true, content: textInput('Files are made by hand here.') },
    });
    await session.next('turn-end');
    expect(existsSync(join(cwd, 'made.txt'))).toBe(false);
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('Files are made by hand here.');
  });

  it('runs a call with the arguments that a person changed', async () => {
    const { open, cwd } = await piFixture([
      { parts: [bash('touch original.txt')] },
      { parts: [{ toolCall: { name: 'write', arguments: { path: 'a.txt', content: 'a\n' } } }] },
      { parts: [{ text: 'Done.' }] },
    ]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    const first = await session.next('permission');
    session.connection.answer(first.request.requestId, {
      decision: 'allow',
      arguments: '{"command":"touch changed.txt"}',
    });
    const second = await session.next('permission');
    session.connection.answer(second.request.requestId, {
      decision: 'allow',
      arguments: '{"path":"a.txt","content":"b\\n"}',
    });
    expect(await session.next('call-end')).toMatchObject({
      output: { details: { diff: '--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+b\n' } },
    });
    await session.next('turn-end');
    expect(readdirSync(cwd).toSorted()).toEqual(['a.txt', 'changed.txt']);
  });

  it('reports changes of files as diffs', async () => {
    const { open, cwd } = await piFixture([
      { parts: [{ toolCall: { name: 'write', arguments: { path: 'a.txt', content: 'one\ntwo\n' } } }] },
      {
        parts: [
          {
            toolCall: {
              name: 'edit',
              arguments: { path: 'a.txt', edits: [{ oldText: 'two', newText: 'three' }] },
            },
          },
        ],
      },
      { parts: [{ text: 'Done.' }] },
    ]);
    writeFileSync(join(cwd, 'a.txt'), 'one\n');
    const session = await open({ approve: true });
    session.connection.prompt(textInput('go'));
    await session.next('turn-end');
    const ends = session.events.filter((event) => event.type === 'call-end');
    expect(ends.map(({ output }) => [output.summary, output.details])).toEqual([
      [
        'Updated a.txt (+1 -0)',
        {
          created: false,
          diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two\n',
          added: 1,
          removed: 0,
        },
      ],
      [
        'Edited a.txt: 1 replacement, +1 -1',
        {
          diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n',
          added: 1,
          removed: 1,
          replaced: 1,
        },
      ],
    ]);
  });

  it('asks for parallel calls one after the other, and reports each end', async () => {
    const { open, cwd } = await piFixture([
      { parts: [bash('touch one'), bash('touch two'), bash('echo out; exit 3')] },
      { parts: [{ text: 'Done.' }] },
    ]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    for (const decision of ['allow', 'deny', 'allow'] as const) {
      const { request } = await session.next('permission');
      session.connection.answer(
        request.requestId,
        decision === 'allow' ? { decision } : { decision, reason: 'no' },
      );
    }
    await session.next('turn-end');
    expect(readdirSync(cwd)).toEqual(['one']);
    const calls = session.events.flatMap((event) => (event.type === 'call' ? [event.call.callId] : []));
    const ends = new Map(
      session.events.flatMap((event) => (event.type === 'call-end' ? [[event.callId, event]] : [])),
    );
    expect(calls.map((callId) => ends.get(callId)?.status)).toEqual(['done', 'denied', 'failed']);
    expect(ends.get(calls[2] ?? '')?.output).toMatchObject({
      summary: 'echo out; exit 3: exit code 3',
      details: { exitCode: 3, printedLength: 4 },
    });
  });

  it('cancels an answer', async () => {
    const { open } = await piFixture([
      { parts: [{ text: 'Once upon a time.' }], fault: { kind: 'stall', after: 1 } },
      { parts: [{ text: 'Again.' }] },
    ]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    await session.next('text');
    session.connection.cancel();
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'cancelled' });
    session.connection.prompt(textInput('again'));
    await session.next('text', ({ text }) => text === 'Again.');
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
  });

  it('cancels a prompt at once', async () => {
    const { open } = await piFixture([{ parts: [{ text: 'never ends' }], fault: { kind: 'no-response' } }]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    session.connection.cancel();
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'cancelled' });
  });

  it('cancels a call that runs, with its processes', async () => {
    const { open, cwd, running } = await piFixture([{ parts: [bash('echo $$ > pid; sleep 1000')] }]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    const { request } = await session.next('permission');
    session.connection.answer(request.requestId, { decision: 'allow' });
    await session.next('call-start');
    await expect
      .poll(() => existsSync(join(cwd, 'pid')) && readFileSync(join(cwd, 'pid'), 'utf8'))
      .toMatch(/\n/);
    const pid = readFileSync(join(cwd, 'pid'), 'utf8').trim();
    session.connection.cancel();
    expect(await session.next('call-end')).toMatchObject({ status: 'interrupted' });
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'cancelled' });
    await session.connection.close();
    expect(findProcess(Number(pid))).toBeUndefined();
    expect(running.size).toBe(0);
  });

  it('ends a running call if it is closed', async () => {
    const { open, cwd, running } = await piFixture([{ parts: [bash('echo $$ > pid; sleep 1000')] }]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    const { request } = await session.next('permission');
    session.connection.answer(request.requestId, { decision: 'allow' });
    await expect
      .poll(() => existsSync(join(cwd, 'pid')) && readFileSync(join(cwd, 'pid'), 'utf8'))
      .toMatch(/\n/);
    const pid = readFileSync(join(cwd, 'pid'), 'utf8').trim();
    await session.connection.close();
    expect(findProcess(Number(pid))).toBeUndefined();
    expect(running.size).toBe(0);
  });

  it('withdraws its request for permission if the turn is cancelled', async () => {
    const { open, cwd } = await piFixture([{ parts: [bash('touch made.txt')] }]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    const { request } = await session.next('permission');
    session.connection.cancel();
    expect(await session.next('permission-withdrawn')).toMatchObject({ requestId: request.requestId });
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'cancelled' });
    // The answer of a person who did not yet know.
    session.connection.answer(request.requestId, { decision: 'allow' });
    await session.connection.close();
    expect(existsSync(join(cwd, 'made.txt'))).toBe(false);
  });

  it('adds a steering message to the running turn', async () => {
    const { open, sim } = await piFixture([{ parts: [bash('true')] }, { parts: [{ text: 'Understood.' }] }]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    const { request } = await session.next('permission');
    session.connection.steer?.(textInput('and hurry'));
    session.connection.answer(request.requestId, { decision: 'allow' });
    await session.next('steered');
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(sim.requests).toHaveLength(2);
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('and hurry');
  });

  it('delivers a steering message that pi receives after the end of its run', async () => {
    const { open, agent, cwd } = await piFixture([
      { parts: [{ text: 'First.' }] },
      { parts: [{ text: 'Second.' }] },
    ]);
    addExtension(
      agent,
      `import { writeFileSync } from 'node:fs';
      export default (pi) => pi.on('agent_settled', () => writeFileSync('settled', ''));`,
    );
    const session = await open({
      onEvents: async (events) => {
        if (!events.some((event) => event.type === 'text' && event.text === 'First.')) return;
        await expect.poll(() => existsSync(join(cwd, 'settled'))).toBe(true);
        session.connection.steer?.(textInput('more'));
      },
    });
    session.connection.prompt(textInput('go'));
    await session.next('steered');
    await session.next('text', ({ text }) => text === 'Second.');
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
  });

  it('forgets steering messages of a cancelled turn', async () => {
    const { open, sim } = await piFixture([{ parts: [bash('true')] }, { parts: [{ text: 'Fine.' }] }]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    await session.next('permission');
    session.connection.steer?.(textInput('and hurry'));
    session.connection.cancel();
    await session.next('turn-end');
    session.connection.prompt(textInput('something else'));
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(JSON.stringify(sim.requests.at(-1)?.body)).not.toContain('and hurry');
  });

  it('resumes a session in a new process after the first one was killed', async () => {
    const { open, sim, running } = await piFixture([
      { parts: [{ text: 'The word is quince.' }] },
      { parts: [{ text: 'Quince.' }], fault: { kind: 'stall', after: 1 } },
      { parts: [{ text: 'Still quince.' }] },
    ]);
    const first = await open();
    const { sessionId } = await first.next('session');
    first.connection.prompt(textInput('remember a word'));
    await first.next('turn-end');
    first.connection.prompt(textInput('which one?'));
    await first.next('text');
    for (const pid of running) process.kill(pid, 'SIGKILL');
    expect(await first.ended).toMatchObject({ message: 'it was ended by SIGKILL' });

    const second = await open({ start: { type: 'resume', sessionId } });
    expect((await second.next('session')).sessionId).toBe(sessionId);
    second.connection.prompt(textInput('and now?'));
    expect((await second.next('turn-end')).outcome).toEqual({ status: 'finished' });
    const body = JSON.stringify(sim.requests.at(-1)?.body);
    for (const text of ['remember a word', 'The word is quince.', 'which one?', 'and now?'])
      expect(body).toContain(text);
  });

  it('resumes a session that has no answer yet', async () => {
    const { open, sim, running } = await piFixture([
      { parts: [{ text: 'x' }], fault: { kind: 'no-response', times: 1 } },
    ]);
    const first = await open();
    const { sessionId } = await first.next('session');
    first.connection.prompt(textInput('the first prompt'));
    await expect.poll(() => sim.requests.length).toBe(1);
    for (const pid of running) process.kill(pid, 'SIGKILL');
    await first.ended;
    const second = await open({ start: { type: 'resume', sessionId } });
    second.connection.prompt(textInput('the second prompt'));
    expect((await second.next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('the first prompt');
  });

  it('refuses to resume a session whose file is missing', async () => {
    const { open, agent } = await piFixture([]);
    const sessionId = join(agent, 'sessions', 'missing.jsonl');
    await expect(open({ start: { type: 'resume', sessionId } })).rejects.toThrow(
      /has no session .*missing\.jsonl/,
    );
    expect(existsSync(sessionId)).toBe(false);
  });

  it('forks a session', async () => {
    const { open, sim } = await piFixture([
      { parts: [{ text: 'One.' }] },
      { parts: [{ text: 'Two.' }] },
      { parts: [{ text: 'Three.' }] },
    ]);
    const first = await open();
    const { sessionId } = await first.next('session');
    first.connection.prompt(textInput('the common part'));
    await first.next('turn-end');
    const second = await open({ start: { type: 'fork', sessionId } });
    const fork = await second.next('session');
    expect(fork.sessionId).not.toBe(sessionId);
    second.connection.prompt(textInput('in the fork'));
    await second.next('turn-end');
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('the common part');
    first.connection.prompt(textInput('in the original'));
    await first.next('turn-end');
    expect(JSON.stringify(sim.requests.at(-1)?.body)).not.toContain('in the fork');
  });

  it('reports that the program ended in the middle of a turn, with what it printed', async () => {
    const { open, agent } = await piFixture([{ parts: [{ text: 'x' }], fault: { kind: 'stall', after: 1 } }]);
    addExtension(
      agent,
      `export default (pi) => pi.on('message_update', () => { console.error('it broke'); process.exit(7); });`,
    );
    const session = await open();
    session.connection.prompt(textInput('go'));
    expect(await session.ended).toEqual({ message: 'it ended with exit code 7', stderr: 'it broke' });
  });

  it('reports an error of the provider', async () => {
    const { open } = await piFixture([{ parts: [{ text: 'x' }], fault: { kind: '401' } }]);
    const session = await open();
    session.connection.prompt(textInput('go'));
    expect((await session.next('turn-end')).outcome).toMatchObject({
      status: 'failed',
      failure: { kind: 'auth', httpStatus: 401 },
    });
  });

  it('reports that it retries', async () => {
    const { open, agent } = await piFixture([
      { parts: [{ text: 'At last.' }], fault: { kind: '529', times: 1 } },
    ]);
    writeFileSync(join(agent, 'settings.json'), JSON.stringify({ retry: { baseDelayMs: 1 } }));
    const session = await open();
    session.connection.prompt(textInput('go'));
    expect(await session.next('retry')).toMatchObject({
      attempt: 1,
      failure: { kind: 'overloaded', httpStatus: 529, message: 'Overloaded' },
    });
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(textOfEvents(session.events)).toBe('At last.');
  });

  it('sends images', async () => {
    const { open, sim } = await piFixture([{ parts: [{ text: 'A dot.' }] }]);
    const session = await open();
    const data =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    session.connection.prompt([...textInput('look'), { type: 'image', mediaType: 'image/png', data }]);
    await session.next('turn-end');
    const { messages } = objectOf(sim.requests.at(-1)?.body) as { messages: { content: unknown[] }[] };
    expect(
      messages
        .at(-1)
        ?.content.filter(isObject)
        .map(({ type }) => type),
    ).toEqual(['text', 'image']);
  });

  it('compacts the conversation', async () => {
    const isSummary = (system: string) => system.includes('summarization');
    const { open, sim, agent } = await piFixture(({ system }) => ({
      parts: [{ text: isSummary(system) ? 'A summary of many words.' : 'An answer.' }],
    }));
    writeFileSync(join(agent, 'settings.json'), JSON.stringify({ compaction: { keepRecentTokens: 1 } }));
    const session = await open();
    for (const text of ['the first prompt', 'the second prompt']) {
      session.connection.prompt(textInput(text));
      await session.next('turn-end');
    }
    session.connection.compact?.({ instructions: 'Be brief.' });
    const { summary, tokensBefore } = await session.next('compacted');
    expect(summary).toContain('A summary of many words.');
    expect(tokensBefore).toBeGreaterThan(100);
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(JSON.stringify(sim.requests)).toContain('Be brief.');
    session.connection.prompt(textInput('go on'));
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(JSON.stringify(sim.requests.at(-1)?.body)).toContain('A summary of many words.');
  });

  it('reports that there is nothing to compact', async () => {
    const { open } = await piFixture([]);
    const session = await open();
    session.connection.compact?.({});
    expect((await session.next('turn-end')).outcome).toMatchObject({
      status: 'failed',
      failure: { message: 'Nothing to compact (session too small)' },
    });
  });

  it('changes the model and the thinking level', async () => {
    const { open, sim } = await piFixture([{ parts: [{ text: 'One.' }] }, { parts: [{ text: 'Two.' }] }]);
    const session = await open({ settings: { thinking: 'off' } });
    session.connection.prompt(textInput('go'));
    await session.next('turn-end');
    const settings = { mode: 'workspace-write', paths: [], thinking: 'off' } as const;
    await session.connection.configure({ ...settings, model: 'sim/second' });
    await session.connection.configure({ ...settings, model: 'sim/first', thinking: 'high' });
    session.connection.prompt(textInput('go'));
    await session.next('turn-end');
    expect(sim.requests.map(({ body }) => objectOf(objectOf(body).thinking).type)).toEqual([
      expect.not.stringMatching('enabled'),
      'enabled',
    ]);
    await expect(session.connection.configure({ ...settings, model: 'sim/third' })).rejects.toThrow(
      'pi has no model "sim/third"',
    );
    await expect(session.connection.configure({ ...settings, system: 'Be terse.' })).rejects.toThrow(
      'cannot change "system"',
    );
  });

  it('passes prompts and tools, and keeps the instructions of the project and the user', async () => {
    const { open, sim, cwd, agent, launch } = await piFixture([{ parts: [{ text: 'Yes.' }] }]);
    writeFileSync(join(cwd, 'AGENTS.md'), 'instructions of the project');
    writeFileSync(join(agent, 'APPEND_SYSTEM.md'), 'instructions of the user');
    const settings = { system: 'You are terse.', appendSystem: 'Use metres.', allowedTools: ['read', 'ls'] };
    const session = await open({ settings });
    session.connection.prompt(textInput('go'));
    await session.next('turn-end');
    const { system, tools } = objectOf(sim.requests[0]?.body);
    const prompt = JSON.stringify(system);
    for (const text of [
      'You are terse.',
      'Use metres.',
      'instructions of the project',
      'instructions of the user',
    ])
      expect(prompt).toContain(text);
    expect((tools as { name: string }[]).map(({ name }) => name).toSorted()).toEqual(['ls', 'read']);
    expect(statSync(join(launch.directory, 'system-prompt.md')).mode & 0o777).toBe(0o600);
  });

  it('stops at the limit of turns without another request', async () => {
    const { open, sim } = await piFixture([
      { parts: [bash('true')] },
      { parts: [bash('true')] },
      { parts: [] },
    ]);
    const session = await open({ approve: true, settings: { maxTurns: 2 } });
    session.connection.prompt(textInput('go'));
    await session.next('turn-end');
    expect(session.events.at(-1)).toMatchObject({
      type: 'turn-end',
      outcome: { status: 'limited', limit: 'max-turns', message: 'the run has reached its limit of 2 turns' },
    });
    expect(sim.requests).toHaveLength(2);
  });

  it('stops when the budget is spent', async () => {
    const { open, sim } = await piFixture([
      { parts: [bash('true')], usage: { inputTokens: 1_000_000, outputTokens: 1 } },
      { parts: [] },
    ]);
    const session = await open({ approve: true, settings: { budget: 1 } });
    session.connection.prompt(textInput('go'));
    await session.next('turn-end');
    expect(session.events.at(-1)).toMatchObject({ outcome: { status: 'limited', limit: 'budget' } });
    expect(sim.requests).toHaveLength(1);
  });

  it('ends the turn of a prompt that an extension handles', async () => {
    const { open, agent } = await piFixture([]);
    addExtension(
      agent,
      `export default (pi) => pi.registerCommand('greet', { handler: async (_, ctx) => ctx.ui.notify('hi') });`,
    );
    const session = await open();
    session.connection.prompt(textInput('/greet'));
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
  });

  it('forwards questions of extensions, and turns that they start', async () => {
    const { open, agent, sim } = await piFixture([{ parts: [{ text: 'Blue it is.' }] }]);
    addExtension(
      agent,
      `export default (pi) => pi.registerCommand('colour', { handler: async (_, ctx) => {
        const colour = await ctx.ui.select('Which colour?', ['Red', 'Blue']);
        pi.sendUserMessage('The colour is ' + colour);
      } });`,
    );
    const session = await open();
    session.connection.prompt(textInput('/colour'));
    const { requestId, question } = await session.next('question');
    expect(question).toMatchObject({
      message: 'Which colour?',
      schema: { properties: { value: { enum: ['Red', 'Blue'] } } },
    });
    session.connection.reply(requestId, { action: 'accept', content: { value: 'Blue' } });
    await session.next('text', ({ text }) => text === 'Blue it is.');
    expect((await session.next('turn-end')).outcome).toEqual({ status: 'finished' });
    expect(JSON.stringify(sim.requests[0]?.body)).toContain('The colour is Blue');
  });
});
