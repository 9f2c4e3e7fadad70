import { describe, expect, it } from 'vitest';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { call, waitForEvent, isType, textAnswer, type CliFixture, cliFixture } from '../daemon.ts';

const STALLS: SimAnswer = { parts: [{ text: 'I begin' }], fault: { kind: 'stall', after: 1 } };

async function prompted(fixture: CliFixture, text: string, ...args: readonly string[]): Promise<string> {
  const id = (await fixture.polypod('new', '--cwd', fixture.project, ...args)).stdout.trim();
  await (await fixture.pod(id)).handle({ type: 'prompt', content: [{ type: 'text', text }] });
  return id;
}

async function ended(fixture: CliFixture, id: string): Promise<void> {
  await waitForEvent(await fixture.pod(id), isType('run-end'));
}

describe('polypod sessions', () => {
  it('lists what polypod ls lists, with the same options', async () => {
    const fixture = await cliFixture();
    await fixture.polypod('new', '--name', 'one');
    await fixture.polypod('new', '--name', 'two');
    // Except for the age, which changes.
    const listed = async (...args: readonly string[]) =>
      (await fixture.polypod(...args)).stdout.replaceAll(/\s*\d+ (?:s|min)\s*/g, ' ');
    expect(await listed('ls')).toContain('one');
    expect(await listed('sessions')).toBe(await listed('ls'));
    expect(await listed('sessions', 'list')).toBe(await listed('ls'));
    const json = ['--json', '--limit', '1', '--search', 'one', '--all', '--data-dir', fixture.dataDirectory];
    expect(await fixture.polypod('sessions', ...json)).toEqual(await fixture.polypod('ls', ...json));
    expect(JSON.parse((await fixture.polypod('sessions', ...json)).stdout)).toMatchObject([{ name: 'one' }]);
  });

  it('shows all facts about a session, also without a daemon', async () => {
    const fixture = await cliFixture([textAnswer('It is a teapot.')]);
    await fixture.serve();
    const id = await prompted(fixture, 'What is it?', '--name', 'teapot');
    await ended(fixture, id);
    await fixture.polypod('stop');
    const { stdout } = await fixture.polypod('sessions', 'show', 'teapot');
    for (const line of [
      `id        ${id}\n`,
      'name      teapot\n',
      'state     idle\n',
      'run       finished\n',
      `directory ${fixture.project}\n`,
      'asked     What is it?\n',
      'answered  It is a teapot.\n',
    ])
      expect(stdout).toContain(line);
    expect(JSON.parse((await fixture.polypod('sessions', 'show', id, '--json')).stdout)).toMatchObject([
      { id, name: 'teapot', lastRun: { status: 'finished' }, totals: { turns: 1 }, children: [] },
    ]);
  });

  it('shows the pending approval, and why the last run failed', async () => {
    const fixture = await cliFixture([
      call('bash', { command: 'node -e 1' }),
      { parts: [{ text: 'x' }], fault: { kind: '401' } },
    ]);
    await fixture.serve();
    const waiting = await prompted(fixture, 'Go');
    await waitForEvent(await fixture.pod(waiting), isType('approval-request'));
    const failed = await prompted(fixture, 'Go');
    await ended(fixture, failed);
    const shown = await fixture.polypod('sessions', 'show', waiting, failed);
    expect(shown.stdout).toMatch(/state +waiting\n/);
    expect(shown.stdout).toMatch(/asks +bash +[0-9a-f-]{36}\n {2}command: node -e 1\n/);
    expect(shown.stdout).toMatch(/run +failed: \S+/);
  });

  it('continues a session in a child, which has the conversation', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    await fixture.serve();
    const parent = await prompted(fixture, 'First', '--name', 'origin');
    await ended(fixture, parent);
    const { code, stdout, stderr } = await fixture.polypod('sessions', 'continue', 'origin', 'And', 'then?');
    expect(code).toBe(0);
    const child = stdout.trim();
    expect(stderr).toContain(`polypod attach ${child}`);
    await ended(fixture, child);
    const requestBody = JSON.stringify(fixture.sim.requests.at(-1)?.body);
    for (const text of ['First', 'One.', 'And then?']) expect(requestBody).toContain(text);
    const shown = await fixture.polypod('sessions', 'show', '--json', parent, child);
    expect(JSON.parse(shown.stdout)).toMatchObject([
      { id: parent, children: [child], lastText: 'One.' },
      { id: child, parentId: parent, lastText: 'Two.' },
    ]);
  });

  it('interrupts a running session before it continues it, and restores an archived one', async () => {
    const fixture = await cliFixture([STALLS, textAnswer('On.')]);
    await fixture.serve();
    const parent = await prompted(fixture, 'Wait');
    await fixture.polypod('sessions', 'archive', parent);
    const { stdout } = await fixture.polypod('sessions', 'continue', parent, 'Go on', '--json');
    const { id: child, run, parent: from } = JSON.parse(stdout);
    expect(from).toBe(parent);
    await ended(fixture, child);
    const shown = await fixture.polypod('sessions', 'show', '--json', parent, child);
    expect(JSON.parse(shown.stdout)).toMatchObject([
      { id: parent, archived: true, lastRun: { status: 'cancelled' } },
      { id: child, archived: false, lastRun: { runId: run, status: 'finished' } },
    ]);
  });

  it('interrupts running and waiting runs, and waits for their end', async () => {
    const fixture = await cliFixture([STALLS, call('bash', { command: 'node -e 1' })]);
    await fixture.serve();
    const running = await prompted(fixture, 'Wait');
    await waitForEvent(await fixture.pod(running), isType('block-delta'));
    const waiting = await prompted(fixture, 'Ask');
    await waitForEvent(await fixture.pod(waiting), isType('approval-request'));
    const { code, stderr } = await fixture.polypod('sessions', 'interrupt', running, waiting);
    expect(code).toBe(0);
    expect(stderr).toBe(`polypod: interrupted ${running}\npolypod: interrupted ${waiting}\n`);
    const shown = JSON.parse((await fixture.polypod('sessions', 'show', '--json', running, waiting)).stdout);
    expect(shown).toMatchObject([
      { state: 'idle', lastRun: { status: 'cancelled' } },
      { state: 'idle', lastRun: { status: 'cancelled' }, approvals: [] },
    ]);
    expect(await fixture.polypod('sessions', 'interrupt', running)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`no run is active in ${running}`),
    });
  });

  it.each(['with a daemon', 'without one'])('archives sessions and restores them, %s', async (how) => {
    const fixture = await cliFixture();
    if (how === 'with a daemon') await fixture.serve();
    await fixture.polypod('new', '--name', 'old');
    const archived = await fixture.polypod('sessions', 'archive', 'old', '--json');
    expect(JSON.parse(archived.stdout)).toMatchObject([{ archived: true }]);
    expect((await fixture.polypod('sessions')).stdout).not.toContain('old');
    expect((await fixture.polypod('sessions', '--all')).stdout).toContain('old');
    expect(await fixture.polypod('sessions', 'archive', '--undo', 'old')).toMatchObject({ code: 0 });
    expect((await fixture.polypod('sessions')).stdout).toContain('old');
  });

  it.each([
    [['begin'], 2, 'unknown action "begin": use list, show, continue, interrupt, rewind or archive'],
    [['show'], 2, 'show needs a session: polypod sessions show ID'],
    [['show', 'teapott'], 2, 'there is no session "teapott"; did you mean teapot?'],
    [['continue', 'teapot', ' '], 2, 'the prompt is empty'],
    [['continue', 'teapot', 'Go'], 3, 'no daemon is up'],
    [['interrupt', 'teapot'], 3, 'polypod serve starts one'],
  ])('%j is refused with the next step', async (args, code, message) => {
    const fixture = await cliFixture();
    await fixture.polypod('new', '--name', 'teapot');
    expect(await fixture.polypod('sessions', ...args)).toMatchObject({
      code,
      stderr: expect.stringContaining(message),
    });
  });

  it('has examples in its help, and shell completion for its actions and sessions', async () => {
    const fixture = await cliFixture();
    expect((await fixture.polypod('sessions', '--help')).stdout).toContain(
      'polypod sessions continue 9f3a41c7',
    );
    const { stdout } = await fixture.polypod('completion', 'bash');
    expect(stdout).toContain('words="list show continue interrupt rewind archive ');
    expect(stdout).toContain('words="list show watch approve deny ');
  });
});
