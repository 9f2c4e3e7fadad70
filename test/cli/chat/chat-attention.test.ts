import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  answer,
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
import { hasTmux, type Pane } from '../../terminal/tmux.ts';

const LOST_FOCUS = '\u001b[O';
const GOT_FOCUS = '\u001b[I';
const BELL = '\u0007';
/** The starts of everything that is written for someone who looks elsewhere. */
const SIGNALS = [BELL, '\u001b]', '\u001bP'];

/** The bytes that the chat has written since the recording began. */
function recordingOf(pane: Pane, { home }: Home) {
  const file = join(home, 'recorded');
  writeFileSync(file, '');
  pane.record(file);
  return () => readFileSync(file, 'utf8');
}

function configure({ home }: Home, yaml: string): void {
  mkdirSync(join(home, '.config/polypod'), { recursive: true });
  writeFileSync(join(home, '.config/polypod/config.yaml'), yaml);
}

const settled = { timeout: 20_000 };

describe.runIf(hasTmux)('polypod chat on a terminal that nobody looks at', () => {
  test('shows the session and its state in the window title, and restores the title', async () => {
    const home = newHome();
    const pane = await shellIn(home);
    const before = pane.title();
    startIn(pane, 'chat --offline');
    await pane.see(isIdle);
    await expect.poll(() => pane.title(), settled).toBe('idle · project');
    await submit(pane, calling('bash', { command: 'node -e "1" > made.txt' }, 'made it'));
    await pane.see(has('? bash wants to run'));
    await expect.poll(() => pane.title(), settled).toMatch(/^waiting for approval · do it \[\[sim/);
    await answer(pane, 'y');
    await pane.see(isIdle);
    await expect.poll(() => pane.title(), settled).toMatch(/^idle · do it/);
    await submit(pane, '/name cart');
    await expect.poll(() => pane.title(), settled).toBe('idle · cart');
    pane.press('C-d');
    await pane.see((lines) => lines.at(-1) === '$');
    await expect.poll(() => pane.title(), settled).toBe(before);
  });

  test('notifies of an approval and of the end of a run once the window has lost the focus', async () => {
    const home = newHome();
    const pane = await openChat(home, '--name cart');
    const recorded = recordingOf(pane, home);
    pane.send(GOT_FOCUS);
    await submit(pane, calling('bash', { command: 'node -e "1" > made.txt' }, 'made it'));
    await pane.see(has('? bash wants to run'));
    await answer(pane, 'y');
    await pane.see(has('made it'));
    await pane.see(isIdle);
    expect(recorded()).not.toContain(BELL);
    pane.send(LOST_FOCUS);
    await submit(pane, calling('bash', { command: 'node -e "2" > made.txt' }, 'made it again'));
    await pane.see(has('node -e "2"'));
    await expect
      .poll(recorded, settled)
      .toContain('Polypod: cart: approval needed: bash node -e "2" > made.txt');
    expect(recorded()).toContain(BELL);
    await answer(pane, 'y');
    await expect.poll(recorded, settled).toContain('Polypod: cart: the run is finished');
    const bells = recorded().split(BELL).length;
    pane.send(GOT_FOCUS);
    await submit(pane, 'hi [[sim text=hello]]');
    await pane.see((lines) => lines.includes('hello'));
    await pane.see(isIdle);
    expect(recorded().split(BELL)).toHaveLength(bells);
  });

  test('writes neither titles nor notifications if the configuration disables them', async () => {
    const home = newHome();
    configure(home, 'notify: { bell: false, title: false, desktop: false }\n');
    const pane = await shellIn(home);
    const recorded = recordingOf(pane, home);
    startIn(pane, 'chat --offline');
    await pane.see(isIdle);
    pane.send(LOST_FOCUS);
    await submit(pane, 'hi [[sim text=hello]]');
    await pane.see((lines) => lines.includes('hello'));
    await pane.see(isIdle);
    for (const bytes of SIGNALS) expect(recorded()).not.toContain(bytes);
  });

  test('does not show prompts in the window title with titles: off', async () => {
    const home = newHome();
    configure(home, 'titles: off\n');
    const pane = await openChat(home);
    await submit(pane, 'secret plan [[sim text=hello]]');
    await pane.see((lines) => lines.includes('hello'));
    await pane.see(isIdle);
    await expect.poll(() => pane.title(), settled).toBe('idle · project');
  });

  test('writes no escape sequences on a simple terminal', async () => {
    const home = newHome();
    const pane = await shellIn(home);
    const recorded = recordingOf(pane, home);
    pane.type('export TERM=dumb');
    pane.press('Enter');
    startIn(pane, 'chat --offline "hi [[sim text=hello]]" < /dev/null');
    await pane.see((lines) => lines.includes('hello'));
    await pane.see((lines) => lines.at(-1) === '$');
    for (const bytes of SIGNALS) expect(recorded()).not.toContain(bytes);
  });

  test('polypod run shows its state in the window title, and restores the title', async () => {
    const home = newHome();
    const pane = await shellIn(home);
    const before = pane.title();
    startIn(pane, `run --offline --name cart 'make it [[sim tool=bash args={"command":"make"} text=done]]'`);
    await pane.see(has('Allow it?'));
    await expect.poll(() => pane.title(), settled).toBe('waiting for approval · cart');
    pane.type('n');
    pane.press('Enter');
    await pane.see(has('What should it do instead?'));
    pane.press('Enter');
    await pane.see((lines) => lines.at(-1) === '$');
    await expect.poll(() => pane.title(), settled).toBe(before);
  });
});

const todoPrompt = (items: readonly object[]) => calling('todo', { items }, 'noted');

describe.runIf(hasTmux)('the todos of a chat', () => {
  test('stay above the input while a step is open, also after a resume, and fold on a small screen', async () => {
    const home = newHome();
    const pane = await openChat(home, '--name plan');
    await submit(
      pane,
      todoPrompt([
        { content: 'read it', status: 'completed' },
        { content: 'fix it', status: 'in_progress' },
        { content: 'test it', status: 'pending' },
      ]),
    );
    await pane.see(has('noted'));
    const list = [
      '',
      'todos 1/3',
      '  ✓ read it',
      '  ▸ fix it',
      '  ○ test it',
      '',
      '> type a message, /help for more',
    ];
    await pane.see((lines) => isIdle(lines) && lines.slice(-8, -1).join('\n') === list.join('\n'));
    await submit(pane, 'hi [[sim text=hello]]');
    await pane.see((lines) => lines.includes('hello') && lines.slice(-8, -1).join('\n') === list.join('\n'));
    pane.press('C-d');
    await pane.see((lines) => lines.at(-1) === '$');
    startIn(pane, 'chat --offline --resume plan');
    await pane.see((lines) => isIdle(lines) && lines.slice(-8, -1).join('\n') === list.join('\n'));
    pane.resize(80, 12);
    await pane.see((lines) => lines.at(-4) === 'todos 1/3: fix it');
    await submit(pane, todoPrompt([{ content: 'fix it', status: 'completed' }]));
    await pane.see(
      (lines) => isIdle(lines) && lines.at(-4) !== undefined && !lines.at(-4)?.startsWith('todos'),
    );
    expect(pane.screen().join('\n')).not.toContain('▸');
  });
});
