// Compares our JSON-RPC peer with the official SDK: node writer.mjs <own|sdk> <notifications>
//
// Prints the CPU milliseconds to load the code and connect, and the CPU microseconds for one `session/update` with a chunk of text.
// Both write into the same stream, which discards the bytes.
import { Readable, Writable } from 'node:stream';
import { cpuPerRun } from '../measure.mjs';

const [kind, count] = process.argv.slice(2);
const before = process.cpuUsage();
const { notify, flushed } = await { own, sdk }[kind](new Writable({ write: (_, _encoding, done) => done() }));
const { user, system } = process.cpuUsage(before);
const loadMs = (user + system) / 1000;
const cpuUs = await cpuPerRun(
  () => write(2000),
  () => write(Number(count)),
);
console.log(JSON.stringify({ loadMs, us: cpuUs / Number(count) }));
process.exit(0);

async function write(notifications) {
  for (let number = 0; number < notifications; number++)
    notify('session/update', {
      sessionId: '01a1eeb4-a603-78d9-9748-2315c0865097',
      update: {
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'text', text: `a few words ${number}` },
        messageId: 'm8',
      },
    });
  await flushed();
}

async function own(output) {
  const { Peer } = await import('../../dist/protocols/acp/peer.js');
  const peer = new Peer(output, {
    request: async () => ({}),
    notification: () => {},
    toRpcError: () => ({}),
  });
  return { notify: (method, params) => peer.notify(method, params), flushed: () => peer.drained() };
}

async function sdk(output) {
  const { agent, ndJsonStream } = await import('@agentclientprotocol/sdk');
  const input = Readable.toWeb(new Readable({ read: () => {} }));
  const { client } = agent().connect(ndJsonStream(Writable.toWeb(output), input));
  let last = Promise.resolve();
  return { notify: (method, params) => (last = client.notify(method, params)), flushed: () => last };
}
