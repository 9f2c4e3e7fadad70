// The floor of the tasks door: plain node:http that sends the same bytes and does nothing else. node floor.mjs <control socket> <provider> <directory>
//
// Requests receive a recorded response of the door (`set_answer`), including its headers. The body of a submission is parsed, and
// one line of it is appended to a log, which is not synced. `/events` is a stream of server-sent events: each read from the
// provider becomes one write to a log and one write of the same bytes to each client.
import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { serveLines } from '../floor/line-server.mjs';
import { streamDeltas } from '../floor/stream-deltas.mjs';

const [path, provider, directory] = process.argv.slice(2);
const log = openSync(join(directory, 'log.jsonl'), 'a');
const clients = new Set();
let answer = { headers: {}, body: '' };
let seq = 0;

const server = createServer((request, response) => {
  if (request.url.endsWith('/events')) listen(response);
  else if (request.method === 'POST') take(request, response);
  else reply(response);
});
// The same backlog as the door.
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
await once(server, 'listening');
await serveLines(path, {
  set_answer: (message) => {
    answer = message.answer;
    return {};
  },
  run: ({ prompt }) => {
    streamDeltas(provider, prompt, sendDeltas);
    return {};
  },
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}`, key: 'none' }));
process.stdin.resume().on('end', () => process.exit(0));

function take(request, response) {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    writeSync(log, `${JSON.stringify(JSON.parse(Buffer.concat(pieces).toString('utf8')))}\n`);
    reply(response);
  });
}

function reply(response) {
  response.writeHead(200, answer.headers);
  response.end(answer.body);
}

function listen(response) {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.write('retry: 2000\n\n');
  clients.add(response);
  response.on('close', () => clients.delete(response));
}

/** Returns the clients that must drain before more is sent. */
function sendDeltas(pieces, isEnd) {
  let lines = '';
  const sendEvent = (event, data) => {
    seq += 1;
    lines += `id: ${seq}.0\nevent: ${event}\ndata: ${JSON.stringify({ event, data, seq })}\n\n`;
  };
  for (const text of pieces) sendEvent('text_delta', { text });
  if (isEnd) sendEvent('run_end', { result: 'finished' });
  const bytes = Buffer.from(lines);
  writeSync(log, bytes);
  return [...clients].filter((client) => !client.write(bytes));
}
