import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { has, isIdle, newHome, openChat, shellIn, startIn, submit } from './chat-fixture.ts';
import { hasTmux, type Pane } from '../../terminal/tmux.ts';

const inputOf = (lines: readonly string[]) => lines.findLast((line) => line.startsWith('> '));

async function ask(pane: Pane, text: string, answer: string): Promise<void> {
  await submit(pane, `${text} [[sim text=${answer}]]`);
  await pane.see((lines) => lines.includes(answer));
  await pane.see(isIdle);
}

async function leave(pane: Pane): Promise<void> {
  pane.press('C-d');
  await pane.see((lines) => lines.at(-1) === '$');
}

describe.runIf(hasTmux)('keys and lists of polypod chat', () => {
  test('Ctrl-R searches the history, of earlier chats too', async () => {
    const home = newHome();
    const first = await openChat(home);
    await ask(first, 'count the herons', 'three');
    await ask(first, 'name the owls', 'none');
    await leave(first);
    const pane = await openChat(home);
    pane.press('C-r');
    await pane.see(has('❯ name the owls'));
    pane.type('heron');
    await pane.see(has('❯ count the herons'));
    expect(pane.screen().join('\n')).not.toContain('owls');
    pane.press('Enter');
    await pane.see((lines) => inputOf(lines) === '> count the herons [[sim text=three]]');
    pane.press('C-r', 'Escape');
    await pane.see((lines) => inputOf(lines) === '> count the herons [[sim text=three]]');
  });

  test('Ctrl-G edits the input with $EDITOR, without keys in its environment, and leaves no file behind', async () => {
    const home = newHome();
    const editor = join(home.home, 'editor');
    const temporary = join(home.home, 'project');
    writeFileSync(
      editor,
      '#!/bin/sh\n[ "$1" = --wait ] && shift\nread -r line\nprintf "%s, %s, %s" "$(cat "$1")" "$line" "${GEMINI_API_KEY:-no key}" > "$1"\n',
    );
    chmodSync(editor, 0o755);
    const pane = await shellIn({
      ...home,
      env: { ...home.env, EDITOR: `${editor} --wait`, TMPDIR: temporary, GEMINI_API_KEY: 'secret' },
    });
    startIn(pane, 'chat --offline');
    await pane.see(isIdle);
    pane.type('first part');
    await pane.see((lines) => inputOf(lines) === '> first part');
    pane.press('C-g');
    await pane.see((lines) => inputOf(lines) === undefined);
    pane.type('typed in the editor');
    pane.press('Enter');
    await pane.see((lines) => inputOf(lines) === '> first part, typed in the editor, no key');
    expect(readdirSync(temporary)).toEqual([]);
    pane.press('C-c');
    await ask(pane, 'go on', 'continued');
  });

  test('an editor that fails leaves the input as it was', async () => {
    const home = newHome();
    const pane = await shellIn({ ...home, env: { ...home.env, VISUAL: 'false', EDITOR: 'unused' } });
    startIn(pane, 'chat --offline');
    await pane.see(isIdle);
    pane.type('precious');
    await pane.see((lines) => inputOf(lines) === '> precious');
    pane.press('C-g');
    await pane.see(has('✗ the editor "false" failed'));
    await pane.see((lines) => inputOf(lines) === '> precious');
  });

  test('Ctrl-L redraws the screen after another program has written to it', async () => {
    const home = newHome();
    const pane = await shellIn(home);
    pane.type('clear; tty > terminal');
    pane.press('Enter');
    await pane.see(() => readdirSync(home.project).includes('terminal'));
    startIn(pane, 'chat --offline');
    await pane.see(isIdle);
    await ask(pane, 'hello', 'there');
    const before = pane.screen();
    pane.type('x');
    await pane.see((lines) => inputOf(lines) === '> x');
    pane.press('BSpace');
    await pane.see((lines) => inputOf(lines) !== '> x');
    writeFileSync(readFileSync(join(home.project, 'terminal'), 'utf8').trim(), '\r\nGARBAGE\r\nGARBAGE');
    await pane.see(has('GARBAGE'));
    pane.press('C-l');
    await pane.see((lines) => !has('GARBAGE')(lines));
    await pane.see(isIdle);
    const kept = before.slice(before.findIndex((line) => line.startsWith('❯')));
    expect(pane.screen().slice(-kept.length)).toEqual(kept);
  });

  test('/model is a list with a filter that marks models without a key', async () => {
    const home = newHome();
    const pane = await shellIn({ ...home, env: { ...home.env, ANTHROPIC_API_KEY: 'not-a-real-key' } }, 120);
    startIn(pane, 'chat');
    await pane.see(isIdle);
    await submit(pane, '/model');
    await pane.see(has('Models '));
    pane.type('gpt');
    await pane.see((lines) =>
      lines.some((line) => /openai\/gpt\S+ +no key for openai: set OPENAI_API_KEY/.test(line)),
    );
    pane.press('C-u');
    pane.type('anthropic haiku');
    await pane.see((lines) => lines.some((line) => /❯ anthropic\/claude-haiku\S+$/.test(line)));
    pane.press('Enter');
    await pane.see((lines) => lines.at(-1)?.startsWith('anthropic/claude-haiku') === true);
    await submit(pane, '/model');
    await pane.see((lines) => lines.some((line) => /❯ anthropic\/claude-haiku/.test(line)));
    pane.type('openai');
    await pane.see(has('❯ openai/'));
    pane.press('Enter');
    await pane.see(has('✗ no key for openai: set OPENAI_API_KEY'));
  });

  test('/resume and --resume are lists with a filter', async () => {
    const home = newHome();
    for (const name of ['herons', 'owls', 'ravens']) {
      const pane = await openChat(home, `--name ${name}`);
      await ask(pane, `about ${name}`, `${name}-answer`);
      await leave(pane);
    }
    const pane = await openChat(home);
    await submit(pane, '/resume');
    await pane.see(has('Sessions 3'));
    pane.type('about owl');
    await pane.see(has('❯ owls'));
    pane.press('Enter');
    await pane.see((lines) => lines.at(-1)?.startsWith('owls') === true);
    await leave(pane);
    startIn(pane, 'chat --offline --resume');
    await pane.see(has('Sessions 3'));
    pane.type('heron');
    await pane.see(has('❯ herons'));
    pane.press('Enter');
    await pane.see((lines) => lines.at(-1)?.startsWith('herons') === true);
    expect(pane.screen()).toContain('herons-answer');
    await leave(pane);
    startIn(pane, 'chat --offline --resume; echo "code $?"');
    await pane.see(has('Sessions 3'));
    pane.press('Escape');
    await pane.see(has('code 130'));
  });
});
