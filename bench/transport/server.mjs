// A provider on loopback, in a process of its own so that its cost is charged to nobody:
//   node server.mjs <deltas>
// Prints its port. `POST /<events per write>/v1/messages` streams the same Anthropic answer every time, as fast as the
// reader takes it. Ends when its standard input does.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { textFrames } from '../decode/answers.mjs';

const frames = textFrames('anthropic', Number(process.argv[2]));
const server = createServer((request, response) => {
  request.resume();
  const eventsPerWrite = Number(request.url.split('/')[1]);
  stream(response, eventsPerWrite).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit(0));

async function stream(response, eventsPerWrite) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let at = 0; at < frames.length; at += eventsPerWrite) {
    const taken = response.write(frames.slice(at, at + eventsPerWrite).join(''));
    if (!taken) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    if (response.destroyed) return;
    // Node joins the writes of one turn: without a turn in between there would be no single writes.
    await setImmediate();
  }
  response.end();
}
