import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cliFixture } from '../../../cli/daemon.ts';
import { polypod, temporaryDirectory } from '../../../cli/polypod.ts';
import { Program } from '../program.ts';

const HEADER = { type: 'session', version: 3, timestamp: '2026-01-01T00:00:00.000Z' };
const IN_PROCESS = ['--no-daemon', '--model', 'sim/offline'];

function lines(...entries: readonly object[]): string {
  return `${entries.map((entry) => JSON.stringify(entry)).join('\n')}\n`;
}

describe('switch_session', () => {
  it('answers every bad path with its id, creates nothing, and keeps the session and its run', async () => {
    const program = new Program(IN_PROCESS);
    const { home } = program;
    const inHome = (name: string): string => join(home, name);
    await program.run('hi [[sim text=Hello]]');
    mkdirSync(inHome('directory'));
    writeFileSync(inHome('notes.txt'), 'my notes\n');
    writeFileSync(inHome('other.jsonl'), lines({ type: 'something' }));
    writeFileSync(inHome('newer.jsonl'), lines({ ...HEADER, version: 99, id: 'newer', cwd: home }));
    writeFileSync(inHome('escape.jsonl'), lines({ ...HEADER, id: '../../../escaped', cwd: home }));
    writeFileSync(
      inHome('damaged.jsonl'),
      `${lines({ ...HEADER, id: 'damaged', cwd: home })}garbage\n${lines({ type: 'label', id: 'b', parentId: 'a', timestamp: HEADER.timestamp, targetId: 'a' })}`,
    );
    symlinkSync(inHome('loop.jsonl'), inHome('loop.jsonl'));
    const state = await program.get('get_state');
    const before = readdirSync(home).toSorted();
    program.send({ type: 'prompt', message: 'go [[sim deltas=5000 delay=5]]' });
    await program.waitFor(({ type }) => type === 'message_update', program.lines.length);
    for (const [sessionPath, error] of [
      [inHome('directory'), `${inHome('directory')} is a directory: name a session file, such as NAME.jsonl`],
      ['.', `${home} is a directory: name a session file, such as NAME.jsonl`],
      ['', 'sessionPath must not be empty: name a session file'],
      ['a\0b', 'sessionPath must have at most 4096 characters, and no null characters'],
      ['x'.repeat(5_000), 'sessionPath must have at most 4096 characters, and no null characters'],
      ['x'.repeat(300), 'ENAMETOOLONG'],
      [5, 'switch_session needs "sessionPath"'],
      [undefined, 'switch_session needs "sessionPath"'],
      ['notes.txt', 'notes.txt is not a session file'],
      ['notes.txt/below.jsonl', 'ENOTDIR'],
      ['other.jsonl', 'other.jsonl is not a session file'],
      ['newer.jsonl', 'newer than this program reads'],
      ['escape.jsonl', 'cannot be used as a file name'],
      ['damaged.jsonl', 'damaged.jsonl is damaged'],
      ['loop.jsonl', 'ELOOP'],
      ['/dev/null', '/dev/null is not a regular file'],
      ['/proc/nothing/here.jsonl', 'cannot open the session /proc/nothing/here.jsonl'],
    ] as const)
      expect(await program.ask('switch_session', { sessionPath })).toMatchObject({
        command: 'switch_session',
        success: false,
        error: expect.stringContaining(error) as unknown,
      });
    // The run is still in progress.
    expect(await program.get('get_state')).toMatchObject({
      sessionFile: state.sessionFile,
      isStreaming: true,
    });
    await program.ask('abort');
    await program.run('again [[sim text=there]]');
    expect(await program.get('get_last_assistant_text')).toEqual({ text: 'there' });
    expect(readdirSync(home).toSorted()).toEqual(before);
    expect(readdirSync(join(home, '.local/share')).toSorted()).toEqual(['polypod']);
    await program.end();
    const listed = await polypod(['ls', '--all', '--json'], { env: { HOME: home } });
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: state.sessionId }]);
  });

  it('creates a session for a missing file, and leaves no directory if that fails', async () => {
    const program = new Program(IN_PROCESS);
    const path = join(program.home, 'new/directory/session.jsonl');
    expect(await program.get('switch_session', { sessionPath: path })).toEqual({ cancelled: false });
    expect(await program.get('get_state')).toMatchObject({ sessionFile: path, messageCount: 0 });
    await program.run('hi [[sim text=Hello]]');
    expect(readFileSync(path, 'utf8')).toContain('"text":"Hello"');
    // An unused new session leaves nothing.
    await program.get('new_session');
    const { sessionFile: unused } = await program.get('get_state');
    await program.get('switch_session', { sessionPath: path });
    expect(await program.get('get_state')).toMatchObject({ messageCount: 2 });
    const sessions = join(program.home, '.local/share/polypod/sessions');
    expect(existsSync(String(unused))).toBe(false);
    expect(readdirSync(sessions)).toEqual([]);
  });

  it('refuses a session whose file was deleted, and can leave one whose file was deleted', async () => {
    const program = new Program(IN_PROCESS);
    await program.run('one [[sim text=first]]');
    const { sessionFile: first } = await program.get('get_state');
    await program.get('new_session');
    await program.run('two [[sim text=second]]');
    const { sessionFile: second } = await program.get('get_state');
    unlinkSync(String(first));
    expect(await program.ask('switch_session', { sessionPath: first })).toMatchObject({
      command: 'switch_session',
      success: false,
      error: `the session file ${String(first)} was deleted: choose another session, or start a new one`,
    });
    expect(existsSync(String(first))).toBe(false);
    await program.run('more [[sim text=third]]');
    expect(await program.get('get_state')).toMatchObject({ sessionFile: second, messageCount: 4 });
    unlinkSync(String(second));
    program.send({ id: 'p', type: 'prompt', message: 'gone' });
    const refused = await program.waitFor(({ id, success }) => id === 'p' && success === false);
    expect(refused).toMatchObject({
      command: 'prompt',
      error: expect.stringContaining('changed by another program') as unknown,
    });
    expect(await program.get('new_session')).toEqual({ cancelled: false });
    await program.run('three [[sim text=fourth]]');
    expect(await program.get('get_last_assistant_text')).toEqual({ text: 'fourth' });
  });

  it('opens a file that was moved, and one that is reached through a link', async () => {
    const home = temporaryDirectory();
    const program = new Program([...IN_PROCESS, '--session-dir', join(home, 'one')], { HOME: home });
    await program.run('hi [[sim text=Hello]]');
    const { sessionFile, sessionId } = await program.get('get_state');
    await program.end();
    symlinkSync(join(home, 'one'), join(home, 'link'));
    const linked = String(sessionFile).replace('/one/', '/link/');
    const again = new Program(IN_PROCESS, { HOME: home });
    expect(await again.get('switch_session', { sessionPath: linked })).toEqual({ cancelled: false });
    expect(await again.get('get_state')).toMatchObject({ sessionId, messageCount: 2 });
    await again.end();
    const moved = join(home, 'moved.jsonl');
    writeFileSync(moved, readFileSync(String(sessionFile)));
    const copy = new Program(IN_PROCESS, { HOME: home });
    expect(await copy.ask('switch_session', { sessionPath: moved })).toMatchObject({
      success: false,
      error: expect.stringContaining('is a copy of the session') as unknown,
    });
    unlinkSync(String(sessionFile));
    expect(await copy.get('switch_session', { sessionPath: moved })).toEqual({ cancelled: false });
    expect(await copy.get('get_state')).toMatchObject({ sessionId, sessionFile: moved, messageCount: 2 });
  });

  it('leaves a session that was removed from the daemon, which is not opened again', async () => {
    const fixture = await cliFixture();
    await fixture.serve('--offline');
    const program = new Program([], fixture.env);
    await program.run('hi [[sim text=Hello]]');
    const { sessionId, sessionFile } = await program.get('get_state');
    expect(await fixture.polypod('rm', String(sessionId), '--yes')).toMatchObject({ code: 0 });
    for (const [command, fields] of [
      ['get_messages', {}],
      ['prompt', { message: 'hi' }],
      ['bash', { command: 'true' }],
      ['set_session_name', { name: 'other' }],
    ] as const)
      expect(await program.ask(command, fields)).toMatchObject({
        command,
        success: false,
        error:
          'The session was removed. Start another one with new_session, or choose one with switch_session.',
      });
    expect(await program.ask('switch_session', { sessionPath: sessionFile })).toMatchObject({
      success: false,
      error: expect.stringContaining('was deleted') as unknown,
    });
    expect(existsSync(String(sessionFile))).toBe(false);
    expect(await program.get('new_session')).toEqual({ cancelled: false });
    await program.run('next [[sim text=better]]');
    expect(await program.get('get_last_assistant_text')).toEqual({ text: 'better' });
  });
});
