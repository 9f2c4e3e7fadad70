// A small agent that speaks the Agent Client Protocol, for tests that need no real one: node fake-agent.mjs [MODE]
//   asks (default)  asks for permission before it runs a command
//   unasked         runs commands without asking
//   signed-out      opens no session, because no user is signed in
//   broken          ends when it is started
// A prompt that contains "touch FILE" runs this command. "print VARIABLE" is answered with a variable of the environment, every other
// prompt with its own text.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [, , mode = 'asks'] = process.argv;
if (mode === 'broken') {
  process.stderr.write('the fake agent is broken\n');
  process.exit(1);
}

const directories = new Map();
const requests = new Map();
let lastId = 0;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

function request(method, params) {
  const id = `fake-${(lastId += 1)}`;
  send({ id, method, params });
  return new Promise((resolve) => requests.set(id, resolve));
}

function update(sessionId, content) {
  send({ method: 'session/update', params: { sessionId, update: content } });
}

async function isAllowed(sessionId, toolCall) {
  if (mode === 'unasked') return true;
  const options = [
    { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
    { optionId: 'no', name: 'Reject', kind: 'reject_once' },
  ];
  const result = await request('session/request_permission', { sessionId, toolCall, options });
  return result?.outcome?.optionId === 'yes';
}

async function touch(sessionId, name) {
  const command = `touch ${name}`;
  const toolCall = { toolCallId: `call-${name}`, title: command, kind: 'execute', rawInput: { command } };
  update(sessionId, { sessionUpdate: 'tool_call', status: 'pending', ...toolCall });
  const allowed = await isAllowed(sessionId, toolCall);
  if (allowed) writeFileSync(join(directories.get(sessionId), name), '');
  const status = allowed ? 'completed' : 'failed';
  update(sessionId, { sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, status });
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: {},
    agentInfo: { name: 'fake-agent', version: '1.2.3' },
  }),
  'session/new': ({ cwd }) => {
    if (mode === 'signed-out') throw Object.assign(new Error('Authentication required'), { code: -32_000 });
    const sessionId = `session-${directories.size + 1}`;
    directories.set(sessionId, cwd);
    return { sessionId };
  },
  'session/prompt': async ({ sessionId, prompt }) => {
    const text = prompt.map((part) => part.text ?? '').join('');
    const [, name] = /touch (\S+)/.exec(text) ?? [];
    if (name !== undefined) await touch(sessionId, name);
    const [, variable] = /print (\w+)/.exec(text) ?? [];
    const answer = variable === undefined ? `fake: ${text}` : (process.env[variable] ?? 'not set');
    const content = { type: 'text', text: answer };
    update(sessionId, { sessionUpdate: 'agent_message_chunk', content });
    return { stopReason: 'end_turn' };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => void receive(JSON.parse(line)));

async function receive({ id, method, params, result }) {
  if (method === undefined) {
    requests.get(id)?.(result);
    return;
  }
  if (id === undefined) return;
  try {
    const answer = methods[method];
    if (answer === undefined) throw Object.assign(new Error('Method not found'), { code: -32_601 });
    send({ id, result: await answer(params) });
  } catch (error) {
    send({ id, error: { code: error.code ?? -32_603, message: error.message } });
  }
}
