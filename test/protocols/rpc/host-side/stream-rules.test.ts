import { describe, expect, it } from 'vitest';
import { gist } from '../gist.ts';
import { describeOnEach } from '../each-connection.ts';

describeOnEach((openFixture) => {
  describe('a stream rule', () => {
    it('stops the answer that violates it, and the agent starts again with the rule', async () => {
      const rules = [{ name: 'no-any', content: 'Never write any.', condition: [':\\s*any\\b'] }];
      const prompts: string[] = [];
      const { client, configFile } = await openFixture(
        ({ messages }) => {
          prompts.push(messages.at(-1)?.text ?? '');
          const text = prompts.length === 1 ? `let x: any = 1; ${'more '.repeat(500)}` : 'let x: number = 1;';
          return { parts: [{ text }], pace: { delayMs: 5 } };
        },
        { rules },
      );
      const lines = await client.run('write');
      expect(lines.find(({ type }) => type === 'ttsr_triggered')).toEqual({
        type: 'ttsr_triggered',
        rules: rules.map((rule) => ({ ...rule, path: configFile })),
      });
      const order = gist(lines).filter((line) => /^(?:agent|ttsr|message_end)/.test(line));
      expect(order).toEqual([
        'agent_start',
        'message_end user',
        'ttsr_triggered',
        'message_end assistant aborted',
        'agent_end user assistant',
        'agent_start',
        'message_end custom',
        'message_end assistant stop',
        'agent_end custom assistant',
        'agent_settled',
      ]);
      expect(prompts[1]).toContain('Never write any.');
      expect(await client.get('get_session_stats')).toMatchObject({ userMessages: 1 });
      const { messages: offered } = await client.get('get_branch_messages');
      expect(offered).toMatchObject([{ text: 'write' }]);
      const { messages } = await client.get('get_messages');
      expect(messages).toMatchObject([
        { role: 'user' },
        { stopReason: 'aborted' },
        { role: 'custom', customType: 'ttsr-injection', display: false },
        { role: 'assistant' },
      ]);
    });
  });
});
