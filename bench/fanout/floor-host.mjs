// The floor host with subscribers, in the spelling of the Pod Protocol: node floor-host.mjs <control socket> <provider>
// <directory>. Every session has its own socket, and every client that connects is a subscriber. Each read from the provider
// becomes one write to a log and one write of the same bytes to each subscriber. A subscriber that does not drain pauses the
// provider.
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { serveLines } from '../floor/line-server.mjs';
import { streamDeltas } from '../floor/stream-deltas.mjs';

const [path, provider, directory] = process.argv.slice(2);
const log = openSync(join(directory, 'log.jsonl'), 'a');
const servers = [];

await serveLines(path, {
  open: async () => {
    const session = servers.length;
    const sessionPath = join(directory, `${session}.sock`);
    servers.push(await serveSession(sessionPath));
    return { session, path: sessionPath };
  },
  close: ({ session }) => {
    servers[session].close();
    return {};
  },
});
console.log(JSON.stringify({ ready: true }));
process.stdin.resume().on('end', () => process.exit(0));

function serveSession(sessionPath) {
  const clients = new Set();
  let seq = 0;
  const sendDeltas = (pieces, isEnd) => {
    let lines = '';
    for (const piece of pieces)
      lines += `{"event":"text_delta","data":{"text":${JSON.stringify(piece)}},"seq":${++seq}}\n`;
    if (isEnd) lines += `{"event":"turn_end","data":{"turn":1,"result":"finished"},"seq":${++seq}}\n`;
    const bytes = Buffer.from(lines);
    writeSync(log, bytes);
    return [...clients].filter((client) => !client.write(bytes));
  };
  const take = ({ method, params, request_id }, client) => {
    if (method === 'run') streamDeltas(provider, params.input, sendDeltas);
    else client.write(`{"event":"status","data":{"state":"idle"},"request_id":${request_id}}\n`);
  };
  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => client.destroy()).on('close', () => clients.delete(client));
    // A client's line is short and arrives in one piece.
    client.setEncoding('utf8').on('data', (line) => take(JSON.parse(line), client));
  });
  return new Promise((resolve) => server.listen(sessionPath, () => resolve(server)));
}
