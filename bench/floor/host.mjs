// The floor for a host: the minimum without any features: node host.mjs <socket> <provider> <directory>. Reads prompts from a
// Unix socket and sends them to the simulator with the Messages API. Each read from the simulator becomes one write to a log (not
// synced) and one to each client. A client that does not drain pauses the provider.
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { serveLines } from './line-server.mjs';
import { streamDeltas } from './stream-deltas.mjs';

const [path, provider, directory] = process.argv.slice(2);
const log = openSync(join(directory, 'log.jsonl'), 'a');
const sessions = new Map();

await serveLines(path, {
  open: (_, socket) => {
    const session = { id: sessions.size + 1, lines: 0, clients: new Set([socket]) };
    sessions.set(session.id, session);
    return { session: session.id };
  },
  prompt: ({ session, text }) =>
    streamDeltas(provider, text, (pieces, isEnd) => sendDeltas(sessions.get(session), pieces, isEnd)),
  close: ({ session }) => {
    sessions.get(session).clients.clear();
    return {};
  },
});
console.log(JSON.stringify({ ready: true }));
process.stdin.resume().on('end', () => process.exit(0));

/** Returns the clients that must drain before more is sent. */
function sendDeltas(session, pieces, isEnd) {
  let lines = '';
  for (const piece of pieces)
    lines += `{"s":${session.id},"n":${++session.lines},"t":"text","d":${JSON.stringify(piece)}}\n`;
  if (isEnd) lines += `{"s":${session.id},"n":${++session.lines},"t":"end"}\n`;
  const bytes = Buffer.from(lines);
  writeSync(log, bytes);
  return [...session.clients].filter((client) => !client.write(bytes));
}
