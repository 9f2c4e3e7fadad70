import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { objectOf, stringOf } from '../../../src/base/index.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import type { Client, Line } from './client.ts';
import type { RpcFixture } from './fixture.ts';
import { describeOnEach } from './each-connection.ts';

const SHORT = { parts: [{ text: 'ok' }] };
const STALLED: SimAnswer = {
  parts: [{ text: 'a few words, and then nothing more' }],
  fault: { kind: 'stall' },
};

/** The model of the fixture, as clients receive it. */
const modelOf = ({ baseUrl }: RpcFixture) => ({
  id: 'sim',
  name: 'Sim',
  api: 'anthropic-messages',
  provider: 'sim',
  baseUrl,
  reasoning: true,
  thinking: { mode: 'budget', minLevel: 'minimal', maxLevel: 'xhigh' },
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 100_000,
  maxTokens: 16_384,
});

describeOnEach((openFixture) => {
  describe('get_state', () => {
    it('has the documented keys and defaults', async () => {
      const fixture = await openFixture([]);
      const { client } = fixture;
      const state = await client.get('get_state');
      expect(state).toEqual({
        model: modelOf(fixture),
        thinkingLevel: 'off',
        isStreaming: false,
        isCompacting: false,
        steeringMode: 'one-at-a-time',
        followUpMode: 'one-at-a-time',
        interruptMode: 'wait',
        sessionFile: state.sessionFile,
        sessionId: state.sessionId,
        autoCompactionEnabled: true,
        messageCount: 0,
        queuedMessageCount: 0,
        pendingMessageCount: 0,
        todoPhases: [],
        systemPrompt: expect.stringMatching(/./) as unknown,
        dumpTools: expect.any(Array) as unknown,
      });
      expect(existsSync(String(state.sessionFile))).toBe(false);
    });

    it('contains the system prompt and tools of the model', async () => {
      const asked: { readonly system: unknown; readonly names: readonly string[] }[] = [];
      const { client } = await openFixture(({ body, tools }) => {
        asked.push({ system: JSON.stringify(body), names: tools.map(({ name }) => name) });
        return SHORT;
      });
      const parameters = { type: 'object', properties: { message: { type: 'string' } } };
      const tools = [{ name: 'echo_host', description: 'Echoes.', parameters }];
      await client.ask('set_host_tools', { tools });
      const { systemPrompt, dumpTools } = await client.get('get_state');
      await client.run('hi');
      const [first] = asked;
      expect(first?.system).toContain(JSON.stringify(systemPrompt).slice(1, -1));
      const names = (dumpTools as { name: string }[]).map(({ name }) => name);
      expect(names.toSorted()).toEqual(first?.names.toSorted());
      expect(dumpTools).toContainEqual(tools[0]);
    });

    it('reflects changed settings', async () => {
      const { client } = await openFixture([]);
      await client.ask('set_steering_mode', { mode: 'all' });
      await client.ask('set_follow_up_mode', { mode: 'all' });
      await client.ask('set_interrupt_mode', { mode: 'immediate' });
      await client.ask('set_auto_compaction', { enabled: false });
      await client.ask('set_session_name', { name: '  my\tsession \n here ' });
      await client.ask('set_thinking_level', { level: 'high' });
      expect(await client.get('get_state')).toMatchObject({
        steeringMode: 'all',
        followUpMode: 'all',
        interruptMode: 'immediate',
        autoCompactionEnabled: false,
        sessionName: 'my session here',
        thinkingLevel: 'high',
      });
    });

    it('has no session file in memory', async () => {
      const { client } = await openFixture([]);
      const held = await openFixture([], { inMemory: true });
      expect(await client.get('get_state')).toHaveProperty('sessionFile');
      expect(await held.client.get('get_state')).not.toHaveProperty('sessionFile');
      expect(await held.client.get('get_session_stats')).not.toHaveProperty('sessionFile');
      expect(await held.client.ask('export_html')).toMatchObject({
        success: false,
        error: 'Cannot export in-memory session to HTML',
      });
    });

    it('reports isStreaming from the acknowledgement on, and does not count the message in progress', async () => {
      const { client } = await openFixture([STALLED]);
      client.write('{"type":"prompt","message":"write"}\n{"id":"s","type":"get_state"}\n');
      expect(await client.waitFor(({ id }) => id === 's')).toMatchObject({ data: { isStreaming: true } });
      await client.waitFor(({ type }) => type === 'message_update');
      expect(await client.get('get_state')).toMatchObject({ isStreaming: true, messageCount: 1 });
    });
  });

  describe('models', () => {
    it('are listed, set and cycled as complete objects', async () => {
      const fixture = await openFixture([]);
      const { client } = fixture;
      const model = modelOf(fixture);
      const { thinking: _, ...plain } = model;
      const other = { ...plain, id: 'other', name: 'Other', reasoning: false };
      expect(await client.get('get_available_models')).toEqual({ models: [model, other] });
      expect(await client.get('set_model', { provider: 'sim', modelId: 'other' })).toEqual(other);
      expect(await client.get('get_state')).toMatchObject({ model: other });
      expect(await client.get('cycle_model')).toEqual({
        model,
        thinkingLevel: 'off',
        isScoped: false,
      });
    });

    it('that do not exist are refused with the id', async () => {
      const { client } = await openFixture([]);
      expect(await client.ask('set_model', { provider: 'x', modelId: 'y' })).toEqual({
        id: 'q1',
        type: 'response',
        command: 'set_model',
        success: false,
        error: 'Model not found: x/y',
      });
    });

    it('cannot be cycled if there is only one', async () => {
      const { client } = await openFixture([], { hasOneModel: true });
      expect(await client.ask('cycle_model')).toMatchObject({ success: true, data: null });
    });

    it('use the chosen thinking level, or none', async () => {
      const { client } = await openFixture([]);
      const levels = [];
      for (let count = 0; count < 6; count += 1) levels.push(await client.get('cycle_thinking_level'));
      expect(levels.map(({ level }) => level)).toEqual(['minimal', 'low', 'medium', 'high', 'xhigh', 'off']);
      await client.ask('set_thinking_level', { level: 'low' });
      expect(await client.get('get_available_thinking_levels')).toEqual({
        levels: ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      });
      await client.ask('set_model', { provider: 'sim', modelId: 'other' });
      expect(await client.ask('cycle_thinking_level')).toMatchObject({ success: true, data: null });
      expect(await client.get('get_state')).not.toHaveProperty('thinkingLevel');
      expect(await client.ask('set_thinking_level', { level: 'nonsense' })).toMatchObject({ success: true });
    });
  });

  describe('the conversation', () => {
    it('is stored as messages', async () => {
      const { client } = await openFixture([{ parts: [{ text: ' Hello ' }] }]);
      expect(await client.ask('get_last_assistant_text')).toMatchObject({ success: true, data: {} });
      await client.run('hi');
      const { messages } = await client.get('get_messages');
      expect((messages as Line[]).map(({ role }) => role)).toEqual(['user', 'assistant']);
      expect(await client.get('get_last_assistant_text')).toEqual({ text: 'Hello' });
      expect(await client.get('get_state')).toMatchObject({ messageCount: 2 });
    });

    it('has statistics', async () => {
      const call = { toolCall: { name: 'bash', arguments: { command: 'true' } } };
      const usage = { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 40 };
      const { client } = await openFixture([
        { parts: [call], usage },
        { ...SHORT, usage },
      ]);
      await client.run('go');
      const stats = await client.get('get_session_stats');
      expect(stats).toEqual({
        sessionFile: stats.sessionFile,
        sessionId: stats.sessionId,
        userMessages: 1,
        assistantMessages: 2,
        toolCalls: 1,
        toolResults: 1,
        totalMessages: 4,
        tokens: { input: 120, output: 14, cacheRead: 80, cacheWrite: 0, total: 214 },
        cost: 0,
        premiumRequests: 0,
        contextUsage: { tokens: 107, contextWindow: 100_000, percent: 0.1 },
      });
    });

    it('is available as entries and as a tree', async () => {
      const { client } = await openFixture([SHORT]);
      await client.run('hi');
      const { entries, leafId } = await client.get('get_entries');
      const ids = (entries as Line[]).map(({ id }) => id);
      expect(ids.at(-1)).toBe(leafId);
      const { entries: later } = await client.get('get_entries', { since: ids.at(-2) });
      expect((later as Line[]).map(({ id }) => id)).toEqual([leafId]);
      expect(await client.ask('get_entries', { since: 'nope' })).toMatchObject({
        error: 'Entry not found: nope',
      });
      const { tree } = await client.get('get_tree');
      expect((tree as { entry: Line }[])[0]?.entry.id).toBe(ids[0]);
    });

    it('contains the partial text of an aborted answer, in the file too, and the model receives it', async () => {
      const bodies: string[] = [];
      const { client } = await openFixture(({ body }) => {
        bodies.push(JSON.stringify(body));
        return bodies.length === 1
          ? {
              parts: [{ thinking: 'hm' }, { text: 'word '.repeat(500) }],
              fault: { kind: 'stall', after: 4 },
              pace: { chunkSize: 5, delayMs: 10 },
            }
          : SHORT;
      });
      client.send({ type: 'prompt', message: 'write' });
      await client.waitFor(
        ({ assistantMessageEvent }) => objectOf(assistantMessageEvent).type === 'text_delta',
      );
      await client.ask('abort');
      const ended = objectOf(client.lines.findLast(({ type }) => type === 'message_end')?.message);
      const { messages } = await client.get('get_messages');
      const [, broken] = messages as Line[];
      expect(broken).toEqual({ ...ended, timestamp: broken?.timestamp });
      expect(broken).toMatchObject({
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: expect.stringMatching(/^word /) as unknown },
        ],
        stopReason: 'aborted',
        errorMessage: 'Request was aborted',
      });
      const { text } = await client.get('get_last_assistant_text');
      expect(text).toMatch(/^word\b/);
      const { sessionFile } = await client.get('get_state');
      expect(readFileSync(String(sessionFile), 'utf8')).toContain('"stopReason":"aborted"');
      await client.run('again');
      expect(bodies[1]).toContain('"text":"word ');
      expect(bodies[1]).toContain('[Request interrupted by user]\\n\\nagain');
      expect(bodies[1]).not.toContain('hm');
      // As another program would read it.
      await client.get('new_session');
      await client.get('switch_session', { sessionPath: sessionFile });
      expect((await client.get('get_messages')).messages).toMatchObject([
        { role: 'user' },
        { stopReason: 'aborted', content: broken?.content },
        { role: 'user' },
        { stopReason: 'stop' },
      ]);
    });

    it('has no text if the answer was aborted before its first text', async () => {
      const { client } = await openFixture([{ parts: [], fault: { kind: 'no-response' } }]);
      client.send({ type: 'prompt', message: 'write' });
      await client.waitFor(({ type }) => type === 'agent_start');
      await client.ask('abort');
      expect(await client.get('get_last_assistant_text')).toEqual({});
      expect(await rolesOf(client)).toEqual(['user', 'assistant']);
    });

    it('is not compacted if it is small', async () => {
      const { client } = await openFixture([SHORT]);
      expect(await client.ask('compact')).toMatchObject({
        success: false,
        error: 'Nothing to compact (session too small)',
      });
    });

    it('is compacted after one exchange', async () => {
      const asked: (readonly string[])[] = [];
      const { client } = await openFixture(({ messages }) => {
        asked.push(messages.map(({ text }) => text));
        return { parts: [{ text: asked.length === 2 ? 'a summary' : 'ok' }] };
      });
      await client.run('hi');
      const result = await client.get('compact');
      expect(result).toEqual({
        summary: 'a summary',
        firstKeptEntryId: expect.any(String) as unknown,
        tokensBefore: expect.any(Number) as unknown,
        preserveData: {},
      });
      expect(result.tokensBefore).toBeGreaterThan(0);
      expect(await rolesOf(client)).toEqual(['compactionSummary']);
      await client.ask('set_thinking_level', { level: 'low' });
      expect(await client.ask('compact')).toMatchObject({ success: false, error: 'Already compacted' });
      await client.run('and now');
      expect(asked[2]?.join()).toContain('a summary');
      expect(asked[2]?.join()).not.toContain('hi,');
      expect(await client.get('compact')).toMatchObject({ summary: 'ok' });
      const { sessionFile } = await client.get('get_state');
      const entries = readFileSync(String(sessionFile), 'utf8').split('"type":"compaction"').length - 1;
      expect(entries).toBe(2);
    });

    it('is compacted on demand, without events', async () => {
      const { client } = await openFixture([SHORT, { parts: [{ text: 'a summary' }] }]);
      await client.run(`remember ${'y'.repeat(120_000)}`);
      const from = client.lines.length;
      expect(await client.get('compact', { customInstructions: 'be short' })).toEqual({
        summary: 'a summary',
        firstKeptEntryId: expect.any(String) as unknown,
        tokensBefore: expect.any(Number) as unknown,
        preserveData: {},
      });
      expect(client.lines.slice(from).map(({ type }) => type)).toEqual(['response']);
      expect(await rolesOf(client)).toEqual(['compactionSummary', 'assistant']);
      expect(await client.ask('compact')).toMatchObject({ success: false, error: 'Already compacted' });
    });
  });

  describe('a session name', () => {
    it('must not be empty', async () => {
      const { client } = await openFixture([]);
      expect(await client.ask('set_session_name', { name: ' \t ' })).toEqual({
        id: 'q1',
        type: 'response',
        command: 'set_session_name',
        success: false,
        error: 'Session name cannot be empty',
      });
    });
  });

  describe('bash', () => {
    it('returns the output, whatever the exit code', async () => {
      const { client } = await openFixture([]);
      expect(await client.get('bash', { command: 'echo one; echo two; exit 3' })).toEqual({
        output: 'one\ntwo\n',
        exitCode: 3,
        cancelled: false,
        truncated: false,
        totalLines: 3,
        totalBytes: 8,
        outputLines: 3,
        outputBytes: 8,
      });
      const { messages } = await client.get('get_messages');
      expect(messages).toEqual([
        {
          role: 'bashExecution',
          command: 'echo one; echo two; exit 3',
          output: 'one\ntwo\n',
          exitCode: 3,
          cancelled: false,
          truncated: false,
          timestamp: expect.any(Number) as unknown,
        },
      ]);
      expect(client.types.filter((type) => type.startsWith('message'))).toEqual([]);
    });

    it('without output has no lines', async () => {
      const { client } = await openFixture([]);
      expect(await client.get('bash', { command: 'true' })).toEqual({
        output: '',
        exitCode: 0,
        cancelled: false,
        truncated: false,
        totalLines: 0,
        totalBytes: 0,
        outputLines: 0,
        outputBytes: 0,
      });
    });

    it('with a long output returns its end, and a file with all of it', async () => {
      const { client } = await openFixture([]);
      const result = await client.get('bash', { command: 'seq 1 60000' });
      expect(result).toMatchObject({ exitCode: 0, truncated: true, totalLines: 60_001, totalBytes: 348_894 });
      const output = stringOf(result.output);
      expect(output.endsWith('\n59999\n60000\n')).toBe(true);
      expect(output).toMatch(/^\d{5}\n/);
      expect(Buffer.byteLength(output)).toBe(result.outputBytes);
      expect(result.outputBytes).toBeGreaterThan(51_000);
      expect(result.outputBytes).toBeLessThanOrEqual(51_200);
      expect(readFileSync(stringOf(result.fullOutputPath), 'utf8')).toHaveLength(348_894);
    });

    it('is sent to the model with the next prompt, unless it is excluded', async () => {
      const bodies: string[] = [];
      const { client } = await openFixture(({ body }) => {
        bodies.push(JSON.stringify(body));
        return SHORT;
      });
      await client.get('bash', { command: 'echo seen; exit 4' });
      await client.get('bash', { command: 'echo unseen', excludeFromContext: true });
      await client.run('go');
      expect(bodies[0]).toContain(
        'Ran `echo seen; exit 4`\\n```\\nseen\\n```\\n\\nCommand exited with code 4',
      );
      expect(bodies[0]).not.toContain('unseen');
    });

    it('during a run is added after it', async () => {
      const { client } = await openFixture([STALLED, SHORT]);
      client.send({ type: 'prompt', message: 'write' });
      await client.waitFor(({ type }) => type === 'message_update');
      expect(await client.get('bash', { command: 'echo beside' })).toMatchObject({ output: 'beside\n' });
      expect(await rolesOf(client)).toEqual(['user']);
      await client.ask('abort');
      await client.run('next');
      expect(await rolesOf(client)).toEqual(['user', 'assistant', 'bashExecution', 'user', 'assistant']);
    });

    it('can be aborted while it runs', async () => {
      const { client } = await openFixture([]);
      client.write(
        '{"id":"b","type":"bash","command":"echo begun; sleep 60"}\n{"id":"a","type":"abort_bash"}\n',
      );
      const end = await client.waitFor(({ id }) => id === 'b');
      expect(end).toMatchObject({ success: true, data: { cancelled: true, truncated: false } });
      expect(end.data).not.toHaveProperty('exitCode');
      expect((end.data as { output: string }).output).toMatch(/^\[Command cancelled\]\n/);
      expect(await client.waitFor(({ id }) => id === 'a')).toMatchObject({ success: true });
    });

    it('can be aborted when none runs', async () => {
      const { client } = await openFixture([]);
      expect(await client.ask('abort_bash')).toMatchObject({ success: true });
    });
  });

  describe('sessions', () => {
    it('are created with the current settings', async () => {
      const { client } = await openFixture([SHORT, SHORT]);
      await client.ask('set_steering_mode', { mode: 'all' });
      await client.ask('set_session_name', { name: 'old' });
      await client.run('hi');
      const before = await client.get('get_state');
      expect(await client.get('new_session', { parentSession: '/some/where.jsonl' })).toEqual({
        cancelled: false,
      });
      const after = await client.get('get_state');
      expect(after).toMatchObject({ messageCount: 0, steeringMode: 'all' });
      expect(after).not.toHaveProperty('sessionName');
      expect(after.sessionId).not.toBe(before.sessionId);
      // Nothing is written for an unused session.
      expect(existsSync(String(after.sessionFile))).toBe(false);
      await client.run('here');
      const [header] = readFileSync(String(after.sessionFile), 'utf8').split('\n');
      expect(JSON.parse(header ?? '')).toMatchObject({ type: 'session', parentSession: '/some/where.jsonl' });
    });

    it('are switched by their file', async () => {
      const { client } = await openFixture([SHORT, { parts: [{ text: 'there' }] }]);
      await client.run('hi');
      const first = await client.get('get_state');
      await client.get('new_session');
      await client.run('elsewhere');
      expect(await client.get('switch_session', { sessionPath: first.sessionFile })).toEqual({
        cancelled: false,
      });
      expect(await client.get('get_state')).toMatchObject({ sessionId: first.sessionId, messageCount: 2 });
      expect(await client.get('get_last_assistant_text')).toEqual({ text: 'ok' });
    });

    it('are created for a missing file, and never overwrite another program’s file', async () => {
      const { client, cwd } = await openFixture([SHORT]);
      const path = join(cwd, 'new.jsonl');
      expect(await client.get('switch_session', { sessionPath: path })).toEqual({ cancelled: false });
      await client.run('hi');
      expect(readFileSync(path, 'utf8')).toContain('"type":"session"');
      const foreign = join(cwd, 'notes.txt');
      writeFileSync(foreign, 'my notes\n');
      expect(await client.ask('switch_session', { sessionPath: foreign })).toMatchObject({
        id: 'q2',
        success: false,
      });
      expect(readFileSync(foreign, 'utf8')).toBe('my notes\n');
      expect(await client.get('get_state')).toMatchObject({ sessionFile: path });
    });

    it('end the current run, with its end events', async () => {
      const { client } = await openFixture([STALLED]);
      client.send({ type: 'prompt', message: 'write' });
      await client.waitFor(({ type }) => type === 'message_update');
      await client.get('new_session');
      expect(client.types.filter((type) => type === 'agent_end')).toHaveLength(1);
      expect(client.types.indexOf('agent_end')).toBeLessThan(client.types.lastIndexOf('response'));
    });

    it.each([
      ['branch', 'get_branch_messages', 'Invalid entry ID for branching'],
      ['fork', 'get_fork_messages', 'Invalid entry ID for forking'],
    ])('%s before a message', async (command, list, refusal) => {
      const { client } = await openFixture([SHORT, SHORT]);
      await client.run('one');
      await client.run('two');
      const before = await client.get('get_state');
      const { messages } = await client.get(list);
      expect((messages as { text: string }[]).map(({ text }) => text)).toEqual(['one', 'two']);
      const [, second] = messages as { entryId: string }[];
      expect(await client.get(command, { entryId: second?.entryId })).toEqual({
        text: 'two',
        cancelled: false,
      });
      const after = await client.get('get_state');
      expect(after).toMatchObject({ messageCount: 2 });
      expect(after.sessionId).not.toBe(before.sessionId);
      expect(await client.ask(command, { entryId: 'nope' })).toMatchObject({
        success: false,
        error: refusal,
      });
    });

    it('are cloned', async () => {
      const { client } = await openFixture([SHORT]);
      expect(await client.ask('clone')).toMatchObject({
        success: false,
        error: 'Cannot clone session: no current entry selected',
      });
      await client.run('one');
      const before = await client.get('get_state');
      expect(await client.get('clone')).toEqual({ cancelled: false });
      const after = await client.get('get_state');
      expect(after).toMatchObject({ messageCount: 2 });
      expect(after.sessionId).not.toBe(before.sessionId);
    });

    it('are exported as a page without active content', async () => {
      const script = '<script>alert(1)</script><img src=x onerror=alert(2)>';
      const call = { toolCall: { name: 'bash', arguments: { command: `echo '${script}'` } } };
      const { client, cwd } = await openFixture([
        { parts: [{ thinking: script }, call] },
        { parts: [{ text: script }] },
      ]);
      await client.ask('set_session_name', { name: `"><script>title()</script>` });
      await client.run(script);
      const path = join(cwd, 'page.html');
      expect(await client.get('export_html', { outputPath: path })).toEqual({ path });
      const page = readFileSync(path, 'utf8');
      expect(page).not.toMatch(/<script|<img src=x|onerror=alert\(2\)>/);
      expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
      expect(page).toContain('<details>');
      expect((await client.get('export_html')).path).toMatch(/^polypod-session-.*\.html$/);
    });
  });

  describe('todos', () => {
    const phases = [
      {
        id: 'phase-1',
        name: 'Evaluation',
        tasks: [
          {
            id: 'task-1',
            content: 'Map the read tool surface',
            status: 'in_progress',
            details: 'gone',
            notes: 'kept',
          },
          { id: 'task-2', content: 'Exercise edit operations', status: 'pending', unknown: true },
        ],
      },
    ];
    const kept = [
      {
        id: 'phase-1',
        name: 'Evaluation',
        tasks: [
          { id: 'task-1', content: 'Map the read tool surface', status: 'in_progress', notes: 'kept' },
          { id: 'task-2', content: 'Exercise edit operations', status: 'pending' },
        ],
      },
    ];

    it('are set and returned with their phases', async () => {
      const { client } = await openFixture([]);
      expect(await client.get('set_todos', { phases })).toEqual({ todoPhases: kept });
      expect(await client.get('get_state')).toMatchObject({ todoPhases: kept });
      expect(client.types.filter((type) => type !== 'response')).toEqual([]);
      expect(await client.ask('set_todos', { phases: 'x' })).toMatchObject({
        success: false,
        command: 'set_todos',
      });
      expect(await client.ask('set_todos', { phases: [{ id: 'p' }] })).toMatchObject({ success: false });
    });

    it('that the agent changes keep their phase and id', async () => {
      const items = [
        { content: 'Map the read tool surface', status: 'completed' },
        { content: 'Exercise edit operations', status: 'completed' },
        { content: 'Write it down', status: 'completed' },
      ];
      const { client } = await openFixture([
        { parts: [{ toolCall: { name: 'todo', arguments: { items } } }] },
        SHORT,
      ]);
      await client.ask('set_todos', { phases });
      await client.run('go');
      const { todoPhases } = await client.get('get_state');
      expect(todoPhases).toMatchObject([
        {
          id: 'phase-1',
          tasks: [
            { id: 'task-1', status: 'completed', notes: 'kept' },
            { id: 'task-2', status: 'completed' },
            { id: 'task-3', content: 'Write it down', status: 'completed' },
          ],
        },
      ]);
    });

    it('that are left open cause three reminders', async () => {
      const { client } = await openFixture([SHORT, SHORT, SHORT, SHORT]);
      await client.ask('set_todos', { phases });
      const lines = await client.run('go');
      const reminders = lines.filter(({ type }) => type === 'todo_reminder');
      expect(reminders.map(({ attempt, maxAttempts }) => [attempt, maxAttempts])).toEqual([
        [1, 3],
        [2, 3],
        [3, 3],
      ]);
      expect(reminders[0]?.todos).toEqual(
        kept[0]?.tasks.map(({ id, content, status }) => ({ id, content, status })),
      );
      expect(lines.filter(({ type }) => type === 'agent_end')).toHaveLength(4);
      expect(lines.filter(({ type }) => type === 'agent_settled')).toHaveLength(1);
      expect(lines.filter(({ message }) => (message as Line | undefined)?.role === 'user')).toHaveLength(2);
      // A reminder is not a user message, so it is not a branch point.
      const reminded = ['custom', 'assistant'];
      expect(await rolesOf(client)).toEqual(['user', 'assistant', ...reminded, ...reminded, ...reminded]);
      expect(await client.get('get_session_stats')).toMatchObject({ userMessages: 1, assistantMessages: 4 });
      const { messages } = await client.get('get_branch_messages');
      expect(messages).toEqual([{ entryId: expect.any(String) as unknown, text: 'go' }]);
      const { entries } = await client.get('get_entries');
      const reminder = (entries as Line[]).find(({ type }) => type === 'custom_message');
      expect(reminder).toMatchObject({ customType: 'todo-reminder', display: false });
      expect(await client.ask('branch', { entryId: reminder?.id })).toMatchObject({
        success: false,
        error: 'Invalid entry ID for branching',
      });
    });

    it('that are done are removed after a delay', async () => {
      const { client } = await openFixture([], { hasShortDelays: true });
      const done = [
        { id: 'phase-1', name: 'A', tasks: [{ id: 'task-1', content: 'x', status: 'completed' }] },
      ];
      await client.ask('set_todos', { phases: done });
      await client.waitFor(({ type }) => type === 'todo_auto_clear');
      expect(await client.get('get_state')).toMatchObject({ todoPhases: [] });
    });
  });

  describe('commands that exist only for compatibility', () => {
    it('return a response', async () => {
      const { client, version } = await openFixture([]);
      expect(await client.ask('set_locale', { locale: 'th' })).toMatchObject({ success: true });
      expect(await client.get('get_integrations')).toEqual({
        version,
        model: { state: 'connected', provider: 'sim' },
        services: [],
      });
      expect(await client.get('get_commands')).toEqual({ commands: [] });
    });
  });
});

async function rolesOf(client: Client): Promise<readonly unknown[]> {
  const { messages } = await client.get('get_messages');
  return (messages as Line[]).map(({ role }) => role);
}
