import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RequestError } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { stringOf } from '../../../../src/base/index.ts';
import { polypod } from '../../../cli/polypod.ts';
import { calls, fileHandlers, projectFixture, resultsFor, answers } from './editor.ts';

const NEVER = () => new Promise<object>(() => {});

describe.each([
  ['without a daemon', false],
  ['through a daemon', true],
])('an editor that offers its files, %s', (_, daemon) => {
  test('has its unsaved text read and edited, and saves the change', async () => {
    const script = [
      calls('read', { path: 'a.txt' }),
      calls('edit', { path: 'a.txt', old: 'typed', new: 'changed' }, 'call_2'),
      answers('done'),
    ];
    const project = await projectFixture(script, { files: { 'a.txt': 'saved\n' }, daemon });
    const buffers = new Map([[project.path('a.txt'), 'saved\ntyped\n']]);
    const editor = await project.editor({ buffers });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toEqual(['1\tsaved\n2\ttyped', 'Edited a.txt: 1 replacement, +1 -1.']);
    expect(project.text('a.txt')).toBe('saved\nchanged\n');
    expect(editor.asked('fs/write_text_file')).toMatchObject([
      { path: project.path('a.txt'), content: 'saved\nchanged\n' },
    ]);
    expect(editor.end('call_2')).toMatchObject({
      status: 'completed',
      content: [{ type: 'diff', path: project.path('a.txt') }],
    });
  });

  test('that disconnects during a write leaves a failed call, and the file as it was', async () => {
    let onWrite = (): void => {};
    const isWriting = new Promise<void>((resolve) => {
      onWrite = resolve;
    });
    const script = [calls('write', { path: 'a.txt', content: 'new\n' }), answers('done')];
    const project = await projectFixture(script, { files: { 'a.txt': 'old\n' }, daemon });
    const editor = await project.editor({
      buffers: new Map(),
      handlers: {
        'fs/write_text_file': () => {
          onWrite();
          return NEVER();
        },
      },
    });
    const sessionId = await editor.newSession(project.cwd);
    editor.prompt(sessionId).catch(() => {});
    await isWriting;
    await editor.kill();
    if (daemon)
      await expect
        .poll(() => resultsFor(project.sim))
        .toEqual([expect.stringMatching(/did not write .*: it disconnected/)]);
    expect(project.text('a.txt')).toBe('old\n');
  });
});

describe('a file of an editor', () => {
  test('that does not exist can be created in new directories', async () => {
    const script = [calls('write', { path: 'deep/new.txt', content: 'one\n' }), answers('done')];
    const project = await projectFixture(script);
    const editor = await project.editor({ buffers: new Map() });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toEqual(['Created deep/new.txt (1 line).']);
    expect(editor.asked('fs/write_text_file')).toHaveLength(1);
    expect(project.text('deep/new.txt')).toBe('one\n');
  });

  test('that was never saved is read, and an empty answer for a missing file is a missing file', async () => {
    const script = [
      calls('read', { path: 'new.txt' }),
      calls('read', { path: 'missing.txt' }, 'call_2'),
      answers('done'),
    ];
    const project = await projectFixture(script);
    const buffers = new Map([
      [project.path('new.txt'), 'typed'],
      [project.path('missing.txt'), ''],
    ]);
    const editor = await project.editor({ buffers });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toEqual([
      '1\ttyped',
      expect.stringContaining('missing.txt does not exist'),
    ]);
  });

  test('outside the project and a protected one are denied before the editor is asked', async () => {
    const script = [
      calls('read', { path: '/etc/passwd' }),
      calls('read', { path: 'link.txt' }, 'call_2'),
      calls('write', { path: '../config.yaml', content: 'model: x\n' }, 'call_3'),
      calls('edit', { path: '../outside.txt', old: 'a', new: 'b' }, 'call_4'),
      answers('done'),
    ];
    const project = await projectFixture(script);
    writeFileSync(join(project.home, 'outside.txt'), 'a');
    symlinkSync(join(project.home, 'outside.txt'), project.path('link.txt'));
    const editor = await project.editor({
      buffers: new Map(),
      handlers: {
        'session/request_permission': () => ({ outcome: { outcome: 'selected', optionId: 'reject' } }),
      },
    });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toHaveLength(4);
    for (const callId of ['call_1', 'call_2', 'call_3', 'call_4'])
      expect(editor.end(callId)).toMatchObject({ status: 'failed' });
    expect(editor.asked('fs/read_text_file')).toEqual([]);
    expect(editor.asked('fs/write_text_file')).toEqual([]);
  });

  test('is requested by its path without links', async () => {
    const project = await projectFixture([calls('read', { path: 'link/a.txt' }), answers('done')]);
    mkdirSync(project.path('real'));
    writeFileSync(project.path('real/a.txt'), 'saved');
    symlinkSync(project.path('real'), project.path('link'));
    const editor = await project.editor({ buffers: new Map([[project.path('real/a.txt'), 'typed']]) });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(editor.asked('fs/read_text_file')).toMatchObject([{ path: project.path('real/a.txt') }]);
    expect(resultsFor(project.sim)).toEqual(['1\ttyped']);
  });

  test('that the editor cannot read is an error, and one that it does not have is read and written on disk', async () => {
    const script = [
      calls('read', { path: 'broken.txt' }),
      calls('edit', { path: 'other.txt', old: 'old', new: 'new' }, 'call_2'),
      answers('done'),
    ];
    const project = await projectFixture(script, { files: { 'broken.txt': 'x', 'other.txt': 'old' } });
    const editor = await project.editor({
      buffers: new Map(),
      handlers: {
        'fs/read_text_file': ({ path }) => {
          if (stringOf(path).endsWith('other.txt')) throw RequestError.resourceNotFound(stringOf(path));
          throw new RequestError(-32603, 'the buffer is locked');
        },
      },
    });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toEqual([
      `The editor could not read ${project.path('broken.txt')}: the buffer is locked`,
      'Edited other.txt: 1 replacement, +1 -1.',
    ]);
    expect(project.text('other.txt')).toBe('new');
    expect(editor.asked('fs/write_text_file')).toEqual([]);
  });

  test('that the editor does not write is not written on disk either', async () => {
    const script = [calls('write', { path: 'a.txt', content: 'new' }), answers('done')];
    const project = await projectFixture(script, { files: { 'a.txt': 'old' } });
    const editor = await project.editor({
      buffers: new Map(),
      handlers: {
        'fs/write_text_file': () => {
          throw new RequestError(-32603, 'the disk of the editor is full');
        },
      },
    });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toEqual([
      `The editor did not write ${project.path('a.txt')}: the disk of the editor is full`,
    ]);
    expect(project.text('a.txt')).toBe('old');
  });

  test('with unsaved changes is not written by an editor that only reads', async () => {
    const script = [calls('edit', { path: 'a.txt', old: 'typed', new: 'new' }), answers('done')];
    const project = await projectFixture(script, { files: { 'a.txt': 'saved' } });
    const editor = await project.editor({
      capabilities: { fs: { readTextFile: true } },
      handlers: fileHandlers(new Map([[project.path('a.txt'), 'typed']])),
    });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)[0]).toMatch(/has unsaved changes in the editor, so nothing was written/);
    expect(project.text('a.txt')).toBe('saved');
  });

  test('that the editor formats on save, or does not save, is reported to the model', async () => {
    const script = [
      calls('write', { path: 'a.txt', content: 'a=1\n' }),
      calls('write', { path: 'b.txt', content: 'b=1\n' }, 'call_2'),
      answers('done'),
    ];
    const project = await projectFixture(script, { files: { 'b.txt': 'old' } });
    const buffers = new Map<string, string>();
    const editor = await project.editor({
      buffers,
      handlers: {
        'fs/write_text_file': ({ path, content }) => {
          if (stringOf(path).endsWith('a.txt')) writeFileSync(stringOf(path), 'a = 1\n');
          else buffers.set(stringOf(path), stringOf(content));
          return {};
        },
      },
    });
    await editor.prompt(await editor.newSession(project.cwd));
    const [formatted, unsaved] = resultsFor(project.sim);
    expect(formatted).toContain('the editor changed the content when it saved it');
    expect(unsaved).toContain('the editor has not saved the file yet');
  });

  test('is restored to its unsaved text by an undo', async () => {
    const script = [calls('edit', { path: 'a.txt', old: 'typed', new: 'changed' }), answers('done')];
    const project = await projectFixture(script, { files: { 'a.txt': 'saved\r\n' }, daemon: true });
    const editor = await project.editor({ buffers: new Map([[project.path('a.txt'), 'typed\r\n']]) });
    const sessionId = await editor.newSession(project.cwd);
    await editor.prompt(sessionId);
    expect(project.text('a.txt')).toBe('changed\r\n');
    const undone = await polypod(['sessions', 'rewind', sessionId, '--files-only'], { env: project.env });
    expect(undone).toMatchObject({ code: 0 });
    expect(project.text('a.txt')).toBe('typed\r\n');
  });

  test('is also used by sub-agents', async () => {
    const script = [
      calls('subagent', { description: 'Read a file', prompt: 'read a.txt' }),
      calls('read', { path: 'a.txt' }, 'call_2'),
      answers('child'),
      answers('done'),
    ];
    const project = await projectFixture(script, { files: { 'a.txt': 'saved' } });
    const editor = await project.editor({ buffers: new Map([[project.path('a.txt'), 'typed']]) });
    const sessionId = await editor.newSession(project.cwd);
    await editor.prompt(sessionId);
    expect(editor.asked('fs/read_text_file')).toEqual([{ sessionId, path: project.path('a.txt') }]);
    expect(JSON.stringify(project.sim.requests.at(2)?.body)).toContain('1\\ttyped');
  });

  test('that is no text, or too large, is not requested', async () => {
    const script = [
      calls('read', { path: 'a.bin' }),
      calls('read', { path: 'large.txt', limit: 1 }, 'call_2'),
      calls('edit', { path: 'large.txt', old: 'begin', new: 'BEGIN' }, 'call_3'),
      answers('done'),
    ];
    const large = `begin\n${'x\n'.repeat(2_100_000)}`;
    const project = await projectFixture(script, { files: { 'a.bin': 'a\0b', 'large.txt': large } });
    const editor = await project.editor({ buffers: new Map() });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toEqual([
      expect.stringMatching(/is a binary file/),
      expect.stringMatching(/^1\tbegin/),
      expect.stringMatching(/^Edited large.txt/),
    ]);
    expect(project.text('large.txt').slice(0, 7)).toBe('BEGIN\nx');
    expect(editor.requests).toEqual([]);
  });

  test('that the editor does not answer is withdrawn when the run is cancelled', async () => {
    let onRead = (): void => {};
    const isReading = new Promise<void>((resolve) => {
      onRead = resolve;
    });
    let isWithdrawn = false;
    const project = await projectFixture([calls('read', { path: 'a.txt' }), answers('done')], {
      files: { 'a.txt': 'x' },
    });
    const editor = await project.editor({
      buffers: new Map(),
      handlers: {
        'fs/read_text_file': (_, signal) => {
          signal.addEventListener('abort', () => {
            isWithdrawn = true;
          });
          onRead();
          return NEVER();
        },
      },
    });
    const sessionId = await editor.newSession(project.cwd);
    const stopped = editor.prompt(sessionId);
    await isReading;
    await editor.agent.notify('session/cancel', { sessionId });
    expect(await stopped).toBe('cancelled');
    await expect.poll(() => isWithdrawn).toBe(true);
  });
});

test('of two editors with a session, the last one that opened it is used, then the earlier one', async () => {
  const script = [
    answers('hello'),
    calls('read', { path: 'a.txt' }),
    answers('read'),
    calls('read', { path: 'a.txt' }, 'call_2'),
    answers('done'),
  ];
  const project = await projectFixture(script, { files: { 'a.txt': 'saved' }, daemon: true });
  const first = await project.editor({ buffers: new Map([[project.path('a.txt'), 'of the first']]) });
  const sessionId = await first.newSession(project.cwd);
  await first.prompt(sessionId);
  const second = await project.editor({ buffers: new Map([[project.path('a.txt'), 'of the second']]) });
  await second.agent.request('session/load', { sessionId, cwd: project.cwd, mcpServers: [] });
  await first.prompt(sessionId, 'read');
  await second.agent.request('session/close', { sessionId });
  await first.prompt(sessionId, 'again');
  expect(resultsFor(project.sim)).toEqual(['1\tof the second', '1\tof the first']);
});
