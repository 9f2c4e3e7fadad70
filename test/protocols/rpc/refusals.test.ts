import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeOnEach } from './each-connection.ts';

const SHORT = { parts: [{ text: 'ok' }] };

describeOnEach((openFixture) => {
  describe('a refusal', () => {
    it('has the id and the name of its command, whatever the reason', async () => {
      const { client, cwd } = await openFixture([SHORT]);
      await client.run('hi');
      mkdirSync(join(cwd, 'directory'));
      const refused: readonly (readonly [string, object])[] = [
        ['prompt', {}],
        ['prompt', { message: 5 }],
        ['prompt', { message: 'x', images: [{}] }],
        ['prompt', { message: 'x', streamingBehavior: 'later' }],
        ['steer', {}],
        ['follow_up', {}],
        ['abort_and_prompt', {}],
        ['new_session', { parentSession: 5 }],
        ['set_todos', {}],
        ['set_host_tools', { tools: [{}] }],
        ['set_model', { provider: 'x' }],
        ['set_model', { provider: 'x', modelId: 'y' }],
        ['set_steering_mode', { mode: 'sometimes' }],
        ['set_follow_up_mode', {}],
        ['set_interrupt_mode', {}],
        ['compact', { customInstructions: 5 }],
        ['set_auto_compaction', {}],
        ['set_auto_retry', { enabled: 'yes' }],
        ['bash', {}],
        // Refused by the system, not by our code.
        ['export_html', { outputPath: join(cwd, 'directory') }],
        ['export_html', { outputPath: join(cwd, 'missing/directory/page.html') }],
        ['export_html', { outputPath: 'a\0b' }],
        ['switch_session', { sessionPath: join(cwd, 'directory') }],
        ['branch', { entryId: 'nope' }],
        ['fork', {}],
        ['set_session_name', { name: ' ' }],
        ['get_entries', { since: 'nope' }],
      ];
      for (const [command, fields] of refused)
        expect(await client.ask(command, fields)).toEqual({
          id: expect.any(String) as unknown,
          type: 'response',
          command,
          success: false,
          error: expect.stringMatching(/./) as unknown,
        });
      expect(await client.get('get_last_assistant_text')).toEqual({ text: 'ok' });
    });

    it('names fields as the client sends them, and is the only response', async () => {
      const { client } = await openFixture([SHORT]);
      const image = (data: string, mimeType: string) => ({ message: 'x', images: [{ data, mimeType }] });
      const refused: readonly (readonly [string, object, string])[] = [
        ['prompt', image('!', 'image/png'), 'prompt: an image needs "data" in base64 and a "mimeType"'],
        ['prompt', image('aaaa', 'text/plain'), 'prompt: an image needs "data" in base64 and a "mimeType"'],
        ['set_session_name', { name: 'x'.repeat(201) }, 'Session name cannot be longer than 200 characters'],
        [
          'set_host_tools',
          { tools: [{ name: 'a b', description: 'x', parameters: {} }] },
          'Host tool at index 0 must have a name of at most 64 letters, digits, _ and -',
        ],
      ];
      for (const [command, fields, error] of refused)
        expect(await client.ask(command, fields)).toMatchObject({
          success: false,
          error: expect.stringContaining(error) as unknown,
        });
      await client.get('get_state');
      expect(client.types).toEqual(['response', 'response', 'response', 'response', 'response']);
    });

    it('reports the reason if it is not a run', async () => {
      const { client } = await openFixture([SHORT]);
      await client.run('hi');
      const { sessionFile } = await client.get('get_state');
      appendFileSync(String(sessionFile), '{"type":"label","id":"ffff0000","parentId":null}\n');
      client.send({ id: 'p', type: 'prompt', message: 'again' });
      expect(await client.waitFor(({ id, success }) => id === 'p' && success === false)).toMatchObject({
        command: 'prompt',
        error: expect.stringContaining('changed by another program') as unknown,
      });
    });
  });
});
