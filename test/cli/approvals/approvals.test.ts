import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, waitForEvent, isType, textAnswer, type CliFixture, cliFixture } from '../daemon.ts';

/** The end of the command is the important part, beyond the point where titles are truncated. */
const COMMAND = `touch z1\n${'true && '.repeat(60)}touch the-end`;

interface Asking extends CliFixture {
  readonly id: string;
  readonly session: string;
}

async function asking(): Promise<Asking> {
  const fixture = await cliFixture([call('bash', { command: COMMAND, timeout: 5 }), textAnswer('Done.')]);
  await fixture.serve();
  const session = (await fixture.polypod('new', '--name', 'demo', '--cwd', fixture.project)).stdout.trim();
  const pod = await fixture.pod(session);
  await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'Go' }] });
  const event = await waitForEvent(pod, isType('approval-request'));
  return { ...fixture, session, id: event.type === 'approval-request' ? event.approval.approvalId : '' };
}

/** The call as it is printed below the line of its approval. */
const CALL = ['  command:', ...COMMAND.split('\n').map((line) => `    ${line}`), '  timeout: 5', ''].join(
  '\n',
);

describe('the complete call is shown', () => {
  it('in the list, in show, and in both as JSON', async () => {
    const fixture = await asking();
    const { stdout } = await fixture.polypod('approvals');
    expect(stdout).toMatch(/^[0-9a-f]{8} {2}demo {2}\d+ s {2}bash\n/);
    expect(stdout.slice(stdout.indexOf('\n') + 1)).toBe(CALL);
    const show = await fixture.polypod('approvals', 'show', stdout.split(' ')[0] ?? '');
    for (const line of [
      `id        ${fixture.id}\n`,
      `session   demo  ${fixture.session}\n`,
      'why       ',
      CALL,
    ])
      expect(show.stdout).toContain(line);
    for (const args of [['--json'], ['show', fixture.id, '--json']]) {
      const [listed] = JSON.parse((await fixture.polypod('approvals', ...args)).stdout);
      expect(JSON.parse(listed.arguments)).toEqual({ command: COMMAND, timeout: 5 });
      expect(listed).toMatchObject({ id: fixture.id, reason: expect.any(String) });
    }
  });

  it('before it is approved', async () => {
    const fixture = await asking();
    const { code, stderr } = await fixture.polypod('approvals', 'approve', fixture.id);
    expect(code).toBe(0);
    expect(stderr.startsWith(`polypod: approving bash\n${CALL}polypod: approved ${fixture.id}`)).toBe(true);
    await waitForEvent(await fixture.pod(fixture.session), isType('run-end'));
    expect(existsSync(join(fixture.project, 'the-end'))).toBe(true);
  });

  it('in the session, with and without a daemon', async () => {
    const fixture = await asking();
    const line = `asks      bash  ${fixture.id}\n${CALL}`;
    expect((await fixture.polypod('sessions', 'show', 'demo')).stdout).toContain(line);
    await fixture.polypod('stop');
    expect((await fixture.polypod('sessions', 'show', 'demo')).stdout).toContain(line);
    const [shown] = JSON.parse((await fixture.polypod('sessions', 'show', 'demo', '--json')).stdout);
    expect(JSON.parse(shown.approvals[0].arguments)).toMatchObject({ command: COMMAND });
  });
});
