import { createServer } from 'node:net';

/**
 * Serves JSON lines on a Unix socket: `handlers[message.do]` receives the message and the socket, and resolves with the reply.
 * All hosts of these benchmarks use it, so that only the code behind it differs.
 */
export function serveLines(path, handlers) {
  const known = { spent, ...handlers };
  const server = createServer((socket) => {
    let rest = '';
    socket.setEncoding('utf8').on('error', () => socket.destroy());
    socket.on('data', (piece) => {
      const lines = (rest + piece).split('\n');
      rest = lines.pop();
      for (const line of lines) void answer(known, JSON.parse(line), socket);
    });
  });
  return new Promise((resolve) => server.listen(path, resolve));
}

async function answer(handlers, message, socket) {
  const reply = await handlers[message.do](message, socket);
  if (reply !== undefined) socket.write(`${JSON.stringify({ reply })}\n`);
}

/** The CPU microseconds of this process so far (user and system, all threads) and its memory. */
function spent({ collect }) {
  if (collect) globalThis.gc();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { cpuUs: user + system, rss, held: heapUsed + external };
}
