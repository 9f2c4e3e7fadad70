import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { objectOf } from '../../../../src/base/index.ts';
import type { Line } from '../client.ts';
import { gist } from '../gist.ts';
import { describeOnEach } from '../each-connection.ts';

const bash = (command: string) => ({ toolCall: { name: 'bash', arguments: { command } } });
const ECHO = bash('echo hi');

/** A command that runs until the test ends it. */
const UNTIL_GO = 'until [ -e go ]; do sleep 0.02; done';
const go = (cwd: string): void => writeFileSync(join(cwd, 'go'), '');

/** The events at the start of a run, of a text answer, and at the end of a run. */
const BEGUN = ['prompt ok', 'agent_start', 'turn_start', 'message_start user', 'message_end user'];
const TEXT = ['  text_start', '  text_delta', '  text_end'];
const ANSWER = ['message_start assistant stop', ...TEXT, 'message_end assistant stop'];
const FAILED = ['message_start assistant stop', 'message_end assistant error', 'turn_end 0'];

/** The first call in a partial answer. */
function callIn({ message }: Line) {
  const content = objectOf(message).content as readonly unknown[];
  return objectOf(content.find((block) => objectOf(block).type === 'toolCall'));
}

describeOnEach((openFixture) => {
  describe('a run', () => {
    it('emits all events from its acknowledgement to agent_settled', async () => {
      const { client } = await openFixture([{ parts: [{ thinking: 'hm' }, { text: 'Hello' }] }]);
      expect(gist(await client.run('hi'))).toEqual([
        ...BEGUN,
        'message_start assistant stop',
        '  thinking_start',
        '  thinking_delta',
        '  thinking_end',
        ...TEXT,
        'message_end assistant stop',
        'turn_end 0',
        'agent_end user assistant',
        'agent_settled',
      ]);
    });

    it('shows the arguments of a call as they grow', async () => {
      const { client } = await openFixture([
        { parts: [bash(`echo ${'word '.repeat(40)}`)], pace: { chunkSize: 16, delayMs: 50 } },
        { parts: [{ text: 'done' }] },
      ]);
      const commands = (await client.run('go')).flatMap((line) => {
        if (line.type !== 'message_update' || !('partialJson' in callIn(line))) return [];
        const { command } = objectOf(callIn(line).arguments);
        return typeof command === 'string' ? [command] : [];
      });
      // A busy machine may merge several pieces.
      expect(new Set(commands).size).toBeGreaterThan(1);
      for (const [at, command] of commands.entries()) expect(commands[at + 1] ?? command).toMatch(command);
    });

    it('with a tool emits the call, its progress and its result between two answers', async () => {
      const { client } = await openFixture([{ parts: [ECHO] }, { parts: [{ text: 'done' }] }]);
      const lines = await client.run('go');
      expect(gist(lines).filter((line) => !line.startsWith('tool_execution_update'))).toEqual([
        ...BEGUN,
        'message_start assistant stop',
        '  toolcall_start',
        '  toolcall_delta',
        '  toolcall_end',
        'message_end assistant toolUse',
        'tool_execution_start bash',
        'tool_execution_end bash',
        'message_start toolResult',
        'message_end toolResult',
        'turn_end 1',
        'turn_start',
        ...ANSWER,
        'turn_end 0',
        'agent_end user assistant toolResult assistant',
        'agent_settled',
      ]);
      const start = one(lines, 'tool_execution_start');
      expect(start).toEqual({
        type: 'tool_execution_start',
        toolCallId: start.toolCallId,
        toolName: 'bash',
        args: { command: 'echo hi' },
      });
      const end = one(lines, 'tool_execution_end');
      expect(end).toMatchObject({
        toolCallId: start.toolCallId,
        result: { content: [{ type: 'text', text: 'hi' }], details: { exitCode: 0 } },
        isError: false,
        isWarning: false,
      });
      const callEnd = updates(lines).find(({ type }) => type === 'toolcall_end');
      expect(callEnd?.toolCall).toEqual({
        type: 'toolCall',
        id: start.toolCallId,
        name: 'bash',
        arguments: { command: 'echo hi' },
      });
    });

    it('emits the complete text in deltas, each with the message so far', async () => {
      const text = 'one two three four five six seven eight nine ten';
      const { client } = await openFixture([{ parts: [{ text }], pace: { chunkSize: 3 } }]);
      const lines = await client.run('count');
      const deltas = updates(lines).filter(({ type }) => type === 'text_delta');
      expect(deltas.map(({ delta }) => delta).join('')).toBe(text);
      let sofar = '';
      for (const { delta, partial, contentIndex } of deltas) {
        sofar += String(delta);
        expect(contentIndex).toBe(0);
        expect(objectOf(partial).content).toEqual([{ type: 'text', text: sofar }]);
      }
      for (const { message, assistantMessageEvent } of lines.filter(({ type }) => type === 'message_update'))
        expect(objectOf(assistantMessageEvent).partial).toEqual(message);
    });

    it('numbers its events like every other door', async () => {
      const { client } = await openFixture([{ parts: [{ text: 'Hello' }] }]);
      const lines = await client.run('hi');
      expect(client.numbers).toHaveLength(lines.filter(({ type }) => type !== 'response').length);
      expect(client.numbers).toEqual(client.numbers.toSorted((one, other) => one - other));
    });

    it('keeps the deltas of interleaved calls apart', async () => {
      const { client } = await openFixture([
        { parts: [bash('echo first'), bash('echo second')], interleave: true, pace: { chunkSize: 2 } },
        { parts: [{ text: 'ok' }] },
      ]);
      const lines = await client.run('both');
      for (const [contentIndex, command] of ['echo first', 'echo second'].entries()) {
        const text = updates(lines)
          .filter((event) => event.type === 'toolcall_delta' && event.contentIndex === contentIndex)
          .map(({ delta }) => delta)
          .join('');
        expect(JSON.parse(text)).toEqual({ command });
      }
      expect(gist(lines)).toContain('turn_end 2');
    });

    it('sends images to the provider', async () => {
      const bodies: string[] = [];
      const { client } = await openFixture(({ body }) => {
        bodies.push(JSON.stringify(body));
        return { parts: [{ text: 'a picture' }] };
      });
      const images = [{ type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }];
      const lines = await client.run('look', { images });
      expect(bodies[0]).toContain('"media_type":"image/png","data":"iVBORw0KGgo="');
      expect(lines.find(({ type }) => type === 'message_end')?.message).toMatchObject({
        role: 'user',
        content: [{ type: 'text', text: 'look' }, images[0]],
      });
    });

    it('that fails reports the reason, and the process continues', async () => {
      const { client } = await openFixture([
        { parts: [], fault: { kind: '401' } },
        { parts: [{ text: 'ok' }] },
      ]);
      const lines = await client.run('hi');
      expect(gist(lines)).toEqual([...BEGUN, ...FAILED, 'agent_end user assistant', 'agent_settled']);
      const end = lines.findLast(({ type }) => type === 'message_end');
      expect(objectOf(end?.message).errorMessage).toMatch(/key/i);
      expect(gist(await client.run('again')).at(-1)).toBe('agent_settled');
    });
  });

  describe('messages during a run', () => {
    const waiting = { parts: [bash(UNTIL_GO)] };
    const short = { parts: [{ text: 'ok' }] };

    it('are delivered in one run: steering first, then follow-ups, one at a time', async () => {
      const { client, cwd } = await openFixture([waiting, short, short, short, short]);
      client.send({ id: 'p', type: 'prompt', message: 'begin' });
      await client.waitFor(({ type }) => type === 'tool_execution_start');
      await client.ask('steer', { message: 'A' });
      await client.ask('follow_up', { message: 'X' });
      await client.ask('prompt', { message: 'B', streamingBehavior: 'steer' });
      await client.ask('prompt', { message: 'Y', streamingBehavior: 'followUp' });
      expect(await client.get('get_state')).toMatchObject({
        isStreaming: true,
        queuedMessageCount: 4,
        pendingMessageCount: 4,
      });
      go(cwd);
      await client.quiet();
      expect(userTexts(client.lines)).toEqual(['begin', 'A', 'B', 'X', 'Y']);
      expect(client.types.filter((type) => type === 'agent_end')).toHaveLength(1);
      expect(client.types.filter((type) => type === 'turn_start')).toHaveLength(5);
    });

    it('share a turn in mode all', async () => {
      const { client, cwd } = await openFixture([waiting, short, short]);
      await client.ask('set_steering_mode', { mode: 'all' });
      await client.ask('set_follow_up_mode', { mode: 'all' });
      client.send({ type: 'prompt', message: 'begin' });
      await client.waitFor(({ type }) => type === 'tool_execution_start');
      for (const message of ['A', 'B']) await client.ask('steer', { message });
      for (const message of ['X', 'Y']) await client.ask('follow_up', { message });
      go(cwd);
      await client.quiet();
      expect(userTexts(client.lines)).toEqual(['begin', 'A', 'B', 'X', 'Y']);
      expect(client.types.filter((type) => type === 'turn_start')).toHaveLength(3);
    });

    it('wait for the next prompt when nothing runs', async () => {
      const { client } = await openFixture([short, short]);
      await client.ask('steer', { message: 'also this' });
      expect(client.types).toEqual(['response']);
      await client.run('begin');
      expect(userTexts(client.lines)).toEqual(['begin', 'also this']);
    });

    it('can be removed from the queue', async () => {
      const { client } = await openFixture([short]);
      await client.ask('steer', { message: 'A' });
      await client.ask('follow_up', { message: 'X' });
      expect(await client.get('clear_queue')).toEqual({ steering: ['A'], followUp: ['X'] });
      await client.run('begin');
      expect(userTexts(client.lines)).toEqual(['begin']);
    });

    it('skip the remaining calls of a turn in mode immediate', async () => {
      const { client, cwd } = await openFixture([{ parts: [bash(UNTIL_GO), bash('echo never')] }, short]);
      await client.ask('set_interrupt_mode', { mode: 'immediate' });
      client.send({ type: 'prompt', message: 'begin' });
      await client.waitFor(({ type }) => type === 'tool_execution_start');
      await client.ask('steer', { message: 'stop that' });
      go(cwd);
      await client.quiet();
      const ends = client.lines.filter(({ type }) => type === 'tool_execution_end');
      expect(ends.map(({ isError }) => isError)).toEqual([false, true]);
      expect(ends.at(-1)?.result).toEqual({
        content: [{ type: 'text', text: 'Skipped due to queued user message.' }],
        details: {},
      });
    });

    it('without streamingBehavior are refused, and not acknowledged', async () => {
      const { client } = await openFixture([{ parts: [{ text: 'never done' }], fault: { kind: 'stall' } }]);
      client.send({ id: 'p', type: 'prompt', message: 'begin' });
      await client.waitFor(({ type }) => type === 'message_update');
      client.send({ id: 'b', type: 'prompt', message: 'me too' });
      await client.waitFor(({ id, success }) => id === 'b' && success === false);
      await client.get('get_state');
      expect(client.lines.filter(({ id }) => id === 'b')).toEqual([
        {
          id: 'b',
          type: 'response',
          command: 'prompt',
          success: false,
          error:
            'Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.',
        },
      ]);
    });
  });

  describe('an abort', () => {
    const endless = { parts: [{ text: 'word '.repeat(2000) }], pace: { chunkSize: 5, delayMs: 10 } };

    it('during an answer keeps the partial text, and is answered after the end of the run', async () => {
      const { client } = await openFixture([endless]);
      client.send({ type: 'prompt', message: 'write' });
      await client.waitFor(
        ({ assistantMessageEvent }) => objectOf(assistantMessageEvent).type === 'text_delta',
      );
      const from = client.lines.length;
      await client.ask('abort');
      const after = client.lines.slice(from).filter(({ type }) => type !== 'message_update');
      expect(gist(after)).toEqual([
        'message_end assistant aborted',
        'turn_end 0',
        'agent_end user assistant',
        'agent_settled',
        'abort ok',
      ]);
      const { content, errorMessage } = objectOf(after[0]?.message);
      expect(errorMessage).toBe('Request was aborted');
      expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/^word /) as unknown }]);
    });

    it('during a tool call ends it, and adds an aborted answer', async () => {
      const { client } = await openFixture([{ parts: [bash('sleep 30')] }]);
      client.send({ type: 'prompt', message: 'wait' });
      await client.waitFor(({ type }) => type === 'tool_execution_start');
      const from = client.lines.length;
      await client.ask('abort');
      expect(
        gist(client.lines.slice(from)).filter((line) => !line.startsWith('tool_execution_update')),
      ).toEqual([
        'tool_execution_end bash failed',
        'message_start toolResult',
        'message_end toolResult',
        'turn_end 1',
        'turn_start',
        'message_start assistant stop',
        'message_end assistant aborted',
        'turn_end 0',
        'agent_end user assistant toolResult assistant',
        'agent_settled',
        'abort ok',
      ]);
    });

    it('is answered at once when nothing runs', async () => {
      const { client } = await openFixture([]);
      expect(await client.ask('abort')).toEqual({
        id: 'q1',
        type: 'response',
        command: 'abort',
        success: true,
      });
    });

    it('directly after a prompt ends that prompt', async () => {
      const { client } = await openFixture([endless]);
      client.write('{"type":"prompt","message":"go"}\n{"id":"a","type":"abort"}\n');
      await client.waitFor(({ id }) => id === 'a');
      expect(gist(client.lines).slice(-3)).toEqual(['agent_end user assistant', 'agent_settled', 'abort ok']);
    });

    it('with a prompt is answered between the two runs', async () => {
      const { client } = await openFixture([endless, { parts: [{ text: 'new' }] }]);
      client.send({ type: 'prompt', message: 'write' });
      await client.waitFor(({ type }) => type === 'message_update');
      const from = client.lines.length;
      client.send({ id: 'n', type: 'abort_and_prompt', message: 'rather this' });
      await client.waitFor(({ type, aborted }) => type === 'agent_settled' && aborted === false, from);
      const order = gist(client.lines.slice(from)).filter((line) => /^(?:agent|abort)/.test(line));
      expect(order).toEqual([
        'agent_end user assistant',
        'agent_settled',
        'abort_and_prompt ok',
        'agent_start',
        'agent_end user assistant',
        'agent_settled',
      ]);
    });

    it('keeps queued messages for the next run', async () => {
      const { client } = await openFixture([endless, { parts: [{ text: 'a' }] }, { parts: [{ text: 'b' }] }]);
      client.send({ type: 'prompt', message: 'write' });
      await client.waitFor(({ type }) => type === 'message_update');
      await client.ask('follow_up', { message: 'later' });
      await client.ask('abort');
      expect(await client.get('get_state')).toMatchObject({ isStreaming: false, queuedMessageCount: 1 });
      await client.run('next');
      expect(userTexts(client.lines)).toEqual(['write', 'next', 'later']);
    });
  });

  describe('a failed attempt', () => {
    const overloaded = { parts: [{ text: 'ok' }], fault: { kind: '529', times: 1 } } as const;

    it('ends its loop, and the retry starts another one', async () => {
      const { client } = await openFixture([overloaded]);
      const lines = await client.run('hi');
      expect(gist(lines)).toEqual([
        ...BEGUN,
        ...FAILED,
        'agent_end user assistant',
        'auto_retry_start',
        'agent_start',
        'turn_start',
        ...ANSWER,
        'auto_retry_end',
        'turn_end 0',
        'agent_end assistant',
        'agent_settled',
      ]);
      const start = one(lines, 'auto_retry_start');
      expect(start).toEqual({
        type: 'auto_retry_start',
        attempt: 1,
        maxAttempts: 3,
        delayMs: start.delayMs,
        errorMessage: start.errorMessage,
      });
      expect(one(lines, 'auto_retry_end')).toEqual({ type: 'auto_retry_end', success: true, attempt: 1 });
    });

    it.each([
      ['before an answer', overloaded],
      ['in the middle of one', { parts: [{ text: 'a few words' }], fault: { kind: 'cut', times: 1 } }],
    ] as const)(
      '%s is not retried, and emits no retry events, with set_auto_retry false',
      async (_, answer) => {
        const { client } = await openFixture([answer, answer]);
        await client.ask('set_auto_retry', { enabled: false });
        const lines = await client.run('hi');
        expect(lines.map(({ type }) => type).filter((type) => type.startsWith('auto_retry'))).toEqual([]);
        expect(one(lines, 'agent_end').messages).toMatchObject([{ role: 'user' }, { stopReason: 'error' }]);
        expect(lines.at(-1)).toEqual({ type: 'agent_settled', aborted: false });
      },
    );

    it('during an answer continues with a request that no person wrote', async () => {
      const cut = {
        parts: [{ text: 'a few' }, { text: 'words' }],
        fault: { kind: 'cut', times: 1 },
      } as const;
      const { client } = await openFixture([cut, { parts: [{ text: 'more' }] }]);
      const lines = await client.run('hi');
      expect(lines.filter(({ type }) => type === 'auto_retry_end')).toHaveLength(1);
      expect(userTexts(lines)).toEqual(['hi']);
      expect(await client.get('get_session_stats')).toMatchObject({ userMessages: 1 });
      expect((await client.get('get_branch_messages')).messages).toMatchObject([{ text: 'hi' }]);
    });

    it('is not retried after abort_retry', async () => {
      const fault = { kind: '429', retryAfterSeconds: 20 } as const;
      const { client } = await openFixture([{ parts: [], fault }]);
      client.send({ type: 'prompt', message: 'hi' });
      await client.waitFor(({ type }) => type === 'auto_retry_start');
      expect(await client.get('get_state')).toMatchObject({ isStreaming: true });
      const from = client.lines.length;
      await client.ask('abort_retry');
      await client.quiet(from);
      expect(client.lines.slice(from).filter(({ type }) => type !== 'response')).toEqual([
        { type: 'auto_retry_end', success: false, attempt: 1, finalError: 'Retry cancelled' },
        { type: 'agent_settled', aborted: false },
      ]);
    });

    it('that is the last one is reported with its reason', async () => {
      const { client } = await openFixture(() => ({
        parts: [],
        fault: { kind: '529', retryAfterSeconds: 0 },
      }));
      const lines = await client.run('hi');
      const starts = lines.filter(({ type }) => type === 'auto_retry_start');
      expect(starts.map(({ attempt, maxAttempts }) => [attempt, maxAttempts])).toEqual([
        [1, 3],
        [2, 3],
        [3, 3],
      ]);
      const end = one(lines, 'auto_retry_end');
      expect(end).toEqual({
        type: 'auto_retry_end',
        success: false,
        attempt: 3,
        finalError: starts[2]?.errorMessage,
      });
      expect(gist(lines).slice(-7)).toEqual(
        [
          'agent_start',
          'turn_start',
          ...FAILED,
          'agent_end assistant',
          'auto_retry_end',
          'agent_settled',
        ].slice(-7),
      );
      expect((await client.get('get_messages')).messages).toMatchObject([
        { role: 'user' },
        { role: 'assistant', stopReason: 'error', errorMessage: end.finalError },
      ]);
    });

    it('can be aborted during the delay before the retry', async () => {
      const fault = { kind: '429', retryAfterSeconds: 20 } as const;
      const { client } = await openFixture([{ parts: [], fault }]);
      client.send({ type: 'prompt', message: 'hi' });
      await client.waitFor(({ type }) => type === 'auto_retry_start');
      const from = client.lines.length;
      await client.ask('abort');
      expect(gist(client.lines.slice(from))).toEqual(['auto_retry_end', 'agent_settled', 'abort ok']);
      expect(await client.get('get_state')).toMatchObject({ isStreaming: false });
    });

    it('is not retried when auto retry is off', async () => {
      const { client } = await openFixture([overloaded]);
      await client.ask('set_auto_retry', { enabled: false });
      const lines = await client.run('hi');
      expect(lines.filter(({ type }) => type === 'agent_start')).toHaveLength(1);
    });
  });

  describe('a full context', () => {
    it('is compacted, with events', async () => {
      const long = 'x'.repeat(4000);
      const { client } = await openFixture([
        { parts: [{ text: long }], usage: { inputTokens: 95_000, outputTokens: 10 } },
        { parts: [{ text: 'a summary' }] },
        { parts: [{ text: 'ok' }] },
      ]);
      await client.run(`first ${'y'.repeat(120_000)}`);
      const lines = await client.run('second');
      expect(one(lines, 'auto_compaction_start')).toEqual({
        type: 'auto_compaction_start',
        reason: 'threshold',
        action: 'context-full',
      });
      const end = one(lines, 'auto_compaction_end');
      expect(end).toEqual({
        type: 'auto_compaction_end',
        action: 'context-full',
        result: {
          summary: 'a summary',
          firstKeptEntryId: expect.any(String) as unknown,
          tokensBefore: expect.any(Number) as unknown,
          preserveData: {},
        },
        aborted: false,
        willRetry: false,
      });
      const { messages } = await client.get('get_messages');
      expect((messages as Line[])[0]).toMatchObject({ role: 'compactionSummary', summary: 'a summary' });
    });

    const LONG = `first ${'y'.repeat(120_000)}`;
    const TOO_LONG = { parts: [], fault: { kind: 'context-too-long' } } as const;
    const OK = { parts: [{ text: 'ok' }] };

    it('that the provider refuses is compacted, and the request is repeated', async () => {
      const { client } = await openFixture([OK, TOO_LONG, { parts: [{ text: 'a summary' }] }, OK]);
      await client.run(LONG);
      const lines = await client.run('second');
      expect(gist(lines)).toEqual([
        ...BEGUN,
        ...FAILED,
        'agent_end user assistant',
        'auto_compaction_start',
        'auto_compaction_end',
        'agent_start',
        'turn_start',
        ...ANSWER,
        'turn_end 0',
        'agent_end assistant',
        'agent_settled',
      ]);
      expect(one(lines, 'auto_compaction_start')).toMatchObject({
        reason: 'overflow',
        action: 'context-full',
      });
      expect(one(lines, 'auto_compaction_end')).toMatchObject({
        result: { summary: 'a summary' },
        aborted: false,
        willRetry: true,
      });
    });

    it('that cannot be compacted ends the run, with the reason', async () => {
      const { client } = await openFixture([OK, TOO_LONG, { parts: [], fault: { kind: '401' } }]);
      await client.run(LONG);
      const lines = await client.run('second');
      const end = one(lines, 'auto_compaction_end');
      expect(end).toEqual({
        type: 'auto_compaction_end',
        action: 'context-full',
        aborted: false,
        willRetry: false,
        errorMessage: expect.stringMatching(/^Context overflow recovery failed: ./) as unknown,
      });
      expect(gist(lines).at(-1)).toBe('agent_settled');
    });

    it('with nothing to summarise is reported as skipped', async () => {
      const { client } = await openFixture([TOO_LONG]);
      const end = one(await client.run('short'), 'auto_compaction_end');
      expect(end).toEqual({
        type: 'auto_compaction_end',
        action: 'context-full',
        aborted: false,
        willRetry: false,
        skipped: true,
      });
    });
  });

  describe('a tool', () => {
    it.each([
      [{ name: 'no_such_tool', arguments: {} }, /^Tool no_such_tool not found/],
      [
        { name: 'bash', arguments: { command: 7 } },
        /^Validation failed for tool "bash":\n {2}- command: [^\n]+\n\nReceived arguments:\n\{\n {2}"command": 7\n\}$/,
      ],
    ])('that cannot be called returns an error to the model: %j', async (toolCall, text) => {
      const { client } = await openFixture([{ parts: [{ toolCall }] }, { parts: [{ text: 'ok' }] }]);
      const end = one(await client.run('go'), 'tool_execution_end');
      expect(end).toMatchObject({ isError: true, result: { details: {} } });
      const [part] = objectOf(end.result).content as { text: string }[];
      expect(part?.text).toMatch(text);
    });

    it('is not interrupted by steering in mode wait', async () => {
      const { client, cwd } = await openFixture([
        { parts: [bash(UNTIL_GO), bash('echo both')] },
        { parts: [{ text: 'ok' }] },
      ]);
      client.send({ type: 'prompt', message: 'begin' });
      await client.waitFor(({ type }) => type === 'tool_execution_start');
      await client.ask('steer', { message: 'then that' });
      go(cwd);
      await client.quiet();
      const ends = client.lines.filter(({ type }) => type === 'tool_execution_end');
      expect(ends.map(({ isError }) => isError)).toEqual([false, false]);
      expect(userTexts(client.lines)).toEqual(['begin', 'then that']);
    });
  });
});

function one(lines: readonly Line[], type: string): Line {
  const found = lines.filter((line) => line.type === type);
  expect(found).toHaveLength(1);
  return found[0] as Line;
}

function updates(lines: readonly Line[]) {
  return lines
    .filter(({ type }) => type === 'message_update')
    .map((line) => objectOf(line.assistantMessageEvent));
}

/** The texts of the user messages, in order. */
function userTexts(lines: readonly Line[]): readonly string[] {
  return lines
    .filter(({ type, message }) => type === 'message_end' && objectOf(message).role === 'user')
    .map(({ message }) => (objectOf(message).content as { text: string }[]).map(({ text }) => text).join(''));
}
