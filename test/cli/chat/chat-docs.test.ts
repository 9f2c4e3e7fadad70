import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PodClient } from '../../../src/client/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { answer, has, isIdle, submit, shellIn, startIn } from './chat-fixture.ts';
import { call, textAnswer, cliFixture } from '../daemon.ts';
import { hasTmux } from '../../terminal/tmux.ts';

const PAGE = readFileSync('docs/chat.md', 'utf8');

function shown(name: string): readonly string[] {
  const [, block] = PAGE.split(`<!-- screen: ${name} -->\n\`\`\`text\n`);
  return comparable((block?.split('\n```')[0] ?? '').split('\n'));
}

/** Times and token counts vary. */
function comparable(lines: readonly string[]): readonly string[] {
  return lines.map((line) =>
    line.replace(/ {2,}(?:[\d.]+k? tokens|\d+%).*$/, '  FIGURES').replace(/[\d.]+ s\b/, 'TIME'),
  );
}

const ANSWER = `The greeting is friendlier now, and \`node greet.js\` prints it:

- it says **Hello** instead of *hi*
- it ends with an exclamation mark`;

describe.runIf(hasTmux)('the screens in docs/chat.md match the program', () => {
  test('an edit, an approval, an answer', async () => {
    const fixture = await cliFixture([
      {
        parts: [
          { thinking: 'The greeting is in greet.js.' },
          { toolCall: { name: 'edit', arguments: { path: 'greet.js', old: "'hi'", new: "'Hello!'" } } },
        ],
      },
      call('bash', { command: 'node greet.js' }),
      textAnswer(ANSWER),
    ]);
    writeFileSync(join(fixture.project, 'greet.js'), "const name = 'ada';\nconsole.log('hi', name);\n");
    const pane = await shellIn(fixture);
    startIn(pane, 'chat --model anthropic/claude-sonnet-5');
    await pane.see(isIdle);
    await submit(pane, 'Make the greeting friendlier, and try it.');
    await pane.see(has('y yes, once'));
    expect(comparable(pane.screen())).toEqual(shown('question'));
    await answer(pane, 'y');
    await pane.see(has('exclamation mark'));
    await pane.see(isIdle);
    expect(comparable(pane.screen())).toEqual(shown('answer'));
  });

  test('a pod that another client controls', async () => {
    const fixture = await cliFixture([
      call('bash', { command: 'node -p process.version' }),
      textAnswer('It is a recent one.'),
    ]);
    await fixture.serve();
    const { stdout } = await fixture.polypod(
      'new',
      '--name',
      'shared',
      '--model',
      'anthropic/claude-sonnet-5',
    );
    const pane = await shellIn(fixture, 80, 18);
    startIn(pane, 'attach shared');
    await pane.see(isIdle);
    const path = join(dataPathsFrom(fixture.env).runtimeDirectory, 'pods', `${stdout.trim()}.sock`);
    const bob = await PodClient.open({ path, name: 'bob' });
    onTestFinished(() => bob.close());
    await bob.run('Which node is this?');
    await pane.see(has('? bash wants to run'));
    for await (const { event, data } of bob.events())
      if (event === 'approval_request') {
        await bob.decide(data.approval_id, 'approve');
        break;
      }
    await pane.see(has('It is a recent one.'));
    await pane.see(isIdle);
    const lines = pane.screen().map((line) => line.replace(/^ {2}v\d+\.\d+\.\d+$/, '  v20.19.0'));
    expect(comparable(lines)).toEqual(shown('attach'));
  });
});
