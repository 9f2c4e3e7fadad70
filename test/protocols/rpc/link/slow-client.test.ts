import { describe, expect, it } from 'vitest';
import { objectOf } from '../../../../src/base/index.ts';
import { inProcessFixture } from '../in-process-fixture.ts';

const DELTAS = 20_000;
const LONG = { parts: [], pace: { deltas: DELTAS, chunkSize: 20, batch: 50 } };

describe('a client that stops reading', () => {
  it('does not delay the agent or fill the memory, and misses nothing', async () => {
    const { client, host } = await inProcessFixture([LONG, { parts: [{ text: 'ok' }] }]);
    const { sessionId } = await client.get('get_state');
    const pod = host.pod(String(sessionId));
    client.pause();
    client.send({ type: 'prompt', message: 'write' });
    for await (const watched of pod.watch())
      if (watched.type === 'events' && watched.batch.events.some(({ type }) => type === 'run-end')) break;
    // One step of the run may contain the text several times; the complete output would contain it hundreds of times.
    expect(client.unread).toBeLessThan(20 * DELTAS * 20);
    client.resume();
    await client.quiet();
    const deltas = client.lines
      .map(({ assistantMessageEvent }) => objectOf(assistantMessageEvent))
      .filter(({ type }) => type === 'text_delta');
    expect(deltas.map(({ delta }) => delta).join('')).toHaveLength(DELTAS * 20);
    const bytes = client.lines.reduce((sum, line) => sum + JSON.stringify(line).length, 0);
    // Unmerged deltas would be thousands of times the text.
    expect(bytes).toBeLessThan(60 * DELTAS * 20);
    await client.run('more');
  });

  it('does not delay the exit', async () => {
    const { client } = await inProcessFixture([LONG]);
    await client.get('get_state');
    client.pause();
    client.send({ type: 'prompt', message: 'write' });
    while (client.unread < 1000) await new Promise((resolve) => setImmediate(resolve));
    client.close();
    await client.served;
  });
});
