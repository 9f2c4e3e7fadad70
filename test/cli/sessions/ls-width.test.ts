import { describe, expect, test } from 'vitest';
import { has, shellIn, startIn, submit, isIdle } from '../chat/chat-fixture.ts';
import { call, cliFixture, textAnswer } from '../daemon.ts';
import { hasTmux } from '../../terminal/tmux.ts';

describe.runIf(hasTmux)('polypod ls in a terminal', () => {
  test('shows what each session is about at 80 and at 40 columns', async () => {
    const fixture = await cliFixture([textAnswer('Done.'), textAnswer('Done.')]);
    const model = ['-C', fixture.project, '-m', 'anthropic/claude-sonnet-5'];
    await fixture.polypod('run', ...model, 'Explain why the parser rejects an empty list');
    await fixture.polypod('run', ...model, '-n', 'herons', 'Count the herons in all of the pictures');
    const at = async (columns: number): Promise<readonly string[]> => {
      const pane = await shellIn(fixture, columns);
      startIn(pane, 'ls; echo end');
      await pane.see((lines) => lines.includes('end'));
      const lines = pane.screen();
      return lines
        .slice(
          lines.findIndex((line) => line.startsWith('id ')),
          lines.indexOf('end'),
        )
        .map((line) => line.replace(/^[0-9a-f]{8} /, 'SHORT-ID ').replace(/\d+ (?:s|min) /, 'AGE '));
    };
    expect(await at(80)).toEqual([
      expect.stringMatching(/^id +state +age +cost +about$/),
      expect.stringMatching(
        /^SHORT-ID +idle +AGE +\$0\.00\d\d +herons: Count the herons in all of the pictures$/,
      ),
      expect.stringMatching(
        /^SHORT-ID +idle +AGE +\$0\.00\d\d +Explain why the parser rejects an empty list$/,
      ),
    ]);
    expect(await at(40)).toEqual([
      'id        state  about',
      'SHORT-ID  idle   herons: Count the hero…',
      'SHORT-ID  idle   Explain why the parser…',
    ]);
    expect((await at(140))[0]).toMatch(/^id +name +state +age +cost +asked +directory +about$/);
  });
});

describe.runIf(hasTmux)('the cost of a session', () => {
  test('is the same in chat, attach, ls, sessions show and after a compaction', async () => {
    const fixture = await cliFixture([
      call('ls', { path: '.' }),
      textAnswer('A long answer. '.repeat(200)),
      textAnswer('A summary.'),
    ]);
    const chat = await shellIn(fixture, 100, 40);
    startIn(chat, 'chat --name herons --model anthropic/claude-sonnet-5');
    await chat.see(isIdle);
    await submit(chat, 'Count the herons');
    await chat.see((lines) => isIdle(lines) && /\$0\.\d+$/.test(lines.at(-1) ?? ''));
    const costBefore = /\$[\d.]+$/.exec(chat.screen().at(-1) ?? '')?.[0];
    await submit(chat, '/compact');
    await chat.see((lines) => isIdle(lines) && !(lines.at(-1) ?? '').endsWith(`${costBefore}`));
    const cost = /\$[\d.]+$/.exec(chat.screen().at(-1) ?? '')?.[0] ?? 'no cost';
    const attached = await shellIn(fixture, 100, 40);
    startIn(attached, 'attach herons');
    await attached.see(has('herons · '));
    await attached.see(isIdle);
    expect(attached.screen().at(-1)).toMatch(new RegExp(`${cost.replace(/[$.]/g, '\\$&')}$`));
    await submit(attached, '/cost');
    await attached.see((lines) => lines.includes(`  ${cost}`));
    await expect
      .poll(async () => (await fixture.polypod('ls')).stdout, { timeout: 20_000 })
      .toContain(` ${cost} `);
    expect((await fixture.polypod('sessions', 'show', 'herons')).stdout).toContain(cost);
  });
});
