// A provider, in its own process, that writes the current time into each delta: node provider.mjs
// The simulator prepares its answers in advance, so it cannot do this. Streams an answer of the Messages API, paced as the prompt
// specifies (bench/floor/prompts.mjs). Prints its address; ends when its standard input ends.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { askedIn } from '../floor/prompts.mjs';
import { stamp } from './stamps.mjs';

const server = createServer((request, response) => {
  serve(request, response).catch((error) => response.destroy(error));
});
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })),
);
process.stdin.resume().on('end', () => process.exit(0));

async function serve(request, response) {
  let body = '';
  for await (const piece of request) body += piece;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  await answer(response, askedIn(promptIn(JSON.parse(body))));
}

function promptIn({ messages }) {
  const { content } = messages.findLast(({ role }) => role === 'user');
  return typeof content === 'string' ? content : content[0].text;
}

async function answer(response, { count, batch, delayMs }) {
  response.write(
    frame({
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'sim',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    }) + frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  );
  for (let sent = 0; sent < count; sent += batch) {
    await (delayMs > 0 ? setTimeout(delayMs) : setImmediate());
    let text = '';
    for (let at = 0; at < batch; at += 1) text += delta();
    if (!response.write(text)) await once(response, 'drain');
  }
  response.end(
    frame({ type: 'content_block_stop', index: 0 }) +
      frame({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: count },
      }) +
      frame({ type: 'message_stop' }),
  );
}

function delta() {
  return frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: stamp() } });
}

function frame(event) {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
