import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { arrayOf, type JsonObject, objectOf, stringOf } from '../../../src/base/index.ts';
import {
  acpFixture,
  allow,
  asks,
  calls,
  describeWithAndWithoutDaemon,
  reject,
  textAnswer,
} from './fixture.ts';

const capabilities = { _meta: { terminal_output: true } };

const of = (updates: readonly JsonObject[], id = 'call_1'): readonly JsonObject[] =>
  updates.filter(({ toolCallId }) => toolCallId === id);

const metaOf = ({ _meta: meta }: JsonObject, key: string): JsonObject => objectOf(objectOf(meta)[key]);

/** What a terminal of the editor shows after these updates. */
const screenOf = (updates: readonly JsonObject[]): string =>
  updates
    .map((update) => stringOf(metaOf(update, 'terminal_output').data))
    .join('')
    // The sequence that clears the terminal.
    .split('\u001b[H\u001b[2J\u001b[3J')
    .at(-1) ?? '';

const contents = (updates: readonly JsonObject[]): readonly unknown[] =>
  updates.flatMap(({ content }) => (content === undefined ? [] : [content]));

describeWithAndWithoutDaemon((openFixture) => {
  test('the output of a command is shown in a terminal of an editor that declares it', async () => {
    const { editor, cwd } = await openFixture([
      // The second part is printed after the editor has received the first.
      asks('echo one; until [ -e go ]; do sleep 0.05; done; echo two; exit 3'),
      textAnswer('Done'),
    ]);
    const one = await editor({ capabilities, permission: () => allow });
    const { sessionId } = await one.newSession(cwd);
    const prompt = one.prompt(sessionId, 'run it');
    await one.update(sessionId, (update) => stringOf(metaOf(update, 'terminal_output').data) === 'one\n');
    writeFileSync(join(cwd, 'go'), '');
    expect(await prompt).toBe('end_turn');
    const updates = of(one.updates(sessionId));
    // Zed creates the terminal with the first message about the call.
    expect(updates[0]).toMatchObject({
      sessionUpdate: 'tool_call',
      _meta: { terminal_info: { terminal_id: 'call_1', cwd } },
    });
    expect(contents(updates)).toEqual([[{ type: 'terminal', terminalId: 'call_1' }]]);
    expect(screenOf(updates)).toBe('one\ntwo\n[exit code 3]');
    expect(updates.at(-1)).toMatchObject({
      status: 'failed',
      rawOutput: { exitCode: 3 },
      _meta: { terminal_exit: { terminal_id: 'call_1', exit_code: 3, signal: null } },
    });
    // The history has the output as text.
    await one.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    expect(of(one.updates(sessionId)).at(-1)).toMatchObject({
      status: 'failed',
      content: [{ content: { text: 'one\ntwo\n[exit code 3]' } }],
    });
  });

  test('a cancelled command ends its terminal', async () => {
    const { editor, cwd } = await openFixture([asks('echo started; sleep 60')]);
    const one = await editor({ capabilities, permission: () => allow });
    const { sessionId } = await one.newSession(cwd);
    const prompt = one.prompt(sessionId, 'wait');
    await one.update(sessionId, (update) => metaOf(update, 'terminal_output').data === 'started\n');
    await one.agent.notify('session/cancel', { sessionId });
    expect(await prompt).toBe('cancelled');
    const last = of(one.updates(sessionId)).at(-1) ?? {};
    expect(last).toMatchObject({ status: 'failed', _meta: { polypod: { status: 'interrupted' } } });
    expect(metaOf(last, 'terminal_exit')).toMatchObject({ terminal_id: 'call_1' });
  });
});

test('long output replaces the text of the terminal, and ends with the text of the result', async () => {
  const { editor, cwd } = await acpFixture([
    asks('seq 1 20000; until [ -e go ]; do sleep 0.05; done; echo end'),
    textAnswer('Done'),
  ]);
  const one = await editor({ capabilities, permission: () => allow });
  const { sessionId } = await one.newSession(cwd);
  const prompt = one.prompt(sessionId, 'count');
  await one.update(sessionId, (update) =>
    stringOf(metaOf(update, 'terminal_output').data).endsWith('20000\n'),
  );
  writeFileSync(join(cwd, 'go'), '');
  await prompt;
  const screen = screenOf(of(one.updates(sessionId)));
  expect(screen).toMatch(/^1\n2\n/);
  expect(screen).toMatch(/omitted here[^]*\n20000\nend\n\[all .* of output are in /);
});

test('a rejected command shows the reason and no terminal', async () => {
  const { editor, cwd } = await acpFixture([asks(), textAnswer('Then not')]);
  const one = await editor({ capabilities, permission: () => reject });
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'make it');
  const last = of(one.updates(sessionId)).at(-1) ?? {};
  expect(last.status).toBe('failed');
  expect(arrayOf(last.content).map((part) => objectOf(part).type)).toEqual(['content']);
  expect(existsSync(join(cwd, 'made'))).toBe(false);
});

test('a command in the background, and other tools, have text', async () => {
  const { editor, cwd } = await acpFixture([
    calls('bash', { command: 'sleep 60', background: true }),
    calls('ls', { path: '.' }, 'call_2'),
    textAnswer('Started'),
  ]);
  const one = await editor({ capabilities, permission: () => allow });
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'start');
  for (const id of ['call_1', 'call_2'])
    expect(contents(of(one.updates(sessionId), id)).flat()).toEqual([
      expect.objectContaining({ type: 'content' }),
    ]);
});

test('editors that do not declare it get text', async () => {
  const { editor, cwd } = await acpFixture([asks('echo one'), textAnswer('Done')]);
  const one = await editor({ permission: () => allow });
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'run it');
  const updates = of(one.updates(sessionId));
  expect(JSON.stringify(updates)).not.toContain('terminal_');
  expect(updates.at(-1)).toMatchObject({ content: [{ type: 'content', content: { text: 'one' } }] });
});
