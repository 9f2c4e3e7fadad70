import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { has, newHome, openChat, submit } from './chat-fixture.ts';
import { completionOf } from '../../../src/cli/chat/slash/completions.ts';
import type { CustomCommand } from '../../../src/setup/index.ts';
import { fuzzyPaths } from '../../../src/cli/chat/slash/fuzzy-paths.ts';
import { hasTmux } from '../../terminal/tmux.ts';

const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** The line of the input and the menu below it. */
const inputOf = (lines: readonly string[]) => lines.findLast((line) => line.startsWith('> '));

describe.runIf(hasTmux)('completion in polypod chat', () => {
  test('Tab accepts the selected entry and opens a directory', async () => {
    const home = newHome();
    mkdirSync(join(home.project, 'birds/herons'), { recursive: true });
    writeFileSync(join(home.project, 'birds/herons/grey.txt'), '');
    writeFileSync(join(home.project, 'birds/herons/purple.txt'), '');
    writeFileSync(join(home.project, 'bricks.txt'), '');
    const pane = await openChat(home);
    pane.type('see @b');
    await pane.see(has('❯ birds/'));
    pane.press('Tab');
    await pane.see(has('❯ herons/'));
    pane.press('Tab');
    await pane.see(has('❯ grey.txt'));
    pane.press('Down', 'Tab');
    await pane.see((lines) => inputOf(lines) === '> see @birds/herons/purple.txt');
    expect(pane.screen().join('\n')).not.toContain('❯');
  });

  test('@ searches the whole tree fuzzily, without ignored files', async () => {
    const home = newHome();
    mkdirSync(join(home.project, 'source/deeply/nested'), { recursive: true });
    mkdirSync(join(home.project, 'build/nested'), { recursive: true });
    writeFileSync(join(home.project, '.gitignore'), 'build/\n');
    writeFileSync(join(home.project, 'source/deeply/nested/chat-session.ts'), '');
    writeFileSync(join(home.project, 'build/nested/chat-session.js'), '');
    const pane = await openChat(home);
    pane.type('see @chses');
    await pane.see(has('❯ chat-session.ts'));
    expect(pane.screen().join('\n')).not.toContain('chat-session.js');
    pane.press('Tab');
    await pane.see((lines) => inputOf(lines) === '> see @source/deeply/nested/chat-session.ts');
  });

  test('a path with spaces is quoted, and its image is attached', async () => {
    const home = newHome();
    mkdirSync(join(home.project, 'my pictures'));
    writeFileSync(join(home.project, 'my pictures/grey heron.png'), PICTURE);
    const pane = await openChat(home);
    pane.type('what is @my');
    await pane.see(has('❯ my pictures/'));
    pane.press('Tab');
    await pane.see(has('❯ grey heron.png'));
    pane.press('Tab');
    await pane.see((lines) => inputOf(lines) === '> what is @"my pictures/grey heron.png"');
    await submit(pane, '[[sim text=seen]]');
    await pane.see((lines) => lines.includes('seen'));
    expect(pane.all()).toContain('· with 1 image');
  });

  test('/mode runs /mode, not /model', async () => {
    const pane = await openChat(newHome());
    pane.type('/mode');
    await pane.see(has('❯ /mode '));
    pane.press('Enter');
    await pane.see((lines) => lines.includes('· workspace-write'));
  });
});

test.each(['/review @gr', '/review a.txt @gr', '/compact @gr'])('%s completes a file', (text) => {
  const commands: readonly CustomCommand[] = [
    { name: 'review', description: '', takes: '', of: 'user', file: '', body: '' },
  ];
  const known = { cwd: '/nowhere', commands, models: [], sessions: [], files: () => ['birds/grey.txt'] };
  expect(completionOf(text, text.length, known)).toMatchObject({
    from: text.indexOf('@'),
    choices: [{ insert: '@birds/grey.txt ' }],
  });
});

describe('the fuzzy order of paths', () => {
  test.each([
    ['names before directories', 'edit', ['edit/other.ts', 'src/edit.ts'], ['src/edit.ts', 'edit/other.ts']],
    ['beginnings before parts', 'view', ['a/review.ts', 'b/view.ts'], ['b/view.ts', 'a/review.ts']],
    ['connected before scattered', 'tab', ['to-a-bee.ts', 'x/table.ts'], ['x/table.ts', 'to-a-bee.ts']],
    ['starts of words first', 'cs', ['abcdes.ts', 'chat-session.ts'], ['chat-session.ts', 'abcdes.ts']],
    ['short before long', 'main', ['a/b/c/main.ts', 'a/main.ts'], ['a/main.ts', 'a/b/c/main.ts']],
    ['a directory by its name', 'term', ['src/terminal/', 'src/x.ts'], ['src/terminal/']],
    ['parts of a path', 'src/ed', ['src/x/edit.ts', 'other/src.ts'], ['src/x/edit.ts']],
  ])('%s', (_, typed, paths, expected) => {
    expect(fuzzyPaths(typed, paths, 10)).toEqual(expected);
  });
});
