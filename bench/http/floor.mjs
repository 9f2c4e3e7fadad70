// The floor of the tasks door: plain node:http that sends the same bytes and does nothing else. node floor.mjs <control socket> <provider> <directory> [synced]
//
// Requests receive a recorded response of the door (`set_answer`), including its headers. The body of a submission is parsed, and
// one line of it is appended to a log, which is not synced; with `synced`, each session has its own log, and the response waits
// until the line is on disk, as in the door. One sync covers all lines that were written before it. `/events` is a stream of server-sent events: each read from the
// provider becomes one write to a log and one write of the same bytes to each client.
import { once } from 'node:events';
import { fdatasync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { serveLines } from '../floor/line-server.mjs';
import { streamDeltas } from '../floor/stream-deltas.mjs';

const [path, provider, directory, synced] = process.argv.slice(2);
const log = openSync(join(directory, 'log.jsonl'), 'a');
/** The log of each session, and the responses that wait for its next sync. */
const sessionLogs = new Map();
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
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    const line = `${JSON.stringify(body)}\n`;
    if (synced) return appendSynced(logOf(body.sessionId), line, response);
    writeSync(log, line);
    reply(response);
  });
}

function logOf(sessionId) {
  const known = sessionLogs.get(sessionId);
  if (known !== undefined) return known;
  const file = openSync(join(directory, `session-${sessionLogs.size}.jsonl`), 'a');
  const opened = { file, waiting: [], isSyncing: false };
  sessionLogs.set(sessionId, opened);
  return opened;
}

function appendSynced(sessionLog, line, response) {
  writeSync(sessionLog.file, line);
  sessionLog.waiting.push(response);
  if (!sessionLog.isSyncing) sync(sessionLog);
}

function sync(sessionLog) {
  const covered = sessionLog.waiting.splice(0);
  sessionLog.isSyncing = true;
  fdatasync(sessionLog.file, (error) => {
    if (error) throw error;
    sessionLog.isSyncing = false;
    covered.forEach(reply);
    if (sessionLog.waiting.length > 0) sync(sessionLog);
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
