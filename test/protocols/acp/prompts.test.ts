import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { arrayOf, objectOf } from '../../../src/base/index.ts';
import type { SimAnswer } from '../../../src/sim/index.ts';
import { polypod } from '../../cli/polypod.ts';
import {
  acpFixture,
  asks,
  calls,
  describeWithAndWithoutDaemon,
  reject,
  textAnswer,
  shown,
  STALLS,
} from './fixture.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('content', () => {
  test('text, images, links and embedded resources reach the model', async () => {
    const requests: string[] = [];
    const { editor, cwd } = await acpFixture((request) => {
      requests.push(JSON.stringify(request));
      return textAnswer('Seen');
    });
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.agent.request('session/prompt', {
      sessionId,
      prompt: [
        { type: 'text', text: 'look' },
        { type: 'image', data: PIXEL, mimeType: 'image/png' },
        { type: 'resource_link', uri: `file://${cwd}/a%20file.txt`, name: 'a file.txt' },
        { type: 'resource', resource: { uri: 'file:///x.txt', text: 'the text of x' } },
        { type: 'resource', resource: { uri: 'file:///x.bin', blob: 'AAAA', mimeType: 'application/x' } },
      ],
    });
    const sent = requests.join('\n');
    expect(sent).toContain('look');
    expect(sent).toContain(PIXEL);
    expect(sent).toContain(`@\\"${cwd}/a file.txt\\"`);
    expect(sent).toContain('the text of x');
    expect(sent).toContain('x.bin is not text');
  });

  test('a prompt with invalid content is refused with the name of the field', async () => {
    const { editor, cwd } = await acpFixture([]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    for (const [prompt, field] of [
      [[{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }], 'prompt[0].type'],
      [[{ type: 'text' }], 'prompt[0].text'],
      [[{ type: 'text', text: '  ' }], 'prompt'],
      [[], 'prompt'],
      ['hello', 'prompt'],
      [
        [
          { type: 'text', text: 'x' },
          { type: 'image', data: 5, mimeType: 'image/png' },
        ],
        'prompt[1].data',
      ],
      [[{ type: 'image', data: '***', mimeType: 'image/png' }], 'prompt[0].data'],
      [[{ type: 'resource', resource: {} }], 'prompt[0].resource.uri'],
    ])
      await expect(
        one.agent.request('session/prompt' as string, { sessionId, prompt }),
        JSON.stringify(prompt),
      ).rejects.toMatchObject({ code: -32602, data: { field } });
    // The client sent what the schema does not allow.
    one.log.problems.splice(0);
  });
});

describe('stop reasons', () => {
  const ended = async (script: readonly SimAnswer[], config = {}): Promise<unknown> => {
    const { editor, cwd } = await acpFixture(script, { config });
    const one = await editor({ permission: () => reject });
    const { sessionId } = await one.newSession(cwd);
    return one.prompt(sessionId, 'go');
  };

  test.each([
    ['end_turn', [textAnswer('done')]],
    ['max_tokens', [{ ...textAnswer('half'), stop: 'max-tokens' }]],
    ['refusal', [{ parts: [{ refusal: 'no' }] }]],
    ['refusal', [{ ...textAnswer('x'), stop: 'content-filter' }]],
    ['end_turn', [asks(), textAnswer('then not')]],
    ['end_turn', [{ ...calls('ls', { path: '.' }), stop: 'tool-use' }, textAnswer('listed')]],
  ] as const)('%s', async (reason, script) => {
    expect(await ended(script)).toBe(reason);
  });

  test('max_turn_requests if a limit stops the run', async () => {
    const script = [...Array(12).keys()].map((n) => calls('ls', { path: '.' }, `call_${n}`));
    expect(await ended(script)).toBe('max_turn_requests');
  });

  test('a failed run is an internal error with details', async () => {
    const failed = ended([{ ...textAnswer(''), fault: { kind: '404' } }]);
    await expect(failed).rejects.toMatchObject({
      code: -32603,
      data: { details: expect.stringMatching(/./) as string },
    });
  });

  test('a bad key requires authentication', async () => {
    await expect(ended([{ ...textAnswer(''), fault: { kind: '401' } }])).rejects.toMatchObject({
      code: -32000,
    });
  });
});

describeWithAndWithoutDaemon((openFixture) => {
  test('session/cancel ends a prompt in the middle of its answer', async () => {
    const { editor, cwd } = await openFixture([STALLS, textAnswer('next')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const prompt = one.prompt(sessionId, 'go');
    await one.updateOf(sessionId, 'agent_message_chunk');
    await one.agent.notify('session/cancel', { sessionId });
    expect(await prompt).toBe('cancelled');
    expect(await one.prompt(sessionId, 'again')).toBe('end_turn');
  });

  test('session/cancel right behind a prompt cancels it, also one that is a slash command', async () => {
    const { editor, cwd } = await openFixture([STALLS, STALLS]);
    mkdirSync(join(cwd, '.polypod/commands'), { recursive: true });
    writeFileSync(join(cwd, '.polypod/commands/review.md'), 'Review $ARGUMENTS');
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const prompts = [one.prompt(sessionId, 'go'), one.prompt(sessionId, '/review it')];
    await one.agent.notify('session/cancel', { sessionId });
    expect(await Promise.all(prompts)).toEqual(['cancelled', 'cancelled']);
  });

  test('$/cancel_request ends the prompt that it names', async () => {
    const { editor, cwd } = await openFixture([STALLS, textAnswer('second')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const [first, queued] = [new AbortController(), new AbortController()];
    const prompts = [
      one.prompt(sessionId, 'first', first.signal),
      one.prompt(sessionId, 'removed', queued.signal),
      one.prompt(sessionId, 'second'),
    ];
    await one.updateOf(sessionId, 'agent_message_chunk');
    queued.abort();
    expect(await prompts[1]).toBe('cancelled');
    first.abort();
    expect(await Promise.all(prompts)).toEqual(['cancelled', 'cancelled', 'end_turn']);
    expect(shown(one.updates(sessionId))).toContain('agent_message: second');
  });

  test('session/cancel answers queued prompts as cancelled', async () => {
    const { editor, cwd } = await openFixture([STALLS, textAnswer('never')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const prompts = ['one', 'two', 'three'].map((text) => one.prompt(sessionId, text));
    await one.updateOf(sessionId, 'agent_message_chunk');
    await one.agent.notify('session/cancel', { sessionId });
    expect(await Promise.all(prompts)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  });

  test('a second prompt is queued, and both are answered in order', async () => {
    const { editor, cwd } = await openFixture([
      { ...textAnswer('one '.repeat(40)), pace: { chunkSize: 8, delayMs: 10 } },
      textAnswer('the second'),
    ]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const order: number[] = [];
    const prompts = ['a', 'b'].map(async (text, index) => {
      const reason = await one.prompt(sessionId, text);
      order.push(index);
      return reason;
    });
    expect(await Promise.all(prompts)).toEqual(['end_turn', 'end_turn']);
    expect(order).toEqual([0, 1]);
    // The editor shows its own prompts itself.
    expect(shown(one.updates(sessionId)).filter((line) => line.startsWith('user_message'))).toEqual([]);
  });

  test('sessions of one editor run at the same time', async () => {
    const { editor, cwd } = await openFixture((request) =>
      JSON.stringify(request).includes('stalling') ? STALLS : textAnswer('quick'),
    );
    const one = await editor();
    const [slow, quick] = [await one.newSession(cwd), await one.newSession(cwd)];
    const stalled = one.prompt(slow.sessionId, 'stalling');
    await one.updateOf(slow.sessionId, 'agent_message_chunk');
    expect(await one.prompt(quick.sessionId, 'go')).toBe('end_turn');
    await one.agent.notify('session/cancel', { sessionId: slow.sessionId });
    expect(await stalled).toBe('cancelled');
  });

  test('commands of the project are offered, and their names become prompts', async () => {
    const requests: string[] = [];
    const { editor, cwd } = await openFixture((request) => {
      requests.push(JSON.stringify(request));
      return textAnswer('Reviewed');
    });
    mkdirSync(join(cwd, '.polypod/commands'), { recursive: true });
    writeFileSync(
      join(cwd, '.polypod/commands/review.md'),
      '---\ndescription: Review a file\n---\nReview $ARGUMENTS now',
    );
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    const { availableCommands } = await one.updateOf(sessionId, 'available_commands_update');
    expect(arrayOf(availableCommands)).toEqual([
      expect.objectContaining({ name: 'compact' }),
      { name: 'review', description: 'Review a file' },
    ]);
    expect(await one.prompt(sessionId, '/review a.ts')).toBe('end_turn');
    expect(requests.join()).toContain('Review a.ts now');
    expect(shown(one.updates(sessionId)).filter((line) => line.startsWith('user_message'))).toEqual([]);
  });

  test('/compact replaces the conversation with a summary', async () => {
    const { editor, cwd } = await openFixture((request) =>
      JSON.stringify(request).includes('ummar')
        ? textAnswer('A short summary.')
        : textAnswer('long '.repeat(3_000)),
    );
    const declared = { session: { compaction: {} } };
    const one = await editor({ capabilities: declared });
    const other = await editor();
    for (const [each, declares] of [
      [one, true],
      [other, false],
    ] as const) {
      const { sessionId } = await each.newSession(cwd);
      expect(await each.prompt(sessionId, '/compact')).toBe('end_turn');
      for (const text of ['one', 'two', 'three']) await each.prompt(sessionId, text);
      expect(await each.prompt(sessionId, '/compact be brief')).toBe('end_turn');
      const kinds = each
        .updates(sessionId)
        .filter(({ sessionUpdate }) => sessionUpdate === 'compaction_update');
      expect(kinds.map(({ status }) => status).slice(-2)).toEqual(
        declares ? ['in_progress', 'completed'] : [],
      );
    }
  });

  test('usage is reported with the context window and the cost', async () => {
    const { editor, cwd } = await openFixture([textAnswer('Hello'), textAnswer('Hello')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'hi');
    const usage = one.updates(sessionId).findLast(({ sessionUpdate }) => sessionUpdate === 'usage_update');
    expect(usage).toMatchObject({ size: 100_000, cost: { currency: 'USD' } });
    expect(Number(objectOf(usage?.cost).amount)).toBeGreaterThan(0);
    expect(Number(usage?.used)).toBeGreaterThan(0);
    await one.agent.request('session/set_config_option', { sessionId, configId: 'model', value: 'acme/two' });
    await one.prompt(sessionId, 'hi');
    const next = one.updates(sessionId).findLast(({ sessionUpdate }) => sessionUpdate === 'usage_update');
    expect(next).toMatchObject({ size: 50_000 });
  });
});

test('EOF in the middle of a prompt ends the program, and the session can be loaded', async () => {
  const { editor, cwd } = await acpFixture([STALLS]);
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  const prompt = one.prompt(sessionId, 'go').catch(() => 'closed');
  await one.updateOf(sessionId, 'agent_message_chunk');
  expect(await one.end()).toMatchObject({ code: 0 });
  await prompt;
  const two = await editor();
  await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  expect(shown(two.updates(sessionId))[0]).toBe('user_message: go');
});

test('the prompt of another client is shown, with its answer', async () => {
  const { editor, cwd, env } = await acpFixture([textAnswer('Mine'), textAnswer('Theirs')], { daemon: true });
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  expect(await polypod(['run', '--resume', sessionId, 'from the shell'], { env })).toMatchObject({ code: 0 });
  await one.update(sessionId, (update) => JSON.stringify(update).includes('Theirs'));
  expect(shown(one.updates(sessionId))).toEqual([
    'agent_message: Mine',
    'user_message: from the shell',
    'agent_message: Theirs',
  ]);
});
