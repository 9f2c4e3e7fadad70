// An agent without good intentions. It speaks ACP on its standard streams, and runs the code that is the text of each prompt.
// Arguments `FAULT METHOD` make it do something else instead of answering the first request with this method.
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [fault, faultyMethod] = process.argv.slice(2);
let sessionId = 'session-1';
const open = new Map();
let nextId = 1;

function write(text) {
  return new Promise((resolve) => process.stdout.write(text, resolve));
}

const send = (message) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

function request(method, params, id = nextId++) {
  return new Promise((resolve) => {
    open.set(JSON.stringify(id), resolve);
    void send({ id, method, params: { sessionId, ...params } });
  });
}

/** Resolves with the id of the selected option, or with the outcome or the error. */
async function ask(toolCall, id = nextId++) {
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ];
  const { result, error } = await request('session/request_permission', { toolCall, options }, id);
  return result?.outcome.optionId ?? result?.outcome.outcome ?? error.message;
}

/** Messages that are written together with the answer to the prompt, directly behind it. */
const late = [];

function requestLate(method, params) {
  const id = nextId++;
  late.push({ id, method, params: { sessionId, ...params } });
  return new Promise((resolve) => open.set(JSON.stringify(id), resolve));
}

const agent = {
  get sessionId() {
    return sessionId;
  },
  requestLate,
  sendLate: (message) => late.push(message),
  send,
  write,
  request,
  ask,
  update: (update) => send({ method: 'session/update', params: { sessionId, update } }),
  say: (text) =>
    send({
      method: 'session/update',
      params: {
        sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
      },
    }),
  /** A command as a call, for `ask`. */
  bash: (toolCallId, command, more = {}) => ({
    toolCallId,
    title: command,
    kind: 'execute',
    rawInput: { command },
    ...more,
  }),
  end: (toolCallId, more = {}) =>
    send({
      method: 'session/update',
      params: {
        sessionId,
        update: { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', ...more },
      },
    }),
};

const faults = {
  refuse: () => {
    throw new Error(`no such session, and my key is ${process.env.AGENT_API_KEY}`);
  },
  silent: () => new Promise(() => {}),
  exit: () => process.exit(3),
  close: () => {
    closeSync(1);
    setInterval(() => {}, 1_000);
    return new Promise(() => {});
  },
  /** Leaves a process behind that holds the standard output. */
  leave: () => {
    spawn('sleep', ['1000'], { stdio: ['ignore', 'inherit', 'ignore'] });
    process.exit(3);
  },
  stubborn: () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
    setInterval(() => {}, 1_000);
    return new Promise(() => {});
  },
  long: async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (;;) await write(piece);
  },
  garbage: async () => {
    for (;;) await write('not a message\n'.repeat(1_000));
  },
};

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: false, sessionCapabilities: { resume: {}, fork: {} } },
  }),
  'session/new': () => ({ sessionId }),
  'session/resume': (params) => {
    ({ sessionId } = params);
    return {};
  },
  'session/fork': () => {
    sessionId = process.env.FORKED_SESSION ?? 'session-2';
    return { sessionId };
  },
  'session/prompt': async ({ prompt }) => {
    const { code, args } = JSON.parse(prompt.at(-1).text);
    // oxlint-disable-next-line typescript/no-implied-eval -- the tests are its author
    const result = await new Function(`return (${code})`)()(agent, args, prompt);
    return typeof result === 'object' && result !== null ? result : { stopReason: 'end_turn' };
  },
};

const input = createInterface({ input: process.stdin });
input.on('line', (line) => void handleLine(line));

async function handleLine(line) {
  const { id, method, params, ...answer } = JSON.parse(line);
  if (method === undefined) {
    open.get(JSON.stringify(id))?.(answer);
    return;
  }
  const handle = methods[method];
  if (id === undefined) return;
  if (handle === undefined) await send({ id, error: { code: -32601, message: 'Method not found' } });
  else
    try {
      if (method === faultyMethod) {
        if (method === 'session/prompt') await agent.say('I begin.');
        await faults[fault]();
      }
      const result = await handle(params);
      const messages = [{ id, result }, ...late.splice(0)];
      await write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
    } catch (thrown) {
      await send({ id, error: { code: -32603, message: String(thrown.stack) } });
    }
}
