import { describe, expect, it } from 'vitest';
import { describeOnEach } from './each-connection.ts';

const SHORT = { parts: [{ text: 'ok' }] };
const STALLED = { parts: [{ text: 'a few words' }], fault: { kind: 'stall' } } as const;

describeOnEach((openFixture) => {
  describe('a long bash command', () => {
    it('blocks neither get_state nor steer, and a later prompt waits for its output', async () => {
      const { client } = await openFixture([SHORT, SHORT]);
      client.send({ id: 'long', type: 'bash', command: 'until [ -e go ]; do sleep 0.02; done; echo output' });
      client.send({ id: 'prompt', type: 'prompt', message: 'what did it print?' });
      expect(await client.get('get_state')).toMatchObject({ isStreaming: false, messageCount: 0 });
      expect(await client.ask('steer', { message: 'left' })).toMatchObject({ success: true });
      expect(await client.ask('set_session_name', { name: 'busy' })).toMatchObject({ success: true });
      expect(client.lines.filter(({ id }) => id === 'long' || id === 'prompt')).toEqual([]);
      client.send({ id: 'abort', type: 'abort_bash' });
      expect(await client.waitFor(({ id }) => id === 'long')).toMatchObject({ data: { cancelled: true } });
      await client.quiet();
      const { messages } = await client.get('get_messages');
      expect(messages).toMatchObject([{ role: 'bashExecution' }, { role: 'user' }, { role: 'user' }, {}]);
    });

    it('does not prevent queuing a prompt for the current run', async () => {
      const { client } = await openFixture([STALLED]);
      client.send({ type: 'prompt', message: 'go' });
      await client.waitFor(({ type }) => type === 'message_update');
      client.send({ id: 'long', type: 'bash', command: 'sleep 600' });
      expect(await client.get('prompt', { message: 'later', streamingBehavior: 'followUp' })).toEqual({
        disposition: 'queued',
      });
      expect(await client.ask('prompt', { message: 'now' })).toMatchObject({ success: false });
      await client.ask('abort');
      expect(client.lines.filter(({ id }) => id === 'long')).toEqual([]);
      await client.ask('abort_bash');
      await client.waitFor(({ id }) => id === 'long');
    });

    it('is ended by abort_bash even while another one waits', async () => {
      const { client } = await openFixture([SHORT]);
      client.send({ id: 'first', type: 'bash', command: 'sleep 600' });
      client.send({ id: 'second', type: 'bash', command: 'echo second' });
      await client.get('get_state');
      await client.ask('abort_bash');
      expect(await client.waitFor(({ id }) => id === 'first')).toMatchObject({ data: { cancelled: true } });
      expect(await client.waitFor(({ id }) => id === 'second')).toMatchObject({
        data: { output: 'second\n' },
      });
    });
  });

  describe('a long compaction', () => {
    it('blocks neither get_state nor steer', async () => {
      const { client } = await openFixture([SHORT, SHORT, STALLED]);
      await client.run(`remember ${'y'.repeat(120_000)}`);
      await client.run('and this');
      client.send({ id: 'compact', type: 'compact' });
      const begun = async (): Promise<unknown> => (await client.get('get_state')).isCompacting;
      while ((await begun()) !== true);
      expect(await client.ask('steer', { message: 'left' })).toMatchObject({ success: true });
      expect(await client.ask('set_steering_mode', { mode: 'all' })).toMatchObject({ success: true });
      expect(client.lines.filter(({ id }) => id === 'compact')).toEqual([]);
      await client.ask('abort');
      expect(await client.waitFor(({ id }) => id === 'compact')).toMatchObject({
        success: false,
        error: 'Compaction cancelled',
      });
      expect(await client.get('get_state')).toMatchObject({ isCompacting: false, queuedMessageCount: 1 });
    });
  });
});
