import { Agent, request } from 'node:http';

const NEWLINE = 10;
const agent = new Agent({ keepAlive: true });

/**
 * Requests one answer and passes on its text, all pieces of one read together: `onPieces(pieces, isEnd)` returns the writable
 * streams to wait for before the next read.
 */
export function streamDeltas(provider, text, onPieces) {
  const body = JSON.stringify({
    model: 'floor',
    max_tokens: 100,
    stream: true,
    messages: [{ role: 'user', content: text }],
  });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const asking = request(`${provider}/v1/messages`, { method: 'POST', agent, headers }, (response) => {
    let unfinished;
    response.on('data', (chunk) => {
      const bytes = unfinished === undefined ? chunk : Buffer.concat([unfinished, chunk]);
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      unfinished = end < bytes.length ? bytes.subarray(end) : undefined;
      const { pieces, isEnd } = piecesIn(bytes, end);
      if (pieces.length > 0 || isEnd) waitFor(onPieces(pieces, isEnd), response);
    });
  });
  asking.end(body);
}

function piecesIn(bytes, end) {
  const pieces = [];
  let isEnd = false;
  for (let start = 0; start < end; ) {
    const stop = bytes.indexOf(NEWLINE, start);
    // Only the data line of an event is parsed.
    if (bytes[start] === 0x64) {
      const frame = JSON.parse(bytes.utf8Slice(start + 'data: '.length, stop));
      if (frame.type === 'content_block_delta') pieces.push(frame.delta.text);
      isEnd ||= frame.type === 'message_stop';
    }
    start = stop + 1;
  }
  return { pieces, isEnd };
}

function waitFor(full, response) {
  if (full.length === 0) return;
  response.pause();
  let waiting = full.length;
  for (const stream of full) stream.once('drain', () => --waiting === 0 && response.resume());
}
