// A host with the HLD door: node host.mjs <socket> <provider's URL> <directory>. It reports its resource usage in <socket>.spent.
import { createServer } from 'node:net';
import { createLog, redactor } from '../../dist/base/index.js';
import { startHld } from '../../dist/protocols/hld/index.js';
import { openHost } from '../floor/pods.mjs';

const [socketPath, provider, directory] = process.argv.slice(2);
const host = await openHost(provider, `${directory}/data`);
await startHld({
  host,
  socketPath,
  version: '0',
  log: createLog({ sinks: [], level: () => 'error', redact: () => redactor([]) }),
  cwd: directory,
  home: directory,
  modelNamed: async () => undefined,
});
createServer((socket) => {
  const { user, system } = process.cpuUsage();
  socket.end(JSON.stringify({ cpuUs: user + system, rss: process.memoryUsage.rss() }));
}).listen(`${socketPath}.spent`, () => console.log('{}'));
process.stdin.resume().on('end', () => process.exit(0));
