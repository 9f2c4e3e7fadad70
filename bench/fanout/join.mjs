import { once } from 'node:events';
import { createConnection } from 'node:net';

/** Connects to a session as a subscriber. Resolves when the host has answered; the socket is not read yet. */
export async function join(path) {
  const socket = createConnection(path);
  send(socket, { method: 'get_status', request_id: 1 });
  await once(socket, 'readable');
  socket.read();
  return socket;
}

export function run(socket, input) {
  send(socket, { method: 'run', params: { input } });
}

function send(socket, line) {
  socket.write(`${JSON.stringify(line)}\n`);
}
