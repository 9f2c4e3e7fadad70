import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acpFixture, allow, shown, textAnswer } from './fixture.ts';

const BEN = { by: 'ben', door: 'pod' } as const;

test('a call that a steering message of another client skips fails with its status, also after session/load', async () => {
  const { editor, cwd, pod } = await acpFixture(
    [
      {
        parts: [
          { toolCall: { id: 'a', name: 'bash', arguments: { command: 'echo begun; cat go' } } },
          { toolCall: { id: 'b', name: 'ls', arguments: { path: '.' } } },
        ],
      },
      textAnswer('Something else'),
    ],
    { daemon: true },
  );
  execFileSync('mkfifo', [join(cwd, 'go')]);
  const one = await editor({ permission: () => allow });
  const { sessionId } = await one.newSession(cwd);
  const prompt = one.prompt(sessionId, 'do both');
  await one.update(sessionId, (update) => JSON.stringify(update.content ?? '').includes('begun'));
  const session = await pod(sessionId);
  await session.handle({ type: 'configure', set: { delivery: { interrupt: 'immediate' } } }, BEN);
  await session.handle({ type: 'steer', content: [{ type: 'text', text: 'stop that' }] }, BEN);
  await writeFile(join(cwd, 'go'), 'more\n');
  expect(await prompt).toBe('end_turn');
  const ends = one.updates(sessionId).filter(({ status }) => status === 'completed' || status === 'failed');
  expect(ends).toEqual([
    expect.objectContaining({ toolCallId: 'a', status: 'completed' }),
    expect.objectContaining({
      toolCallId: 'b',
      status: 'failed',
      content: [{ type: 'content', content: { type: 'text', text: 'Skipped due to queued user message.' } }],
      _meta: { polypod: { status: 'skipped' } },
    }),
  ]);
  expect(shown(one.updates(sessionId)).slice(-2)).toEqual([
    'user_message: stop that',
    'agent_message: Something else',
  ]);
  const two = await editor();
  await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  expect(shown(two.updates(sessionId)).filter((line) => /^(tool_call_update|user|agent)/.test(line))).toEqual(
    [
      'user_message: do both',
      'tool_call_update a completed',
      'tool_call_update b failed',
      'user_message: stop that',
      'agent_message: Something else',
    ],
  );
});
