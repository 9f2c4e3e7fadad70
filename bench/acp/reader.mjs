// Compares how our ACP back end and the client of the official SDK read notifications: node bench/acp/reader.mjs <own|sdk> <notifications>
//
// Prints the CPU milliseconds to load the code, and the CPU microseconds for one `session/update` with a chunk of text: from a line to an
// event of the agent, or to the handler of the SDK. Both get the same bytes in pieces of 64 KiB.
import { Readable, Writable } from 'node:stream';
import { cpuPerRun } from '../measure.mjs';

const PIECE = 64 * 1024;
const [kind, count] = process.argv.slice(2);
const before = process.cpuUsage();
const read = await { own, sdk }[kind]();
const { user, system } = process.cpuUsage(before);
const loadMs = (user + system) / 1000;
const [few, many] = [piecesOf(2000), piecesOf(Number(count))];
const cpuUs = await cpuPerRun(
  () => read(few, 2000),
  () => read(many, Number(count)),
);
console.log(JSON.stringify({ loadMs, us: cpuUs / Number(count) }));
process.exit(0);

function piecesOf(notifications) {
  const lines = Array.from({ length: notifications }, (_, number) =>
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'session/update',
      params: {
        sessionId: 's',
        update: {
          sessionUpdate: 'agent_message_chunk',
          content: { type: 'text', text: `a few words ${number}` },
          messageId: 'm8',
        },
      },
    }),
  );
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  return Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, at) =>
    bytes.subarray(at * PIECE, (at + 1) * PIECE),
  );
}

async function own() {
  const { LineReader } = await import('../../dist/wire/index.js');
  const { readMessage } = await import('../../dist/base/index.js');
  const { newState, startTurn, step } = await import('../../dist/backends/acp/step.js');
  return async (pieces, expected) => {
    const reader = new LineReader({ limit: { maxBytes: 1 << 26 } });
    let state = startTurn({ ...newState({ cwd: '/', commandInTitle: false }), sessionId: 's' }, 1);
    let events = 0;
    for (const piece of pieces)
      for (const line of reader.push(piece)) {
        const next = step(state, readMessage(line).value);
        state = next.state;
        events += next.events.length;
      }
    if (events !== expected) throw new Error(`${events} events instead of ${expected}`);
  };
}

async function sdk() {
  const { client, methods, ndJsonStream } = await import('@agentclientprotocol/sdk');
  return (pieces, expected) =>
    new Promise((resolve) => {
      let seen = 0;
      const input = Readable.toWeb(Readable.from(pieces, { objectMode: false, highWaterMark: PIECE }));
      client()
        .onNotification(methods.client.session.update, () => {
          seen += 1;
          if (seen === expected) resolve();
        })
        .connect(ndJsonStream(Writable.toWeb(new Writable({ write: (_, _e, done) => done() })), input));
    });
}
