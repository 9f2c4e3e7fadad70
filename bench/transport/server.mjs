// A provider on loopback in its own process, so that its CPU time is not counted. Prints its port. `POST /<deltas>/<events per
// write>/<gap in ms>/v1/messages` streams an Anthropic answer; without a gap, as fast as the reader accepts it. Ends when its
// standard input ends.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { textFrames } from '../decode/answers.mjs';

const frames = new Map();
const server = createServer((request, response) => {
  request.resume();
  const [deltas, eventsPerWrite, gapMs] = request.url.split('/').slice(1).map(Number);
  // Node.js joins the writes of one event loop turn, so each write needs its own turn.
  const pause = gapMs === 0 ? () => setImmediate() : () => setTimeout(gapMs);
  stream(response, writes(deltas, eventsPerWrite), pause).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit(0));

async function stream(response, pieces, pause) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of pieces) {
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    if (response.destroyed) return;
    await pause();
  }
  response.end();
}

function* writes(deltas, eventsPerWrite) {
  if (!frames.has(deltas)) frames.set(deltas, textFrames('anthropic', deltas));
  const all = frames.get(deltas);
  for (let at = 0; at < all.length; at += eventsPerWrite) yield all.slice(at, at + eventsPerWrite).join('');
}
