import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { arrayOf, type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import { acpFixture, allow, calls, describeWithAndWithoutDaemon, reject, textAnswer } from './fixture.ts';

const config = {
  permissions: {
    rules: [
      { action: 'ask', tool: 'write' },
      { action: 'ask', tool: 'edit' },
    ],
  },
};

/** The call in the permission request for one call of a tool. */
async function requestedCall(
  tool: string,
  args: Record<string, unknown>,
  prepare: (file: string) => void,
): Promise<{ readonly call: JsonObject; readonly content: readonly JsonObject[]; readonly file: string }> {
  const { editor, cwd } = await acpFixture([calls(tool, { path: 'a.txt', ...args }), textAnswer('Done')], {
    config,
  });
  const file = join(cwd, 'a.txt');
  prepare(file);
  const one = await editor({ permission: () => reject });
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'change it');
  const call = objectOf(objectOf((await one.permissionRequest()).params).toolCall);
  return { call, content: arrayOf(call.content).map(objectOf), file };
}

describeWithAndWithoutDaemon((openFixture) => {
  test('the request for an edit has the reason, the diffs, the file and the input', async () => {
    const edits = [
      { old: 'two\n', new: 'zwei\n' },
      { old: 'three', new: 'drei' },
    ];
    const { editor, cwd } = await openFixture([calls('edit', { path: 'a.txt', edits }), textAnswer('Done')], {
      config,
    });
    const path = join(cwd, 'a.txt');
    writeFileSync(path, 'one\ntwo\nthree\n');
    const one = await editor({ permission: () => allow });
    const { sessionId } = await one.newSession(cwd);
    expect(await one.prompt(sessionId, 'translate')).toBe('end_turn');
    expect(objectOf((await one.permissionRequest()).params).toolCall).toMatchObject({
      toolCallId: 'call_1',
      kind: 'edit',
      name: 'edit',
      status: 'pending',
      content: [
        { type: 'content', content: { type: 'text' } },
        { type: 'diff', path, oldText: 'two\n', newText: 'zwei\n' },
        { type: 'diff', path, oldText: 'three', newText: 'drei' },
      ],
      locations: [{ path }],
      rawInput: { path: 'a.txt', edits },
    });
    // The request precedes the updates of the call that it allows.
    const order = one.log.received.flatMap(({ method, params }) =>
      method === 'session/request_permission'
        ? ['request']
        : objectOf(objectOf(params).update).status === 'in_progress'
          ? ['running']
          : [],
    );
    expect(order).toEqual(['request', 'running']);
  });

  test('a request that is open when the session is loaded has the diff, before the answer to session/load', async () => {
    const { editor, cwd } = await openFixture(
      [calls('write', { path: 'a.txt', content: 'new\n' }), textAnswer('Done')],
      { config },
    );
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    void one.prompt(sessionId, 'write it').catch(() => {});
    await one.permissionRequest();
    await one.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    const frames = one.log.received;
    const [, again] = one.permissionRequests();
    expect(objectOf(again?.params).toolCall).toMatchObject({
      content: [{ type: 'content' }, { type: 'diff', path: join(cwd, 'a.txt'), newText: 'new\n' }],
    });
    const answered = frames.findLastIndex(({ result }) => objectOf(result).configOptions !== undefined);
    expect(frames.indexOf(again ?? {})).toBeLessThan(answered);
    await one.agent.request('session/close', { sessionId });
  });
});

describe('the request for a file that is written as a whole', () => {
  test('shows a new file without an old text', async () => {
    const { content, file, call } = await requestedCall('write', { content: 'one\n' }, () => {});
    expect(content.slice(1)).toEqual([{ type: 'diff', path: file, newText: 'one\n' }]);
    expect(call.rawInput).toEqual({ path: 'a.txt', content: 'one\n' });
    expect(existsSync(file)).toBe(false);
  });

  test('shows the text that is replaced, also an empty one', async () => {
    const replaced = await requestedCall('write', { content: 'two\n' }, (file) =>
      writeFileSync(file, 'one\n'),
    );
    expect(replaced.content.slice(1)).toEqual([
      { type: 'diff', path: replaced.file, oldText: 'one\n', newText: 'two\n' },
    ]);
    const empty = await requestedCall('write', { content: 'two\n' }, (file) => writeFileSync(file, ''));
    expect(empty.content.slice(1)).toEqual([
      { type: 'diff', path: empty.file, oldText: '', newText: 'two\n' },
    ]);
  });

  test('shows only the changed part of a long file', async () => {
    const lines = Array.from({ length: 12_000 }, (_, n) => `line ${n}`);
    const changed = lines.with(6_000, 'changed');
    const { content } = await requestedCall('write', { content: changed.join('\n') }, (file) =>
      writeFileSync(file, lines.join('\n')),
    );
    const part = (middle: string): string =>
      ['line 5997', 'line 5998', 'line 5999', middle, 'line 6001', 'line 6002', 'line 6003'].join('\n');
    expect(content[1]).toMatchObject({ type: 'diff', oldText: part('line 6000'), newText: part('changed') });
  });

  test.each([
    ['is too long', (file: string) => writeFileSync(file, 'x\n'.repeat(1_100_000)), 'it has 2200000 bytes'],
    ['is not text', (file: string) => writeFileSync(file, Buffer.from([0, 1, 2])), 'it is not text'],
    ['is a pipe', (file: string) => void execFileSync('mkfifo', [file]), 'it is not a regular file'],
  ])('says that the current file %s', async (_, prepare, reason) => {
    const { content } = await requestedCall('write', { content: 'one\n' }, prepare);
    expect(content.map(({ type }) => type)).toEqual(['content', 'content']);
    expect(stringOf(objectOf(content[1]?.content).text)).toBe(
      `The file exists and is replaced. Its current content is not shown: ${reason}.`,
    );
  });

  test('says that a change is too long', async () => {
    const { content } = await requestedCall('write', { content: 'x'.repeat(200_001) }, () => {});
    expect(stringOf(objectOf(content[1]?.content).text)).toContain('too long to show: 200001 characters');
  });
});
