import { startSessions } from '../fanout/hosts.mjs';
import { join, run } from '../fanout/join.mjs';
import { streamDeltas } from '../floor/stream-deltas.mjs';
import { ageOf, agesIn } from './stamps.mjs';

const END = '"event":"turn_end"';

/** Reads directly from the provider, as the lower bound. Returns a function from a prompt to the ages of its deltas. */
export function direct(provider) {
  return (prompt) =>
    new Promise((resolve) => {
      const ages = [];
      streamDeltas(provider, prompt, (pieces, isEnd) => {
        const now = process.hrtime.bigint();
        for (const piece of pieces) ages.push(ageOf(piece, now));
        if (isEnd) resolve(ages);
        return [];
      });
    });
}

/** Reads through a host in its own process, with a new session for each prompt. */
export async function through(kind, provider) {
  const sessions = await startSessions(kind, provider);
  return async (prompt) => {
    const { session, path } = await sessions.ask({ do: 'open' });
    const socket = await join(path);
    const reading = readAges(socket);
    run(socket, prompt);
    const ages = await reading;
    socket.destroy();
    await sessions.ask({ do: 'close', session });
    return ages;
  };
}

function readAges(socket) {
  const ages = [];
  let rest = '';
  return new Promise((resolve) => {
    socket.setEncoding('latin1').on('data', (piece) => {
      const now = process.hrtime.bigint();
      const text = rest + piece;
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      const lines = text.slice(0, end);
      ages.push(...agesIn(lines, now));
      if (lines.includes(END)) resolve(ages);
    });
  });
}
