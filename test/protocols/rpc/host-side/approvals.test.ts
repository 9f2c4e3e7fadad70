import { describe, expect, it } from 'vitest';
import { objectOf } from '../../../../src/base/index.ts';
import { inProcessFixture as inProcess } from '../in-process-fixture.ts';
import { describeOnEach } from '../each-connection.ts';

const ASK = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch made' } } }] };
const DONE = { parts: [{ text: 'done' }] };

describeOnEach((openFixture) => {
  describe('an approval', () => {
    it('is requested from the client, which may allow it once', async () => {
      const { client } = await openFixture([ASK, DONE], { isAsking: true });
      client.send({ type: 'prompt', message: 'go' });
      const request = await client.waitFor(({ type }) => type === 'extension_ui_request');
      expect(request).toMatchObject({ method: 'select' });
      expect(request.title).toContain('touch made');
      expect(await client.get('get_state')).toMatchObject({ isStreaming: true });
      client.send({ type: 'extension_ui_response', id: request.id, value: 'Allow once' });
      await client.quiet();
      expect(client.lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
        isError: false,
      });
    });

    it.each([{ value: 'Deny' }, { cancelled: true }])('is denied by %j', async (reply) => {
      const { client } = await openFixture([ASK, DONE], { isAsking: true });
      client.send({ type: 'prompt', message: 'go' });
      const { id } = await client.waitFor(({ type }) => type === 'extension_ui_request');
      client.send({ type: 'extension_ui_response', id, ...reply });
      await client.quiet();
      const end = client.lines.find(({ type }) => type === 'tool_execution_end');
      expect(end).toMatchObject({ isError: true });
      expect(JSON.stringify(objectOf(end?.result).content)).toContain('denied this call');
    });

    it('for the session is not requested again', async () => {
      const { client } = await openFixture([ASK, DONE, ASK, DONE], { isAsking: true });
      client.send({ type: 'prompt', message: 'go' });
      const { id } = await client.waitFor(({ type }) => type === 'extension_ui_request');
      client.send({ type: 'extension_ui_response', id, value: 'Allow for this session' });
      await client.quiet();
      const lines = await client.run('again');
      expect(lines.filter(({ type }) => type === 'extension_ui_request')).toEqual([]);
    });

    it.each([['abort'], ['new_session']])(
      'that was withdrawn by %s is cancelled at the host, and a decided one is not',
      async (command) => {
        const { client } = await openFixture([ASK, ASK, DONE], { isAsking: true });
        client.send({ type: 'prompt', message: 'go' });
        const answered = await client.waitFor(({ method }) => method === 'select');
        client.send({ type: 'extension_ui_response', id: answered.id, value: 'Allow once' });
        const withdrawn = await client.waitFor(({ method }) => method === 'select', client.lines.length);
        await client.ask(command);
        await client.waitFor(({ method }) => method === 'cancel');
        expect(client.lines.filter(({ method }) => method === 'cancel')).toEqual([
          {
            type: 'extension_ui_request',
            id: expect.any(String) as unknown,
            method: 'cancel',
            targetId: withdrawn.id,
          },
        ]);
      },
    );
  });
});

describe('an approval', () => {
  it.each(['abort', 'compact'])('of a queued prompt does not delay the response to %s', async (command) => {
    const { client, host } = await inProcess([ASK, ASK, DONE], { isAsking: true });
    const { sessionId } = await client.get('get_state');
    client.send({ type: 'prompt', message: 'go' });
    await client.waitFor(({ method }) => method === 'select');
    await host
      .pod(String(sessionId))
      .handle(
        { type: 'prompt', content: [{ type: 'text', text: 'next' }], whenBusy: 'queue' },
        { by: 'bob', door: 'other' },
      );
    const from = client.lines.length;
    expect(await client.ask(command)).toMatchObject({ success: command === 'abort' });
    // The prompt of the other client is a separate run that requests approval.
    await client.waitFor(({ method }) => method === 'select', from);
    expect(await client.get('get_state')).toMatchObject({ isStreaming: true });
  });

  it('that another door decides is closed at the client', async () => {
    const { client, host } = await inProcess([ASK, DONE], { isAsking: true });
    const { sessionId } = await client.get('get_state');
    client.send({ type: 'prompt', message: 'go' });
    const { id } = await client.waitFor(({ type }) => type === 'extension_ui_request');
    const pod = host.pod(String(sessionId));
    const [approval] = (await pod.snapshot()).approvals;
    await pod.handle(
      { type: 'decide', approvalId: approval?.approvalId ?? '', decision: 'approve' },
      { by: 'bob', door: 'other' },
    );
    await client.quiet();
    expect(client.lines.find(({ method }) => method === 'cancel')).toMatchObject({ targetId: id });
    client.send({ type: 'extension_ui_response', id, value: 'Deny' });
    expect(client.lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({ isError: false });
  });
});
