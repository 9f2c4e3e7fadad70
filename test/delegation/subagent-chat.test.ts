import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { answer, has, isIdle, shellIn, startIn, submit } from '../cli/chat/chat-fixture.ts';
import { call, textAnswer } from '../cli/daemon.ts';
import { hasTmux } from '../terminal/tmux.ts';
import { familyFixture, reports, tries } from './fixture.ts';

describe.runIf(hasTmux)('the card of a sub-agent in chat', () => {
  test('shows its progress, asks for its approvals, and names the command that opens its transcript', async () => {
    const fixture = await familyFixture({
      parent: reports({ 'make the file': { prompt: 'Make it.' } }),
      child: (request, turn) =>
        turn < 2
          ? tries('bash', { command: turn === 0 ? 'pwd' : 'touch made.txt' })(request, 0)
          : textAnswer('The file is made.'),
    });
    const pane = await shellIn(fixture, 100, 40);
    startIn(pane, 'chat -m anthropic/x');
    await pane.see(isIdle);
    await submit(pane, 'Go');
    await pane.see(has('y yes, once'));
    expect(pane.all().join('\n')).toContain('bash wants to run: touch made.txt (sub-agent: make the file)');
    const [, id = ''] =
      (await seen(pane, /\d tool calls? · waits for approval: touch made\.txt\n\s*polypod attach (\S+)/)) ??
      [];

    // Another terminal joins the session of the sub-agent.
    const other = await shellIn(fixture, 100, 40);
    startIn(other, `attach ${id}`);
    await other.see(has('Make it.'));
    await other.see(has('y yes, once'));
    expect(other.all().join('\n')).toContain('bash wants to run: touch made.txt');

    await answer(pane, 'y');
    await pane.see(isIdle);
    const screen = pane.all().join('\n');
    expect(screen).toMatch(new RegExp(`✓ general: make the file.*\\n.*2 tool calls · polypod attach ${id}`));
    expect(screen).toContain('The file is made.');
    await other.see(has('The file is made.'));
  });

  test('/undo of the prompt also restores the files that the sub-agent changed', async () => {
    const fixture = await familyFixture({
      parent: reports({ 'write it': { prompt: 'Write a.txt.' } }),
      child: (_, turn) =>
        turn === 0 ? call('write', { path: 'a.txt', content: 'after' }) : textAnswer('Written.'),
    });
    const path = join(fixture.project, 'a.txt');
    writeFileSync(path, 'before');
    const pane = await shellIn(fixture, 100, 40);
    startIn(pane, 'chat -m anthropic/x');
    await pane.see(isIdle);
    await submit(pane, 'Go');
    await pane.see(has('Written.'));
    await pane.see(isIdle);
    expect(readFileSync(path, 'utf8')).toBe('after');
    await submit(pane, '/undo');
    await pane.see(has('Conversation and files'));
    pane.press('Enter');
    await pane.see(has('· restored: a.txt'));
    expect(readFileSync(path, 'utf8')).toBe('before');
  });
});

async function seen(
  pane: Awaited<ReturnType<typeof shellIn>>,
  pattern: RegExp,
): Promise<RegExpExecArray | null> {
  await pane.see((lines) => pattern.test(lines.join('\n')));
  return pattern.exec(pane.all().join('\n'));
}
