import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { cliFixture } from '../daemon.ts';
import { polypod, start } from '../polypod.ts';
import { hasTmux } from '../../terminal/tmux.ts';
import {
  calling,
  has,
  type Home,
  isIdle,
  newHome,
  openChat,
  shellIn,
  startIn,
  submit,
} from './chat-fixture.ts';

const lines = (...texts: readonly string[]) => texts.map((text) => `${text}\n`).join('');

const writing = (path: string, content: string) => calling('write', { path, content }, `wrote ${content}`);

function filesOf({ project }: Pick<Home, 'project'>) {
  const at = (name: string) => join(project, name);
  return {
    put: (name: string, text: string) => writeFileSync(at(name), text),
    text: (name: string) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : undefined),
  };
}

describe.runIf(hasTmux)('/undo on a terminal', () => {
  test('shows the diff, restores the files after a confirmation, and puts the prompt back', async () => {
    const home = newHome();
    const { put, text } = filesOf(home);
    put('a.txt', 'before\n');
    const pane = await openChat(home);
    await submit(pane, writing('a.txt', 'after'));
    await pane.see(has('wrote after'));
    await pane.see(isIdle);
    await submit(pane, '/undo');
    await pane.see(has('Conversation and files'));
    const shown = pane.all().join('\n');
    expect(shown).toMatch(/^\? restore a\.txt$/m);
    expect(shown).toMatch(/^ +-after$/m);
    expect(shown).toMatch(/^ +\+before$/m);
    expect(shown).toContain('only changes by the write and edit tools are tracked');
    expect(text('a.txt')).toBe('after');
    pane.press('Enter');
    await pane.see(has('· restored: a.txt'));
    expect(text('a.txt')).toBe('before\n');
    await pane.see((screen) => screen.some((line) => line.startsWith('> do it [[sim tool=write')));
    expect(pane.all()).toContain('· /redo takes it back');
    pane.press('C-c');
    await pane.see((screen) => !screen.some((line) => line.startsWith('> do it')));
    await submit(pane, '/redo');
    await pane.see(has('Conversation and files'));
    pane.press('Enter');
    await expect.poll(() => text('a.txt'), { timeout: 20_000 }).toBe('after');
  });

  test('Cancel and Esc change nothing', async () => {
    const home = newHome();
    const { text } = filesOf(home);
    const pane = await openChat(home);
    await submit(pane, writing('a.txt', 'after'));
    await pane.see(has('wrote after'));
    await pane.see(isIdle);
    await submit(pane, '/undo');
    await pane.see(has('Conversation and files'));
    pane.press('Escape');
    await pane.see((screen) => !has('Conversation and files')(screen));
    await submit(pane, '/undo');
    await pane.see(has('Cancel'));
    pane.press('Down');
    pane.press('Enter');
    await pane.see((screen) => !has('Cancel')(screen));
    expect(text('a.txt')).toBe('after');
  });

  test('Esc Esc opens /rewind, which lists the prompts and restores files only if that is chosen', async () => {
    const home = newHome();
    const { text } = filesOf(home);
    const pane = await openChat(home, '', 100, 30);
    for (const content of ['one', 'two']) {
      await submit(pane, writing('a.txt', content));
      await pane.see(has(`wrote ${content}`));
      await pane.see(isIdle);
    }
    pane.press('Escape');
    await pane.see(has('Esc again'));
    pane.press('Escape');
    await pane.see(has('Return to the point before'));
    expect(pane.all().filter((line) => line.includes('1 file changed'))).toHaveLength(2);
    pane.press('Enter');
    await pane.see(has('Conversation only'));
    pane.press('Down');
    pane.press('Enter');
    await pane.see(has('· restored: a.txt'));
    expect(text('a.txt')).toBe('one');
    expect(pane.all().join('\n')).not.toContain('returned to another point');
  });

  test('names a file that somebody else changed, and another client sees the rewind', async () => {
    const home = newHome();
    const { put, text } = filesOf(home);
    put('a.txt', 'before');
    const pane = await openChat(home, '--name shared', 100, 30);
    const bob = await shellIn({ ...home, env: { ...home.env, USER: 'bob' } }, 100, 30);
    await submit(pane, writing('a.txt', 'agent'));
    await pane.see(has('wrote agent'));
    await pane.see(isIdle);
    startIn(bob, 'attach shared');
    await bob.see(isIdle);
    put('a.txt', 'mine');
    await submit(pane, '/undo');
    await pane.see(has('overwrite conflicts'));
    expect(pane.all().join('\n')).toContain('conflict, it was changed since');
    pane.press('Enter');
    await pane.see(has('not restored: a.txt'));
    expect(text('a.txt')).toBe('mine');
    await bob.see(has('rewound by ada'));
    await bob.see(has('not restored: a.txt'));
  });
});

describe('/undo without a terminal', () => {
  it('shows the diff, and does nothing before it is confirmed', async () => {
    const home = newHome();
    const { put, text } = filesOf(home);
    put('a.txt', 'before\n');
    const input = lines(writing('a.txt', 'after'), '/undo');
    const first = await polypod(['chat', '--offline', '--cwd', home.project, '-n', 'mine'], {
      env: home.env,
      input,
    });
    expect(first.stdout).toContain('restore a.txt');
    expect(first.stdout).toContain('+before');
    expect(first.stdout).toContain('/undo yes restores them');
    expect([first.code, text('a.txt')]).toEqual([0, 'after']);
    const second = await polypod(['chat', '--offline', '--resume', 'mine'], {
      env: home.env,
      input: lines('/undo yes', '/undo', '/redo yes'),
    });
    expect(second.stdout).toContain('restored: a.txt');
    expect(second.stdout).toContain('the text was: do it');
    expect(second.stdout).toContain('there is no prompt to undo');
    expect([second.code, text('a.txt')]).toEqual([0, 'after']);
  });

  it('/rewind NUMBER returns to before that prompt, with the parts named', async () => {
    const home = newHome();
    const { text } = filesOf(home);
    const { stdout, code } = await polypod(['chat', '--offline', '--cwd', home.project], {
      env: home.env,
      input: lines(
        writing('a.txt', 'one'),
        writing('a.txt', 'two'),
        '/rewind',
        '/rewind 2 files',
        '/rewind 1 conversation',
        '/rewind',
      ),
    });
    expect(stdout).toMatch(/ 2 {2}.*, 1 file changed {2,}do it/);
    expect(stdout).toContain('restored: a.txt');
    expect(stdout).toContain('returned to another point');
    expect(stdout).toContain('there are no prompts yet');
    expect([code, text('a.txt')]).toEqual([0, 'one']);
  });

  it('is refused during a run of another client', async () => {
    const home = newHome();
    const busy = start(
      [
        'chat',
        '--offline',
        '--no-daemon',
        '--cwd',
        home.project,
        '-n',
        'busy',
        'talk [[sim deltas=3000 delay=50]]',
      ],
      home.env,
    );
    await busy.waitForOutput('❯ talk');
    await expect
      .poll(
        async () => {
          const { stderr } = await polypod(['sessions', 'rewind', 'busy'], { env: home.env });
          return stderr;
        },
        { timeout: 20_000, interval: 500 },
      )
      .toContain('a run is active: cancel it before rewinding');
    busy.child.kill('SIGINT');
    await busy.finished;
  });
});

describe('polypod sessions rewind', () => {
  it('lists the prompts and the diff with --dry-run, then restores, with and without a daemon', async () => {
    const script = (content: string) => [
      { parts: [{ toolCall: { name: 'write', arguments: { path: 'a.txt', content } } }] },
      { parts: [{ text: 'Done.' }] },
    ];
    const fixture = await cliFixture([...script('one\n'), ...script('two\n')]);
    fixture.configure('model: anthropic/x\n');
    const { put, text } = filesOf(fixture);
    put('a.txt', 'zero\n');
    await fixture.polypod('run', '-q', '-C', fixture.project, '-n', 'work', 'first');
    await fixture.polypod('run', '-q', '--resume', 'work', 'second');
    expect(text('a.txt')).toBe('two\n');
    const shown = await fixture.polypod('sessions', 'rewind', '--dry-run', '--json', 'work');
    const { points, files } = JSON.parse(shown.stdout);
    expect(points.map((point: { text: string }) => point.text)).toEqual(['first', 'second']);
    expect(files).toEqual([
      expect.objectContaining({ label: 'a.txt', status: 'ready', diff: expect.stringContaining('+one') }),
    ]);
    expect((await fixture.polypod('sessions', 'rewind', '--dry-run', 'work')).stdout).toMatch(
      /^ {2}\w+ {2}1 file {3}first\n\* \w+ {2}1 file {3}second\n\nrestore a.txt\n--- a\/a.txt/,
    );
    expect(text('a.txt')).toBe('two\n');
    const plain = await fixture.polypod('sessions', 'rewind', 'work');
    expect(plain).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the conversation is before "second"'),
    });
    expect(text('a.txt')).toBe('one\n');

    const daemon = await fixture.serve();
    const missing = await fixture.polypod('sessions', 'rewind', '--to', 'nothing', 'work');
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no prompt nothing') });
    put('a.txt', 'mine\n');
    const skipped = await fixture.polypod('sessions', 'rewind', '--files-only', 'work');
    expect(skipped).toMatchObject({ code: 1, stderr: expect.stringContaining('polypod: skipped') });
    expect(text('a.txt')).toBe('mine\n');
    const forced = await fixture.polypod('sessions', 'rewind', '--overwrite', '--json', 'work');
    expect(JSON.parse(forced.stdout)).toMatchObject({ prompt: 'first', files: [{ outcome: 'restored' }] });
    expect(text('a.txt')).toBe('zero\n');
    await fixture.polypod('stop');
    await daemon.finished;
  });
});
