import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { polypod } from '../../cli/polypod.ts';
import {
  acpFixture,
  allow,
  asks,
  calls,
  describeWithAndWithoutDaemon,
  textAnswer,
  shown,
  STALLS,
} from './fixture.ts';

describeWithAndWithoutDaemon((openFixture) => {
  test('session/load replays the conversation before its answer, and session/resume replays nothing', async () => {
    const { editor, cwd } = await openFixture([
      { parts: [{ thinking: 'Hm.' }, ...calls('ls', { path: '.' }).parts] },
      textAnswer('Empty'),
      textAnswer('Still empty'),
    ]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'what is here?');
    await one.agent.request('session/close', { sessionId });
    const history = [
      'user_message: what is here?',
      'agent_thought: Hm.',
      'tool_call call_1 pending',
      'tool_call_update call_1 completed',
      'agent_message: Empty',
      'session_info_update',
    ];
    const two = await editor();
    await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    expect(shown(two.updates(sessionId))).toEqual(history);
    await two.agent.request('session/close', { sessionId });
    const three = await editor();
    const resumed = await three.agent.request('session/resume', { sessionId, cwd });
    expect(arrayOf(resumed.configOptions).map((option) => objectOf(option).id)).toEqual([
      'mode',
      'model',
      'thinking',
    ]);
    expect(shown(three.updates(sessionId))).toEqual([]);
    expect(await three.prompt(sessionId, 'and now?')).toBe('end_turn');
    expect(shown(three.updates(sessionId))).toEqual(['agent_message: Still empty']);
  });

  test('session/load shows compacted history', async () => {
    const { editor, cwd } = await openFixture((request) =>
      JSON.stringify(request).includes('ummar')
        ? textAnswer('A short summary.')
        : textAnswer('long '.repeat(3_000)),
    );
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    for (const text of ['one', 'two', 'three']) await one.prompt(sessionId, text);
    await one.prompt(sessionId, '/compact');
    await one.agent.request('session/close', { sessionId });
    const two = await editor({ capabilities: { session: { compaction: {} } } });
    await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    const lines = shown(two.updates(sessionId)).map((line) => line.slice(0, 20));
    expect(lines.filter((line) => line.startsWith('user_message'))).toEqual([
      'user_message: one',
      'user_message: two',
      'user_message: three',
    ]);
    expect(lines).toContain('compaction_update');
  });

  test('session/close cancels the prompt, and a closed session is unknown until it is loaded', async () => {
    const { editor, cwd } = await openFixture([STALLS]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const prompt = one.prompt(sessionId, 'go');
    await one.updateOf(sessionId, 'agent_message_chunk');
    expect(await one.agent.request('session/close', { sessionId })).toEqual({});
    expect(await prompt).toBe('cancelled');
    await expect(one.prompt(sessionId, 'again')).rejects.toMatchObject({ code: -32002, data: { sessionId } });
    // The SDK takes -32002 for success.
    expect(await one.agent.request('session/close', { sessionId })).toEqual({});
    await one.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  });

  test('session/delete removes a session from the list, also one that was never prompted', async () => {
    const { editor, cwd } = await openFixture([textAnswer('Hello')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'hi');
    const empty = await one.newSession(cwd);
    const { sessions } = await one.agent.request('session/list', { cwd });
    expect(sessions.map((session) => session.sessionId)).toContain(sessionId);
    for (const id of [sessionId, empty.sessionId, 'unknown'])
      expect(await one.agent.request('session/delete', { sessionId: id })).toEqual({});
    expect(await one.agent.request('session/list', { cwd })).toEqual({ sessions: [] });
    await expect(one.agent.request('session/load', { sessionId, cwd, mcpServers: [] })).rejects.toMatchObject(
      { code: -32002 },
    );
  });

  test('session/list returns pages, and filters by directory', async () => {
    const { editor, cwd } = await openFixture((request) => textAnswer(JSON.stringify(request).slice(0, 3)));
    const other = join(cwd, 'other');
    mkdirSync(other);
    const one = await editor();
    const count = 53;
    for (let n = 0; n < count; n += 1) {
      const { sessionId } = await one.newSession(cwd);
      await one.prompt(sessionId, `prompt ${n}`);
    }
    const { sessionId } = await one.newSession(other);
    await one.prompt(sessionId, 'elsewhere');
    const pages: string[][] = [];
    let cursor = '';
    do {
      const page = await one.agent.request('session/list', {
        cwd: `${cwd}/`,
        ...(cursor !== '' && { cursor }),
      });
      pages.push(page.sessions.map(({ title }) => stringOf(title)));
      cursor = page.nextCursor ?? '';
    } while (cursor !== '');
    expect(pages.map((page) => page.length)).toEqual([50, 3]);
    expect(new Set(pages.flat()).size).toBe(count);
    const { sessions } = await one.agent.request('session/list', { cwd: other });
    expect(sessions).toEqual([
      expect.objectContaining({
        sessionId,
        cwd: other,
        title: 'elsewhere',
        updatedAt: expect.any(String) as string,
      }),
    ]);
    await expect(one.agent.request('session/list', { cursor: 'x' })).rejects.toMatchObject({
      code: -32602,
      data: { field: 'cursor' },
    });
  });

  test('set_mode and set_config_option change the session, and are reported', async () => {
    const { editor, cwd } = await openFixture([textAnswer('Hello')]);
    const one = await editor();
    const { sessionId, modes } = await one.newSession(cwd);
    expect(modes?.currentModeId).toBe('workspace-write');
    expect(await one.agent.request('session/set_mode', { sessionId, modeId: 'read-only' })).toEqual({});
    await one.update(sessionId, ({ currentModeId }) => currentModeId === 'read-only');
    const set = async (configId: string, value: string): Promise<readonly unknown[]> => {
      const { configOptions } = await one.agent.request('session/set_config_option', {
        sessionId,
        configId,
        value,
      });
      return configOptions.map((option) => objectOf(option).currentValue);
    };
    expect(await set('model', 'acme/two')).toEqual(['read-only', 'acme/two', 'default']);
    expect(await set('thinking', 'high')).toEqual(['read-only', 'acme/two', 'high']);
    expect(await set('thinking', 'default')).toEqual(['read-only', 'acme/two', 'default']);
    expect(await set('mode', 'full-access')).toEqual(['full-access', 'acme/two', 'default']);
    for (const [configId, value, field] of [
      ['mode', 'yolo', 'value'],
      ['model', 'acme/three', 'value'],
      ['thinking', 'hard', 'value'],
      ['color', 'red', 'configId'],
    ] as const)
      await expect(set(configId, value)).rejects.toMatchObject({ code: -32602, data: { field } });
    await expect(one.agent.request('session/set_mode', { sessionId, modeId: 'yolo' })).rejects.toMatchObject({
      code: -32602,
      data: { field: 'modeId' },
    });
    expect(await one.prompt(sessionId, 'hi')).toBe('end_turn');
  });

  test('invalid parameters are refused with the name of the field, and unknown sessions with their own code', async () => {
    const { editor } = await openFixture([]);
    const one = await editor();
    for (const [method, params, code, field] of [
      ['session/new', { cwd: 'relative', mcpServers: [] }, -32602, 'cwd'],
      ['session/new', { mcpServers: [] }, -32602, 'cwd'],
      ['session/new', { cwd: '/does/not/exist', mcpServers: [] }, -32602, 'cwd'],
      ['session/new', { cwd: '/', mcpServers: 5 }, -32602, 'mcpServers'],
      ['session/new', { cwd: '/', mcpServers: [{ name: 'x' }] }, -32602, 'mcpServers[0].command'],
      [
        'session/new',
        { cwd: '/', mcpServers: [{ type: 'sse', name: 'x', url: 'http://x', headers: [] }] },
        -32602,
        'mcpServers[0].type',
      ],
      [
        'session/new',
        { cwd: '/', mcpServers: [], additionalDirectories: ['x'] },
        -32602,
        'additionalDirectories[0]',
      ],
      ['session/load', { cwd: '/', mcpServers: [] }, -32602, 'sessionId'],
      ['session/load', { sessionId: 'x', cwd: '/', mcpServers: [] }, -32002, undefined],
      ['session/resume', { sessionId: 'x', cwd: '/' }, -32002, undefined],
      ['session/prompt', { sessionId: 'x', prompt: [{ type: 'text', text: 'x' }] }, -32002, undefined],
      ['session/set_mode', { sessionId: 'x', modeId: 'x' }, -32002, undefined],
      ['session/list', { cwd: 'relative' }, -32602, 'cwd'],
      ['logout', {}, -32601, undefined],
    ] as const)
      await expect(
        one.agent.request(method as string, params),
        `${method} ${JSON.stringify(params)}`,
      ).rejects.toMatchObject({
        code,
        ...(field !== undefined && { data: { field } }),
      });
    // Some of these the schema does not allow.
    one.log.problems.splice(0);
  });

  test('a session is loaded only in its own directory', async () => {
    const { editor, cwd, home } = await openFixture([textAnswer('Hello')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'hi');
    await expect(
      one.agent.request('session/load', { sessionId, cwd: home, mcpServers: [] }),
    ).rejects.toMatchObject({ code: -32602, data: { field: 'cwd' } });
    await one.agent.request('session/load', { sessionId, cwd: `${cwd}/`, mcpServers: [] });
  });
});

test('settings and names that other clients change are reported', async () => {
  const { editor, cwd, env } = await acpFixture([textAnswer('Hello')], { daemon: true });
  const one = await editor();
  const two = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  await two.agent.request('session/resume', { sessionId, cwd });
  await two.agent.request('session/set_mode', { sessionId, modeId: 'read-only' });
  await one.update(sessionId, ({ currentModeId }) => currentModeId === 'read-only');
  const { configOptions } = await one.updateOf(sessionId, 'config_option_update');
  expect(objectOf(arrayOf(configOptions)[0]).currentValue).toBe('read-only');
  const named = await polypod(['rename', sessionId, 'greeting'], { env });
  expect(named, named.stderr).toMatchObject({ code: 0 });
  await one.update(sessionId, ({ title }) => title === 'greeting');
});

test('a session that another client removes cancels the prompt, and is unknown', async () => {
  const { editor, cwd, env } = await acpFixture([STALLS], { daemon: true });
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  const prompt = one.prompt(sessionId, 'go');
  await one.updateOf(sessionId, 'agent_message_chunk');
  const removed = await polypod(['rm', '--yes', sessionId], { env });
  expect(removed, removed.stderr).toMatchObject({ code: 0 });
  expect(await prompt).toBe('cancelled');
  await expect(one.prompt(sessionId, 'again')).rejects.toMatchObject({ code: -32002 });
});

test('event numbers are sent to a client that declares them, and to no other', async () => {
  const { editor, cwd } = await acpFixture([textAnswer('Hello'), asks(), textAnswer('Made')], {
    daemon: true,
  });
  const capabilities = { _meta: { polypod: { eventNumbers: true } } };
  const [one, other] = [await editor({ capabilities, permission: () => allow }), await editor()];
  const { sessionId } = await one.newSession(cwd);
  const numbers = ({ log }: typeof one): readonly unknown[] =>
    log.received.flatMap(({ method, params }) => {
      const { _meta: meta } = objectOf(params);
      return method === undefined || meta === undefined ? [] : [objectOf(objectOf(meta).polypod).seq];
    });
  await one.prompt(sessionId, 'hi');
  await other.agent.request('session/resume', { sessionId, cwd });
  await one.prompt(sessionId, 'make it');
  await other.update(sessionId, ({ status }) => status === 'completed');
  const seen = numbers(one).map(Number);
  expect(seen).toEqual(seen.toSorted((left, right) => left - right));
  expect(seen.length).toBeGreaterThan(4);
  const { params } = await one.permissionRequest();
  expect(objectOf(params)).toMatchObject({ _meta: { polypod: { seq: expect.any(Number) as number } } });
  expect(numbers(other)).toEqual([]);
});

test('the title that a model writes is reported', async () => {
  const { editor, cwd } = await acpFixture(
    (request) =>
      JSON.stringify(request).includes('itle') ? textAnswer('A kind greeting') : textAnswer('Hello'),
    { config: { titles: 'model', title_model: 'acme/two' } },
  );
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'Please greet me in a kind way, and tell me what you can do for me');
  await one.update(sessionId, ({ title }) => title === 'A kind greeting');
});
