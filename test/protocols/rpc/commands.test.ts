import { describe, expect, it } from 'vitest';
import { stage } from './stage.ts';

describe('a prompt', () => {
  it('is acknowledged, and then told in the protocol’s order', async () => {
    const { client } = await stage([{ parts: [{ text: 'Hello' }] }]);
    const lines = await client.run('hi');
    expect(lines.map(({ type }) => type)).toEqual([
      'response',
      'agent_start',
      'turn_start',
      'message_start',
      'message_end',
      'message_start',
      'message_update',
      'message_update',
      'message_update',
      'message_end',
      'turn_end',
      'agent_end',
      'agent_settled',
    ]);
    console.log(JSON.stringify(lines, null, 1));
  });
});
