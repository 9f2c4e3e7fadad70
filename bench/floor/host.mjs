// The floor for a host: the least that does the job, and no features at all. node host.mjs <socket> <provider> <directory>
//
// Takes a prompt on a Unix socket, asks the simulator by the Messages API, and turns what one read from it brings into one
// write to a log (which is not synced) and one to each of its clients. A client that does not drain holds the provider up.
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
    streamDeltas(provider, text, (pieces, isEnd) => tell(sessions.get(session), pieces, isEnd)),
  close: ({ session }) => {
    sessions.get(session).clients.clear();
    return {};
  },
});
console.log(JSON.stringify({ ready: true }));
process.stdin.resume().on('end', () => process.exit(0));

/** Answers with the clients that have to drain before more should come. */
function tell(session, pieces, isEnd) {
  let lines = '';
  for (const piece of pieces)
    lines += `{"s":${session.id},"n":${++session.lines},"t":"text","d":${JSON.stringify(piece)}}\n`;
  if (isEnd) lines += `{"s":${session.id},"n":${++session.lines},"t":"end"}\n`;
  const bytes = Buffer.from(lines);
  writeSync(log, bytes);
  return [...session.clients].filter((client) => !client.write(bytes));
}
