import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { displayWidth } from '../../../src/terminal/width.ts';
import { generatedText } from '../../../src/sim/index.ts';
import { answer, calling, has, isIdle, newHome, openChat, submit, shellIn, startIn } from './chat-fixture.ts';
import { hasTmux, type Pane } from '../../terminal/tmux.ts';

const counting = (lines: readonly string[], text: string) =>
  lines.filter((line) => line.includes(text)).length;

/** A chat after an answer that filled the screen. A screen that is not full loses its first rows to tmux's history. */
async function openChatOnFullScreen(): Promise<Pane> {
  const pane = await openChat(newHome());
  await submit(pane, 'hi [[sim deltas=300 delay=0]]');
  await pane.see((lines) => /· idle +\S+ tokens$/.test(lines.at(-1) ?? ''));
  return pane;
}

/** The complete answer to the last prompt, after checking that everything is shown once. */
function answerIn(pane: Pane, prompt: string): string {
  const all = pane.all();
  expect(all.filter((line) => line.startsWith('❯'))).toHaveLength(2);
  const shown = all.slice(all.indexOf(prompt) + 1);
  expect(shown.slice(-2)).toEqual([
    '> type a message, /help for more',
    expect.stringMatching(/^sim\/offline · workspace-write · idle/),
  ]);
  // A line that was written before the new width was known is wrapped within a word.
  const text = withoutSpaces(shown.slice(0, -2).join(''));
  expect(text).toBe(withoutSpaces(generatedText(2 * text.length)).slice(0, text.length));
  return text;
}

const withoutSpaces = (text: string) => text.replaceAll(/\s+/g, '');

describe.runIf(hasTmux)('polypod chat on a real terminal', () => {
  test('answers a prompt, collapses thinking and calls, and ctrl-o expands them', async () => {
    const home = newHome();
    writeFileSync(join(home.project, 'notes.txt'), 'alpha\nbeta\n');
    const pane = await openChat(home);
    await submit(
      pane,
      'change it [[sim thinking=\'beta must go\' tool=edit args=\'{"path":"notes.txt","old":"beta","new":"gamma"}\' text=\'**Done**: it says *gamma* now.\']]',
    );
    await pane.see(has('Done: it says gamma now.'));
    await pane.see(isIdle);
    const shown = pane.all().join('\n');
    expect(shown).toContain('✓ edit notes.txt');
    expect(shown).toContain('  -beta');
    expect(shown).toContain('  +gamma');
    expect(shown).toMatch(/✻ thought for [\d.]+ s \(ctrl-o\)/);
    expect(shown).not.toMatch(/^\s+beta must go$/m);
    expect(pane.all().at(-1)).toMatch(/^sim\/offline · workspace-write · idle +[\d.]+k? tokens$/);
    pane.press('C-o');
    await pane.see((lines) => lines.some((line) => /^ +beta must go$/.test(line)));
    expect(readFileSync(join(home.project, 'notes.txt'), 'utf8')).toBe('alpha\ngamma\n');
  });

  test('many resizes during an answer neither duplicate nor remove output', async () => {
    const pane = await openChatOnFullScreen();
    // The answer fits the screen at every width: live lines that scroll off the screen cannot be erased.
    await submit(pane, 'talk [[sim deltas=20 delay=100]]');
    await pane.see(has('answering'));
    for (const columns of [90, 40, 88, 40, 86, 40, 84, 40, 82, 40, 81, 80]) pane.resize(columns, 24);
    await pane.see(isIdle);
    expect(answerIn(pane, '❯ talk [[sim deltas=20 delay=100]]').length).toBeGreaterThan(200);
  });

  test('resizes that are drawn one by one neither duplicate nor remove output', async () => {
    const pane = await openChatOnFullScreen();
    await submit(pane, 'talk [[sim deltas=2 delay=3000]]');
    await pane.see(has('answering'));
    for (const columns of [90, 50, 88, 50, 86, 50, 84, 50, 82, 50, 81, 80]) {
      pane.resize(columns, 24);
      // Once the status line reaches the right edge, the program has processed the new size.
      await pane.see((lines) => displayWidth(lines.at(-1) ?? '') === columns);
    }
    await pane.see(isIdle);
    expect(answerIn(pane, '❯ talk [[sim deltas=2 delay=3000]]').length).toBeGreaterThan(0);
  });

  test('y answers an approval once', async () => {
    const home = newHome();
    const pane = await openChat(home);
    await submit(pane, calling('bash', { command: 'node -e "1" > made.txt' }, 'made it'));
    await pane.see(has('? bash wants to run'));
    expect(existsSync(join(home.project, 'made.txt'))).toBe(false);
    await answer(pane, 'y');
    await pane.see(has('made it'));
    await pane.see(isIdle);
    expect(pane.all()).toContain('· approved: bash node -e "1" > made.txt');
    expect(existsSync(join(home.project, 'made.txt'))).toBe(true);
  });

  test('n denies a call with a comment, which the model receives', async () => {
    const home = newHome();
    const pane = await openChat(home);
    await submit(pane, calling('bash', { command: 'node -e "1" > made.txt' }, 'as you wish'));
    await answer(pane, 'n');
    await pane.see(has('What should it do instead?'));
    pane.type('use the write tool');
    pane.press('Enter');
    await pane.see(has('as you wish'));
    await pane.see(isIdle);
    expect(pane.all()).toContain('· denied: bash node -e "1" > made.txt (use the write tool)');
    expect(pane.all().join('\n')).toMatch(/⊘ .* denied/);
    expect(existsSync(join(home.project, 'made.txt'))).toBe(false);
    await submit(pane, '/export out.md');
    await pane.see(has('written to'));
    expect(readFileSync(join(home.project, 'out.md'), 'utf8')).toContain('use the write tool');
  });

  test('always applies to the session: the second call needs no approval', async () => {
    const home = newHome();
    const pane = await openChat(home);
    await submit(pane, calling('bash', { command: 'node -e "0" first' }, 'one'));
    await pane.see(has('always means: bash node'));
    await answer(pane, 'a');
    await pane.see((lines) => lines.includes('one'));
    await submit(pane, calling('bash', { command: 'node -e "0" first' }, 'two'));
    await pane.see((lines) => lines.includes('two'));
    expect(pane.all()).toContain('· approved, also for the rest of this session: bash node -e "0" first');
    expect(counting(pane.all(), '? bash wants to run')).toBe(1);
  });

  test('a call can be edited before it runs, and an error in it is shown', async () => {
    const home = newHome();
    const pane = await openChat(home);
    await submit(pane, calling('bash', { command: 'node -e 1 wrong' }, 'ran it'));
    await answer(pane, 'e');
    await pane.see(has('"command": "node -e 1 wrong"'));
    pane.press('C-c');
    await pane.see(isIdle);
    await submit(pane, calling('bash', { command: 'node -e 2 wrong' }, 'ran it'));
    await answer(pane, 'e');
    await pane.see(has('"command": "node -e 2 wrong"'));
    pane.press('BSpace');
    pane.press('Enter');
    await pane.see(has('That is not JSON'));
    for (const key of ['C-u', 'C-u', 'C-u', 'C-u', 'C-u']) pane.press(key);
    await pane.see((lines) => !has('node -e 2 wrong"')(lines.slice(-8)));
    pane.type('{"command":"node -p 6*7"}');
    pane.press('Enter');
    await pane.see(has('ran it'));
    await pane.see(isIdle);
    expect(pane.all()).toContain('· approved with changed arguments: bash node -e 2 wrong');
    expect(pane.all()).toContain('  42');
  });

  test('/questions shows a deferred approval again', async () => {
    const pane = await openChat(newHome());
    await submit(pane, calling('bash', { command: 'node -e 1' }, 'ran it'));
    await pane.see(has('y yes, once'));
    pane.press('Escape');
    await pane.see(has('deferred: /questions shows it again'));
    await pane.see((lines) => !has('y yes, once')(lines));
    await submit(pane, '/questions');
    await answer(pane, 'y');
    await pane.see(has('ran it'));
  });

  test('ctrl-c cancels the run, and queued messages return to the input', async () => {
    const pane = await openChat(newHome());
    await submit(pane, 'talk [[sim deltas=2000 delay=10]]');
    await pane.see(has('answering'));
    await submit(pane, 'stop that please');
    await pane.see(has('↳ steers: stop that please'));
    pane.type('and then rest');
    await pane.see(has('> and then rest'));
    pane.press('M-Enter');
    await pane.see(has('↳ afterwards: and then rest'));
    pane.press('Escape');
    await pane.see(has('Esc again cancels'));
    pane.press('C-c');
    await pane.see(has('! cancelled'));
    await pane.see(has('> stop that please'));
    await pane.see(isIdle);
    expect(pane.screen().join('\n')).not.toContain('↳');
    expect(pane.screen().at(-2)).toBe('  and then rest');
  });

  test('a message during a run steers it before its next turn', async () => {
    const home = newHome();
    const pane = await openChat(home, '--mode full-access');
    await submit(pane, calling('bash', { command: 'until [ -e go ]; do sleep 0.05; done' }, 'finished'));
    await pane.see(has('● until'));
    await submit(pane, 'say hello [[sim text=steered]]');
    await pane.see(has('↳ steers: say hello'));
    writeFileSync(join(home.project, 'go'), '');
    await pane.see((lines) => lines.includes('steered'));
    await pane.see(isIdle);
    expect(pane.all()).toContain('❯ say hello [[sim text=steered]]');
  });

  test('resumes an earlier session by --continue, by name, and from a list', async () => {
    const home = newHome();
    const pane = await openChat(home, '--name first-one');
    await submit(pane, 'remember the heron [[sim text=kept]]');
    await pane.see((lines) => lines.includes('kept'));
    await pane.see(isIdle);
    pane.press('C-d');
    await pane.see(has('polypod chat --resume first-one resumes this session'));
    await pane.see((lines) => lines.at(-1) === '$');
    for (const option of ['--continue', '--resume first-one']) {
      startIn(pane, `chat --offline ${option}`);
      await pane.see(isIdle);
      expect(pane.screen()).toContain('❯ remember the heron [[sim text=kept]]');
      expect(pane.screen()).toContain('kept');
      pane.press('C-d');
      await pane.see((lines) => lines.at(-1) === '$');
    }
    startIn(pane, 'chat --offline --resume');
    await pane.see(has('❯ first-one'));
    pane.press('Enter');
    await pane.see(isIdle);
    expect(pane.screen()).toContain('kept');
    pane.press('Up');
    await pane.see(has('> remember the heron [[sim text=kept]]'));
    expect(statSync(join(home.home, '.local/share/polypod/prompt-history.jsonl')).mode & 0o777).toBe(0o600);
  });

  test('/branch returns to an earlier prompt, /fork and /resume change the session', async () => {
    const home = newHome();
    const pane = await openChat(home);
    for (const word of ['one', 'two']) {
      await submit(pane, `${word} [[sim text=${word}-answer]]`);
      await pane.see((lines) => lines.includes(`${word}-answer`));
      await pane.see(isIdle);
    }
    await submit(pane, '/branch');
    await pane.see(has('1  one [[sim text=one-answer]]'));
    await submit(pane, '/branch 2');
    await pane.see(has('> two [[sim text=two-answer]]'));
    pane.press('C-c');
    await submit(pane, '/name the-first');
    await pane.see(has('the name is now the-first'));
    await submit(pane, '/fork');
    await pane.see((lines) => lines.at(-1)?.startsWith('sim/offline') === true);
    await submit(pane, '/name the-second');
    await pane.see((lines) => lines.at(-1)?.startsWith('the-second') === true);
    await submit(pane, '/resume the-first');
    await pane.see((lines) => lines.at(-1)?.startsWith('the-first') === true);
    await submit(pane, '/mode read-only');
    await pane.see((lines) => lines.at(-1)?.includes('read-only') === true);
  });

  test('runs a shell command of the user, and ctrl-c cancels it', async () => {
    const pane = await openChat(newHome());
    await submit(pane, '!echo $((40 + 2))');
    await pane.see((lines) => lines.includes('  42'));
    await submit(pane, '!!sleep 1000');
    await pane.see(has('● !! sleep 1000'));
    pane.press('C-c');
    await pane.see(has('■ !! sleep 1000 cancelled'));
  });

  test('wide characters stay within 80 columns after resizes', async () => {
    const pane = await openChat(newHome());
    const text = '日本語のとても長い文章です。ภาษาไทยก็มีด้วย。👩‍👩‍👧‍👦と🇯🇵も。'.repeat(4);
    await submit(pane, `言って [[sim text='${text}' size=3]]`);
    // There is no usage before the first answer.
    await pane.see((lines) => /· idle +\S+ tokens$/.test(lines.at(-1) ?? ''));
    for (const [columns, rows] of [
      [50, 20],
      [100, 30],
      [80, 24],
    ] as const) {
      pane.resize(columns, rows);
      // Once the status line reaches the right edge, the program has processed the new size.
      await pane.see((lines) => displayWidth(lines.at(-1) ?? '') === columns);
      expect(pane.all().filter((line) => displayWidth(line) > columns)).toEqual([]);
    }
    expect(counting(pane.all(), 'type a message')).toBe(1);
    expect(counting(pane.all(), '· idle')).toBe(1);
    expect(pane.all().join('').replaceAll(' ', '')).toContain('日本語のとても長い文章です。');
  });

  test('@ completes a file, / a command and its argument, and the path of an image attaches it', async () => {
    const home = newHome();
    writeFileSync(join(home.project, 'heron.txt'), '');
    const picture = join(home.project, 'a b.png');
    writeFileSync(
      picture,
      Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      ),
    );
    const pane = await openChat(home);
    pane.type('see @her');
    await pane.see(has('❯ heron.txt'));
    pane.press('Tab');
    await pane.see(has('> see @heron.txt'));
    pane.press('C-c');
    pane.type('/mode rea');
    await pane.see(has('❯ read-only'));
    pane.press('Enter', 'Enter');
    await pane.see(has('the mode is now read-only'));
    pane.paste(picture.replaceAll(' ', '\\ '));
    await pane.see(has('> [image a b.png]'));
    pane.type(' what is it? [[sim text=seen]]');
    pane.press('Enter');
    await pane.see((lines) => lines.includes('seen'));
    expect(pane.all()).toContain('· with 1 image');
  });

  test('a session without messages is removed', async () => {
    const home = newHome();
    const pane = await openChat(home);
    pane.press('C-c');
    await pane.see(has('Ctrl-C again exits'));
    pane.press('C-c');
    await pane.see((lines) => lines.at(-1) === '$');
    startIn(pane, 'ls --json');
    await pane.see((lines) => lines.includes('[]'));
  });

  test('a session that another process has open is rejected, and the chat continues', async () => {
    const home = newHome();
    const first = await openChat(home, '--name taken');
    await submit(first, 'hello [[sim text=here]]');
    await first.see((lines) => lines.includes('here'));
    const pane = await openChat(home);
    await submit(pane, '/resume taken');
    await pane.see((lines) => lines.some((line) => line.startsWith('✗ ')));
    await submit(pane, 'still [[sim text=there]]');
    await pane.see((lines) => lines.includes('there'));
  });

  test('--no-session stores neither the session nor the prompts', async () => {
    const home = newHome();
    const pane = await openChat(home, '--no-session');
    await submit(pane, 'whisper [[sim text=hushed]]');
    await pane.see((lines) => lines.includes('hushed'));
    await pane.see(isIdle);
    pane.press('C-d');
    await pane.see((lines) => lines.at(-1) === '$');
    expect(existsSync(join(home.home, '.local/share/polypod'))).toBe(false);
    expect(pane.all().join('\n')).not.toContain('--resume');
  });

  test('NO_COLOR removes colours only: the view is the same, with bold and dim text', async () => {
    const home = newHome();
    const shown = [];
    for (const variable of [{}, { NO_COLOR: '1' }]) {
      const pane = await openChat({ ...home, env: { ...home.env, ...variable } });
      await submit(pane, "hello [[sim text='plain **bold** `code`']]");
      await pane.see((lines) => lines.includes('plain bold code'));
      await pane.see(isIdle);
      const painted = pane.painted().join('\n');
      shown.push({
        text: pane.screen(),
        hasColours: /\p{Cc}\[(?:\d+;)*3[0-7]/u.test(painted),
        isBold: /\[(?:\d+;)*1mbold/.test(painted),
      });
    }
    expect(shown[0]).toEqual({ text: shown[1]?.text, hasColours: true, isBold: true });
    expect(shown[1]).toEqual({ text: shown[0]?.text, hasColours: false, isBold: true });
  });

  test('a failed run shows the reason, and the chat continues', async () => {
    const pane = await openChat(newHome());
    await submit(pane, 'break [[sim fault=401]]');
    await pane.see((lines) => lines.some((line) => line.startsWith('✗ ')));
    await submit(pane, 'again [[sim text=better]]');
    await pane.see((lines) => lines.includes('better'));
  });
});

describe.runIf(hasTmux)('polypod chat exits', () => {
  test('and restores the terminal, also on a signal', async () => {
    const pane = await shellIn(newHome());
    startIn(pane, 'chat --offline & pid=$!; fg >/dev/null');
    await pane.see(isIdle);
    pane.press('C-z');
    await pane.see((lines) => lines.at(-1) === '$');
    pane.type('kill $pid; fg >/dev/null; echo "code $?"');
    pane.press('Enter');
    await pane.see(has('code 130'));
    pane.type('stty -a | tr " ;" "\\n\\n" | grep -x -e icanon -e echo | sort | xargs echo now');
    pane.press('Enter');
    await pane.see((lines) => lines.includes('now echo icanon'));
  });
});
