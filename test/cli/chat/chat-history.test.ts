import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { calling, has, isIdle, newHome, openChat, shellIn, startIn, submit } from './chat-fixture.ts';
import { hasTmux, type Pane } from '../../terminal/tmux.ts';

async function withHistory() {
  const home = newHome();
  writeFileSync(join(home.project, 'notes.txt'), 'alpha\nbeta\n');
  const pane = await openChat(home, '--name herons --mode full-access', 80, 40);
  await submit(
    pane,
    'change it [[sim thinking=\'beta must go\' tool=edit args=\'{"path":"notes.txt","old":"beta","new":"gamma"}\' text=changed]]',
  );
  await pane.see((lines) => lines.includes('changed'));
  await pane.see(isIdle);
  await submit(pane, calling('bash', { command: 'echo $((40 + 2)); node -e "process.exit(3)"' }, 'ran'));
  await pane.see((lines) => lines.includes('ran'));
  await pane.see(isIdle);
  return { home, pane };
}

async function expectHistory(pane: Pane): Promise<void> {
  await pane.see(isIdle);
  expect(pane.all()).toEqual(
    expect.arrayContaining([
      '✻ thought (ctrl-o)',
      '✓ edit notes.txt',
      '  Edited notes.txt: 1 replacement, +1 -1',
      '  -beta',
      '  +gamma',
      '✗ bash echo $((40 + 2)); node -e "process.exit(3)" failed',
      '  42',
    ]),
  );
  expect(pane.all().join('\n')).not.toMatch(/^ +beta must go$/m);
  pane.press('C-o', 'C-o', 'C-o');
  await pane.see((lines) => lines.some((line) => /^ +beta must go$/.test(line)));
}

describe.runIf(hasTmux)('the history of a session', () => {
  test('is shown with results, diffs and thinking after it is resumed', async () => {
    const { home, pane } = await withHistory();
    pane.press('C-d');
    await pane.see((lines) => lines.at(-1) === '$');
    const resumed = await openChat(home, '--resume herons', 80, 40);
    await expectHistory(resumed);
  });

  test('is shown with results, diffs and thinking to a client that attaches', async () => {
    const { home } = await withHistory();
    const attached = await shellIn(home, 80, 40);
    startIn(attached, 'attach herons');
    await attached.see(has('herons · '));
    await expectHistory(attached);
  });
});
