// The floor host's protocol with pods behind it, set up like an application: node pod-host.mjs <socket> <provider> <directory>
//
// The log has its default durability. For each client, a watcher in this process encodes each batch once.
import { once } from 'node:events';
import { serveLines } from './line-server.mjs';
import { openHost, promptCommand } from './pods.mjs';

const [path, provider, directory] = process.argv.slice(2);
const host = await openHost(provider, directory);
const pods = new Map();
/** Bytes that may wait for a client before its pod is no longer listened to. All of the longest answer: a client that is slow for
 * a moment is not to be cut off and read for again, which a floor that holds its provider up never does. */
const MOST_WAITING = 16 * 1024 * 1024;

await serveLines(path, {
  open: async (_, socket) => {
    const pod = await host.create({ cwd: directory });
    pods.set(pod.id, pod);
    await new Promise((joined) => void forward(pod, socket, joined));
    return { session: pod.id };
  },
  prompt: async ({ session, text }) => void (await pods.get(session).handle(promptCommand(text))),
  close: async ({ session }) => {
    pods.delete(session);
    await host.close(session);
    return {};
  },
});
console.log(JSON.stringify({ ready: true }));
process.stdin.resume().on('end', () => process.exit(0));

/** A client that falls behind is disconnected by its pod and resumes after the last event, as at a door. */
async function forward(pod, socket, joined) {
  let after;
  const follow = async () => {
    for await (const watched of pod.watch(after === undefined ? {} : { after })) {
      if (watched.type === 'snapshot') {
        after = watched.snapshot.seq;
        joined();
        continue;
      }
      const isDrained = socket.write(watched.batch.as(linesOf));
      after = watched.batch.lastSeq;
      if (!isDrained && socket.writableLength > MOST_WAITING) await once(socket, 'drain');
    }
    return true;
  };
  while (!(await follow().catch(isCutOff)));
}

function isCutOff(error) {
  if (error.code !== 'overloaded') throw error;
  return false;
}

function linesOf(events) {
  let lines = '';
  for (const event of events) lines += lineOf(event);
  return Buffer.from(lines);
}

/** A delta in the spelling of the floor, so that the encoding does not affect the comparison. */
function lineOf(event) {
  if (event.type !== 'block-delta') return `${JSON.stringify(event)}\n`;
  const { seq, index, delta } = event;
  return `{"s":${index},"n":${seq},"t":"text","d":${JSON.stringify(delta.text ?? delta.json)}}\n`;
}
