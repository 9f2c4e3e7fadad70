import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/sim/index.ts';
import { call, waitForEvent, isType, textAnswer, type Site, site } from './daemon.ts';

const STALLS: Answer = { parts: [{ text: 'I begin' }], fault: { kind: 'stall', after: 1 } };

async function prompted(here: Site, text: string, ...args: readonly string[]): Promise<string> {
  const id = (await here.polypod('new', '--cwd', here.project, ...args)).stdout.trim();
  await (await here.pod(id)).handle({ type: 'prompt', content: [{ type: 'text', text }] });
  return id;
}

async function ended(here: Site, id: string): Promise<void> {
  await waitForEvent(await here.pod(id), isType('run-end'));
}

describe('polypod sessions', () => {
  it('lists what polypod ls lists, with the same options', async () => {
    const here = await site();
    await here.polypod('new', '--name', 'one');
    await here.polypod('new', '--name', 'two');
    // But for the age, which changes.
    const listed = async (...args: readonly string[]) =>
      (await here.polypod(...args)).stdout.replaceAll(/\s*\d+ (?:s|min)\s*/g, ' ');
    expect(await listed('ls')).toContain('one');
    expect(await listed('sessions')).toBe(await listed('ls'));
    expect(await listed('sessions', 'list')).toBe(await listed('ls'));
    const json = ['--json', '--limit', '1', '--search', 'one', '--all', '--data-dir', here.dataDirectory];
    expect(await here.polypod('sessions', ...json)).toEqual(await here.polypod('ls', ...json));
    expect(JSON.parse((await here.polypod('sessions', ...json)).stdout)).toMatchObject([{ name: 'one' }]);
  });

  it('shows all facts about a session, also without a daemon', async () => {
    const here = await site([textAnswer('It is a teapot.')]);
    await here.serve();
    const id = await prompted(here, 'What is it?', '--name', 'teapot');
    await ended(here, id);
    await here.polypod('stop');
    const { stdout } = await here.polypod('sessions', 'show', 'teapot');
    for (const line of [
      `id        ${id}\n`,
      'name      teapot\n',
      'state     idle\n',
      'run       finished\n',
      `directory ${here.project}\n`,
      'asked     What is it?\n',
      'answered  It is a teapot.\n',
    ])
      expect(stdout).toContain(line);
    expect(JSON.parse((await here.polypod('sessions', 'show', id, '--json')).stdout)).toMatchObject([
      { id, name: 'teapot', lastRun: { status: 'finished' }, totals: { turns: 1 }, children: [] },
    ]);
  });

  it('shows the pending approval, and why the last run failed', async () => {
    const here = await site([
      call('bash', { command: 'node -e 1' }),
      { parts: [{ text: 'x' }], fault: { kind: '401' } },
    ]);
    await here.serve();
    const waiting = await prompted(here, 'Go');
    await waitForEvent(await here.pod(waiting), isType('approval-request'));
    const failed = await prompted(here, 'Go');
    await ended(here, failed);
    const shown = await here.polypod('sessions', 'show', waiting, failed);
    expect(shown.stdout).toMatch(/state +waiting\n/);
    expect(shown.stdout).toMatch(/asks +bash +[0-9a-f-]{36}\n {2}command: node -e 1\n/);
    expect(shown.stdout).toMatch(/run +failed: \S+/);
  });

  it('continues a session in a child, which has the conversation', async () => {
    const here = await site([textAnswer('One.'), textAnswer('Two.')]);
    await here.serve();
    const parent = await prompted(here, 'First', '--name', 'origin');
    await ended(here, parent);
    const { code, stdout, stderr } = await here.polypod('sessions', 'continue', 'origin', 'And', 'then?');
    expect(code).toBe(0);
    const child = stdout.trim();
    expect(stderr).toContain(`polypod attach ${child}`);
    await ended(here, child);
    const asked = JSON.stringify(here.sim.requests.at(-1)?.body);
    for (const text of ['First', 'One.', 'And then?']) expect(asked).toContain(text);
    const shown = await here.polypod('sessions', 'show', '--json', parent, child);
    expect(JSON.parse(shown.stdout)).toMatchObject([
      { id: parent, children: [child], lastText: 'One.' },
      { id: child, parentId: parent, lastText: 'Two.' },
    ]);
  });

  it('interrupts a running session before it continues it, and restores an archived one', async () => {
    const here = await site([STALLS, textAnswer('On.')]);
    await here.serve();
    const parent = await prompted(here, 'Wait');
    await here.polypod('sessions', 'archive', parent);
    const { stdout } = await here.polypod('sessions', 'continue', parent, 'Go on', '--json');
    const { id: child, run, parent: from } = JSON.parse(stdout);
    expect(from).toBe(parent);
    await ended(here, child);
    const shown = await here.polypod('sessions', 'show', '--json', parent, child);
    expect(JSON.parse(shown.stdout)).toMatchObject([
      { id: parent, archived: true, lastRun: { status: 'cancelled' } },
      { id: child, archived: false, lastRun: { runId: run, status: 'finished' } },
    ]);
  });

  it('interrupts running and waiting runs, and waits for their end', async () => {
    const here = await site([STALLS, call('bash', { command: 'node -e 1' })]);
    await here.serve();
    const running = await prompted(here, 'Wait');
    await waitForEvent(await here.pod(running), isType('block-delta'));
    const waiting = await prompted(here, 'Ask');
    await waitForEvent(await here.pod(waiting), isType('approval-request'));
    const { code, stderr } = await here.polypod('sessions', 'interrupt', running, waiting);
    expect(code).toBe(0);
    expect(stderr).toBe(`polypod: interrupted ${running}\npolypod: interrupted ${waiting}\n`);
    const shown = JSON.parse((await here.polypod('sessions', 'show', '--json', running, waiting)).stdout);
    expect(shown).toMatchObject([
      { state: 'idle', lastRun: { status: 'cancelled' } },
      { state: 'idle', lastRun: { status: 'cancelled' }, approvals: [] },
    ]);
    expect(await here.polypod('sessions', 'interrupt', running)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`no run is active in ${running}`),
    });
  });

  it.each(['with a daemon', 'without one'])('archives sessions and restores them, %s', async (how) => {
    const here = await site();
    if (how === 'with a daemon') await here.serve();
    await here.polypod('new', '--name', 'old');
    const archived = await here.polypod('sessions', 'archive', 'old', '--json');
    expect(JSON.parse(archived.stdout)).toMatchObject([{ archived: true }]);
    expect((await here.polypod('sessions')).stdout).not.toContain('old');
    expect((await here.polypod('sessions', '--all')).stdout).toContain('old');
    expect(await here.polypod('sessions', 'archive', '--undo', 'old')).toMatchObject({ code: 0 });
    expect((await here.polypod('sessions')).stdout).toContain('old');
  });

  it.each([
    [['begin'], 2, 'unknown action "begin": use list, show, continue, interrupt or archive'],
    [['show'], 2, 'show needs a session: polypod sessions show ID'],
    [['show', 'teapott'], 2, 'there is no session "teapott"; did you mean teapot?'],
    [['continue', 'teapot', ' '], 2, 'the prompt is empty'],
    [['continue', 'teapot', 'Go'], 3, 'no daemon is up'],
    [['interrupt', 'teapot'], 3, 'polypod serve starts one'],
  ])('%j is refused with the next step', async (args, code, message) => {
    const here = await site();
    await here.polypod('new', '--name', 'teapot');
    expect(await here.polypod('sessions', ...args)).toMatchObject({
      code,
      stderr: expect.stringContaining(message),
    });
  });

  it('has examples in its help, and shell completion for its actions and sessions', async () => {
    const here = await site();
    expect((await here.polypod('sessions', '--help')).stdout).toContain('polypod sessions continue 0192f3a4');
    const { stdout } = await here.polypod('completion', 'bash');
    expect(stdout).toContain('words="list show continue interrupt archive ');
    expect(stdout).toContain('words="list show watch approve deny ');
  });
});
