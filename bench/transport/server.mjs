// A provider on loopback, in a process of its own so that its cost is charged to nobody. Prints its port.
// `POST /<deltas>/<events per write>/<gap in ms>/v1/messages` streams an Anthropic answer; without a gap, as fast as the
// reader takes it. Ends when its standard input does.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { textFrames } from '../decode/answers.mjs';

const frames = new Map();
const server = createServer((request, response) => {
  request.resume();
  const [deltas, eventsPerWrite, gapMs] = request.url.split('/').slice(1).map(Number);
  // Node joins the writes of one turn: without a turn in between there would be no single writes.
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
