import { once } from 'node:events';
import type { Socket } from 'node:net';
import { onAbort, PolypodError } from '../../base/index.ts';
import { readGreeting } from '../../protocols/index.ts';
import { connectUnix, firstLine } from '../../wire/index.ts';
import type { CommandContext } from '../command.ts';

// A dynamic import of all of `wire` would load the servers that use it, too.
export { connectUnix };

/** Relays bytes between a client on stdio and the daemon, until the client has ended and all answers are sent, or the signal aborts. */
export async function relay(
  socket: Socket,
  header: object,
  { stdin, stdout, stderr, signal }: CommandContext,
  onAccepted: () => void,
): Promise<void> {
  // A broken connection is handled as its end.
  socket.on('error', () => {});
  const forget = onAbort(signal, () => socket.destroy());
  try {
    socket.write(`${JSON.stringify(header)}\n`);
    const chunks: AsyncIterator<Uint8Array, undefined> = socket.iterator({ destroyOnReturn: false });
    const first = await firstLine(chunks);
    if (first === undefined) throw gone();
    const greeting = readGreeting(first.line);
    if ('refused' in greeting) throw new PolypodError('bad-request', greeting.refused);
    for (const notice of greeting.notices) stderr.write(`polypod: ${notice}\n`);
    stdout.write(first.rest);
    onAccepted();
    let isAllSent = false;
    stdin.once('end', () => {
      isAllSent = true;
    });
    stdin.pipe(socket);
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next())
      if (!stdout.write(next.value)) await once(stdout, 'drain', { signal });
    if (!isAllSent) throw gone();
  } catch (thrown) {
    if (!signal.aborted) throw thrown instanceof PolypodError ? thrown : gone(thrown);
  } finally {
    forget();
    socket.destroy();
  }
}

function gone(cause?: unknown): PolypodError {
  return new PolypodError(
    'unreachable',
    'the daemon closed the connection: see polypod status and polypod logs; the session is stored',
    { cause },
  );
}
