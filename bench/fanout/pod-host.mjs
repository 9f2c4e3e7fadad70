// A host of pods with the Pod Protocol on a socket for each, all at its defaults: node pod-host.mjs <control socket> <provider> <directory>
import { join } from 'node:path';
import { PodDoor, PodSockets } from '../../dist/protocols/pod/index.js';
import { serveLines } from '../floor/line-server.mjs';
import { openHost } from '../floor/pods.mjs';

const [path, provider, directory] = process.argv.slice(2);
const host = await openHost(provider, join(directory, 'data'));
const sockets = new PodSockets(new PodDoor(), { directory: join(directory, 'pods') });

await serveLines(path, {
  open: async () => {
    const pod = await host.create({ cwd: directory });
    return { session: pod.id, path: await sockets.open(pod) };
  },
  close: async ({ session }) => {
    await sockets.close(session);
    await host.close(session);
    return {};
  },
});
console.log(JSON.stringify({ ready: true }));
process.stdin.resume().on('end', () => process.exit(0));
