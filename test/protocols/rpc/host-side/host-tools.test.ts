import { describe, expect, it } from 'vitest';
import { gist } from '../gist.ts';
import { inProcessFixture as inProcess } from '../in-process-fixture.ts';
import { describeOnEach } from '../each-connection.ts';

const ECHO = {
  name: 'echo_host',
  label: 'Echo Host',
  description: 'Echo a value from the embedding host',
  parameters: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
};
const CALL = { parts: [{ toolCall: { id: 'toolu_1', name: 'echo_host', arguments: { message: 'hello' } } }] };
const DONE = { parts: [{ text: 'done' }] };

describeOnEach((openFixture) => {
  describe('a tool of the host', () => {
    it('is called over the protocol, and its result is passed unchanged', async () => {
      const { client } = await openFixture([CALL, DONE]);
      expect(await client.get('set_host_tools', { tools: [ECHO] })).toEqual({ toolNames: ['echo_host'] });
      client.send({ type: 'prompt', message: 'go' });
      const call = await client.waitFor(({ type }) => type === 'host_tool_call');
      expect(call).toEqual({
        type: 'host_tool_call',
        id: call.id,
        toolCallId: 'toolu_1',
        toolName: 'echo_host',
        arguments: { message: 'hello' },
      });
      const partialResult = { content: [{ type: 'text', text: 'working' }], details: { step: 1 } };
      client.send({ type: 'host_tool_update', id: call.id, partialResult });
      const update = await client.waitFor(({ type }) => type === 'tool_execution_update');
      expect(update).toEqual({
        type: 'tool_execution_update',
        toolCallId: 'toolu_1',
        toolName: 'echo_host',
        args: { message: 'hello' },
        partialResult,
      });
      const result = { content: [{ type: 'text', text: 'hello' }], details: { any: ['thing'] } };
      client.send({ type: 'host_tool_result', id: call.id, result });
      await client.quiet();
      expect(client.lines.find(({ type }) => type === 'tool_execution_end')).toEqual({
        type: 'tool_execution_end',
        toolCallId: 'toolu_1',
        toolName: 'echo_host',
        result,
        isError: false,
        isWarning: false,
      });
      const { messages } = await client.get('get_messages');
      expect((messages as { role: string }[])[2]).toMatchObject({
        role: 'toolResult',
        ...result,
        isError: false,
      });
    });

    it('that fails is shown as its text', async () => {
      const { client } = await openFixture([CALL, DONE, CALL, DONE]);
      await client.ask('set_host_tools', { tools: [ECHO] });
      const fail = async (content: object[], from: number) => {
        client.send({ type: 'prompt', message: 'go' });
        const { id } = await client.waitFor(({ type }) => type === 'host_tool_call', from);
        client.send({
          type: 'host_tool_result',
          id,
          result: { content, details: { lost: true } },
          isError: true,
        });
        await client.quiet(from);
        return client.lines.slice(from).find(({ type }) => type === 'tool_execution_end');
      };
      const lines = [
        { type: 'text', text: ' one' },
        { type: 'text', text: 'two ' },
      ];
      expect(await fail(lines, client.lines.length)).toMatchObject({
        result: { content: [{ type: 'text', text: 'one\ntwo' }], details: {} },
        isError: true,
      });
      expect(await fail([], client.lines.length)).toMatchObject({
        result: { content: [{ type: 'text', text: 'Host tool execution failed' }], details: {} },
      });
    });

    it('is cancelled with the run, and its late result is ignored', async () => {
      const { client } = await openFixture([CALL, DONE]);
      await client.ask('set_host_tools', { tools: [ECHO] });
      client.send({ type: 'prompt', message: 'go' });
      const call = await client.waitFor(({ type }) => type === 'host_tool_call');
      await client.ask('abort');
      const cancel = client.lines.find(({ type }) => type === 'host_tool_cancel');
      expect(cancel).toEqual({ type: 'host_tool_cancel', id: cancel?.id, targetId: call.id });
      expect(client.lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
        result: { content: [{ type: 'text', text: 'Host tool "echo_host" was aborted' }], details: {} },
        isError: true,
      });
      const from = client.lines.length;
      client.send({ type: 'host_tool_result', id: call.id, result: { content: [] } });
      client.send({ type: 'host_tool_update', id: 'nobody', partialResult: { content: [] } });
      await client.ask('get_state');
      expect(gist(client.lines.slice(from))).toEqual(['get_state ok']);
    });

    it('is not called with arguments that violate its schema', async () => {
      const wrong = { parts: [{ toolCall: { name: 'echo_host', arguments: { message: 7 } } }] };
      const { client } = await openFixture([wrong, DONE]);
      await client.ask('set_host_tools', { tools: [ECHO] });
      const lines = await client.run('go');
      expect(lines.filter(({ type }) => type === 'host_tool_call')).toEqual([]);
      const text =
        'Validation failed for tool "echo_host":\n  - message: must be string\n\nReceived arguments:\n{\n  "message": 7\n}';
      expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
        result: { content: [{ type: 'text', text }], details: {} },
        isError: true,
      });
    });

    it('is available for the next answer of a run, and replaced by the next set', async () => {
      const asked: string[][] = [];
      const { client } = await openFixture(({ tools }) => {
        asked.push(tools.map(({ name }) => name).filter((name) => name.includes('host')));
        return DONE;
      });
      await client.ask('set_host_tools', { tools: [ECHO, { ...ECHO, name: 'hidden_host', hidden: true }] });
      await client.run('one');
      await client.ask('set_host_tools', { tools: [{ ...ECHO, name: 'Other_host' }] });
      await client.run('two');
      await client.get('new_session');
      await client.run('three');
      await client.ask('set_host_tools', { tools: [] });
      await client.run('four');
      expect(asked).toEqual([['echo_host'], ['Other_host'], ['Other_host'], []]);
    });

    it.each([
      [[{ description: 'd', parameters: {} }], 'Host tool at index 0 must provide a non-empty name'],
      [
        [{ name: 'a', description: ' ', parameters: {} }],
        'Host tool "a" must provide a non-empty description',
      ],
      [[{ name: 'a', description: 'd' }], 'Host tool "a" must provide a JSON Schema object'],
      [[{ name: 'a', description: 'd', parameters: [] }], 'Host tool "a" must provide a JSON Schema object'],
      [
        [{ ...ECHO, parameters: { properties: { message: { $ref: '#/$defs/message' } } } }],
        'the JSON Schema of the tool "echo_host" cannot be used: $ref: cannot resolve "#/$defs/message": references can only refer to the schema itself',
      ],
      [[ECHO, ECHO], 'RPC host tool names must be unique'],
      [[{ ...ECHO, name: 'bash' }], 'RPC host tool "bash" conflicts with an existing tool'],
    ])('is validated: %j', async (tools, error) => {
      const { client } = await openFixture([]);
      expect(await client.ask('set_host_tools', { tools })).toEqual({
        id: 'q1',
        type: 'response',
        command: 'set_host_tools',
        success: false,
        error,
      });
    });
  });
});

describe('a tool of the host', () => {
  it('call is abandoned when the client disconnects', async () => {
    const { client, host } = await inProcess([CALL, DONE]);
    await client.ask('set_host_tools', { tools: [ECHO] });
    const { sessionId } = await client.get('get_state');
    client.send({ type: 'prompt', message: 'go' });
    await client.waitFor(({ type }) => type === 'host_tool_call');
    client.end();
    await client.served;
    for await (const watched of host.pod(String(sessionId)).watch()) {
      const items = watched.type === 'snapshot' ? watched.snapshot.items : [];
      const events = watched.type === 'events' ? watched.batch.events : [];
      const results = [
        ...items,
        ...events.flatMap((event) => (event.type === 'turn-end' ? event.results : [])),
      ].filter(({ type }) => type === 'tool-result');
      if (results.length === 0) continue;
      expect(JSON.stringify(results)).toContain(
        'RPC client disconnected before host tool execution completed',
      );
      break;
    }
  });
});
