import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { answer, has, isIdle, submit, shellIn, startIn } from './chat-fixture.ts';
import { textAnswer, type CliFixture, cliFixture } from '../daemon.ts';
import { hasTmux, type Pane } from '../../terminal/tmux.ts';

/** Commands that need approval, each of which creates a file. */
const making = (name: string): string => `node -e 0 > ${name}.txt`;
/** Its paths are resolved one by one, which takes longer than judging the calls after it. */
const slow = (name: string): string =>
  `${making(name)} # ${Array.from({ length: 200 }, (_, at) => `sub/${at}/../${at}`).join(' ')}`;
const calls = (...commands: readonly string[]): SimAnswer => ({
  parts: commands.map((command) => ({ toolCall: { name: 'bash', arguments: { command, timeout: 77 } } })),
});
const made = ({ project }: CliFixture, name: string): boolean => existsSync(join(project, `${name}.txt`));

async function chatting(fixture: CliFixture, args = ''): Promise<Pane> {
  const pane = await shellIn(fixture, 90, 40);
  startIn(pane, args === '' ? 'chat' : args);
  await pane.see(isIdle);
  return pane;
}

/** The approval prompt at the bottom of the screen: the line with the call directly above the keys. */
const asks = (text: string) => (lines: readonly string[]) => {
  const at = lines.findLastIndex((line) => line.includes('y yes, once'));
  return at > 0 && lines[at - 1]?.includes(text) === true;
};

describe.runIf(hasTmux)('the approvals of one turn in polypod chat', () => {
  test('appear one at a time in call order, and y approves the shown call', async () => {
    const fixture = await cliFixture([
      calls(slow('one'), making('two'), making('three')),
      textAnswer('all done'),
    ]);
    const pane = await chatting(fixture);
    await submit(pane, 'go');
    await pane.see(asks('? 1 of 3 · bash node -e 0 > one.txt'));
    const first = pane.all().join('\n');
    expect(first).toContain('? 1 of 3 · bash wants to run: node -e 0 > one.txt');
    // The complete call is above the keys, including arguments other than the command, and no part of another call.
    expect(first.replaceAll(/\s+/g, '')).toContain('sub/199/../199');
    expect(first).toContain('  timeout: 77');
    expect(first).not.toContain('two.txt');

    await answer(pane, 'y');
    await pane.see(asks('? 2 of 3 · bash node -e 0 > two.txt'));
    // It runs although the other calls are still pending.
    while (!made(fixture, 'one')) await sleep(20);
    expect([made(fixture, 'two'), made(fixture, 'three')]).toEqual([false, false]);
    expect(pane.all().join('\n')).toContain('· approved: bash node -e 0 > one.txt');
    expect(pane.all().join('\n')).not.toContain('three.txt');

    await answer(pane, 'n');
    await pane.see(has('What should it do instead?'));
    pane.press('Enter');
    await pane.see(asks('? 3 of 3 · bash node -e 0 > three.txt'));
    expect(pane.all().join('\n')).toContain('· denied: bash node -e 0 > two.txt');
    // The complete call is shown again, although it has scrolled away.
    await answer(pane, 'v');
    await pane.see(
      (lines) => lines.filter((line) => line.includes('3 of 3 · bash wants to run')).length === 2,
    );
    pane.type('y');
    await pane.see(has('all done'));
    expect(pane.all().join('\n')).toContain('· approved: bash node -e 0 > three.txt');
    expect([made(fixture, 'one'), made(fixture, 'two'), made(fixture, 'three')]).toEqual([true, false, true]);
  });

  test('keys typed before a question, or for a settled one, answer nothing', async () => {
    const fixture = await cliFixture([calls(making('one'), making('two')), textAnswer('all done')]);
    await fixture.serve('--quiet');
    const pane = await chatting(fixture);
    await submit(pane, 'go');
    // Typed as fast as a terminal can: no key answers an approval that appears meanwhile.
    pane.type('y'.repeat(40));
    await pane.see(asks('? 1 of 2 · bash node -e 0 > one.txt'));
    expect(made(fixture, 'one')).toBe(false);

    // Another client decides the first approval: its prompt is withdrawn, and the next one is shown.
    await answer(pane, 'n');
    await pane.see(has('What should it do instead?'));
    pane.type('yay');
    const [first] = JSON.parse((await fixture.polypod('approvals', '--json')).stdout) as { id: string }[];
    expect((await fixture.polypod('approvals', 'approve', first?.id ?? '')).code).toBe(0);
    await pane.see(asks('? 2 of 2 · bash node -e 0 > two.txt'));
    // The text that was typed for the first approval is discarded.
    pane.press('Enter');
    await pane.see(has('approved through terminal: bash node -e 0 > one.txt'));
    expect(asks('? 2 of 2 · bash node -e 0 > two.txt')(pane.all())).toBe(true);
    expect(made(fixture, 'two')).toBe(false);
    await answer(pane, 'y');
    await pane.see(has('all done'));
    expect(pane.all().join('\n')).not.toContain('↳');
    expect([made(fixture, 'one'), made(fixture, 'two')]).toEqual([true, true]);
  });

  test('look the same to every attached client, and the first decision counts', async () => {
    const fixture = await cliFixture([calls(making('one'), making('two')), textAnswer('all done')]);
    await fixture.serve('--quiet');
    const { id } = JSON.parse((await fixture.polypod('new', '--json', '--cwd', fixture.project)).stdout) as {
      id: string;
    };
    const [one, two] = [await chatting(fixture, `attach ${id}`), await chatting(fixture, `attach ${id}`)];
    await submit(one, 'go');
    await two.see(asks('? 1 of 2 · bash node -e 0 > one.txt'));
    await one.see(asks('? 1 of 2 · bash node -e 0 > one.txt'));
    await answer(two, 'y');
    await one.see(asks('? 2 of 2 · bash node -e 0 > two.txt'));
    await answer(one, 'y');
    for (const pane of [one, two]) {
      await pane.see(has('all done'));
      expect(pane.all().join('\n')).toContain('bash node -e 0 > one.txt');
    }
    expect([made(fixture, 'one'), made(fixture, 'two')]).toEqual([true, true]);
  });
});

describe.runIf(hasTmux)('the approvals of one turn in polypod run', () => {
  test('appear one at a time in call order, with their number, and earlier input is not an answer', async () => {
    const fixture = await cliFixture([calls(slow('one'), making('two')), textAnswer('all done')]);
    const pane = await shellIn(fixture, 90, 40);
    startIn(pane, 'run go');
    // Typed before the first approval: a complete line and an unfinished line.
    pane.type('y');
    pane.press('Enter');
    pane.type('y');
    await pane.see(has('1 of 2 · bash wants to run: node -e 0 > one.txt'));
    await pane.see(has('Allow it?'));
    expect(pane.all().join('\n')).not.toContain('two.txt');
    pane.press('Enter');
    await pane.see(has('What should it do instead?'));
    pane.press('Enter');
    await pane.see(has('denied: bash node -e 0 > one.txt'));
    await pane.see(has('2 of 2 · bash wants to run: node -e 0 > two.txt'));
    await pane.see((lines) => lines.filter((line) => line.includes('Allow it?')).length === 2);
    pane.type('y');
    pane.press('Enter');
    await pane.see(has('approved: bash node -e 0 > two.txt'));
    await pane.see(has('all done'));
    expect([made(fixture, 'one'), made(fixture, 'two')]).toEqual([false, true]);
  });
});
