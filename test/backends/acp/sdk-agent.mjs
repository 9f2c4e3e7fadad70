/** An agent on the official SDK. The text of a prompt selects what it does. */
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const sessionId = 'session-1';
let declared = {};

/** What happens in a turn. Returns the text of the answer. */
const turns = {
  async files(client) {
    const { content } = await client.request(methods.client.fs.readTextFile, {
      sessionId,
      path: '/p/a',
      line: 2,
      limit: 1,
    });
    await client.request(methods.client.fs.writeTextFile, { sessionId, path: '/p/b', content: 'written' });
    const missing = await client
      .request(methods.client.fs.readTextFile, { sessionId, path: '/p/missing' })
      .catch((error) => error.code);
    return JSON.stringify({ content, missing });
  },
  async terminal(client) {
    const create = {
      sessionId,
      command: 'bash',
      args: ['-c', 'echo hi'],
      cwd: '/p',
      env: [{ name: 'A', value: 'b c' }],
    };
    const { terminalId } = await client.request(methods.client.terminal.create, create);
    const exit = await client.request(methods.client.terminal.waitForExit, { sessionId, terminalId });
    const printed = await client.request(methods.client.terminal.output, { sessionId, terminalId });
    await client.request(methods.client.terminal.release, { sessionId, terminalId });
    const gone = await client
      .request(methods.client.terminal.output, { sessionId, terminalId })
      .catch((error) => error.code);
    return JSON.stringify({ exit, printed, gone });
  },
  async kill(client) {
    const create = { sessionId, command: 'sleep 1000', cwd: '/p' };
    const { terminalId } = await client.request(methods.client.terminal.create, create);
    await client.request(methods.client.terminal.kill, { sessionId, terminalId });
    return JSON.stringify(
      await client.request(methods.client.terminal.waitForExit, { sessionId, terminalId }),
    );
  },
  async question(client) {
    const requestedSchema = {
      type: 'object',
      properties: { color: { type: 'string' } },
      required: ['color'],
    };
    const form = { mode: 'form', sessionId, message: 'Which color?', requestedSchema };
    return JSON.stringify(await client.request(methods.client.elicitation.create, form));
  },
  async plan(client) {
    const entries = [
      { content: 'Look', priority: 'high', status: 'completed' },
      { content: 'Write', priority: 'low', status: 'in_progress' },
    ];
    await client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: 'plan', entries },
    });
    return 'planned';
  },
  async always(client) {
    const options = [
      { optionId: 'a', name: 'Always', kind: 'allow_always' },
      { optionId: 'n', name: 'Never', kind: 'reject_always' },
    ];
    const toolCall = { toolCallId: 'c1', title: 'Delete everything', kind: 'execute', rawInput: {} };
    return JSON.stringify(
      await client.request(methods.client.session.requestPermission, { sessionId, toolCall, options }),
    );
  },
  unknown: (client) => client.request('_vendor/none', {}).catch((error) => String(error.code)),
  declared: () => JSON.stringify(declared),
};

agent({ name: 'sdk-agent' })
  .onRequest(methods.agent.initialize, ({ params }) => {
    declared = params.clientCapabilities;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {},
      agentInfo: { name: 'sdk-agent', version: '1.2.3' },
    };
  })
  .onRequest(methods.agent.session.new, () => ({ sessionId }))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { text } = params.prompt.at(-1);
    const answer = await (turns[text] ?? (() => JSON.stringify(params.prompt)))(client);
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: answer } };
    await client.notify(methods.client.session.update, { sessionId, update });
    return {
      stopReason: text === 'limit' ? 'max_turn_requests' : text === 'long' ? 'max_tokens' : 'end_turn',
    };
  })
  .onNotification(methods.agent.session.cancel, () => {})
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
