// Pods whose events plain node:http sends as server-sent events, with nothing else of the door: node bare.mjs <control socket> <provider> <directory>
// Compared with it, the door shows its own cost: keys, limits, the lines of the Pod Protocol, and positions to resume from.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { serveLines } from '../floor/line-server.mjs';
import { openHost, promptCommand } from '../floor/pods.mjs';

const [path, provider, directory] = process.argv.slice(2);
const host = await openHost(provider, join(directory, 'data'));
const pods = new Map();

const server = createServer((request, response) => {
  const [, , name] = request.url.split('/');
  void forward(pods.get(name), response);
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
await once(server, 'listening');
await serveLines(path, {
  open: async ({ session }) => {
    pods.set(session, await host.create({ cwd: directory }));
    return {};
  },
  run: async ({ session, prompt }) => {
    await pods.get(session).handle(promptCommand(prompt));
    return {};
  },
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}`, key: 'none' }));
process.stdin.resume().on('end', () => process.exit(0));

async function forward(pod, response) {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
  const left = new AbortController();
  response.on('close', () => left.abort());
  for await (const watched of pod.watch({ signal: left.signal })) {
    if (watched.type === 'snapshot') response.write('event: snapshot\ndata: {}\n\n');
    else response.write(watched.batch.as(eventsOf));
  }
}

/** The same bytes as the door's, for the events of an answer. */
function eventsOf(events) {
  let text = '';
  for (const { seq, type, index, delta } of events) {
    if (type === 'block-delta') text += sse(seq, 'text_delta', { text: delta.text, index });
    else if (type === 'run-end') text += sse(seq, 'run_end', { result: 'finished' });
  }
  return Buffer.from(text);
}

function sse(seq, event, data) {
  return `id: ${seq}.0\nevent: ${event}\ndata: ${JSON.stringify({ event, data, seq })}\n\n`;
}
