// A host with the tasks door and an audit log: node door.mjs <control socket> <provider> <directory>. Only limits that would end
// a measurement are raised: the rate of one key, the queue, and the comments in quiet streams.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createLog, redactor } from '../../dist/base/index.js';
import { podLines } from '../../dist/protocols/index.js';
import { startTasks } from '../../dist/protocols/tasks/listener.js';
import { createKey } from '../../dist/protocols/tasks/index.js';
import { openAudit } from '../../dist/daemon/audit.js';
import { serveLines } from '../floor/line-server.mjs';
import { openHost } from '../floor/pods.mjs';

const [path, provider, directory] = process.argv.slice(2);
const MANY = 1_000_000_000;
const host = await openHost(provider, join(directory, 'data'), { limits: { queue: MANY } });
// In a separate directory, as in the daemon, because it is watched.
const keyFile = join(mkdtempSync(join(directory, 'keys-')), 'keys.json');
const { key } = createKey(keyFile, { owner: 'bench', scopes: ['submit', 'read'] });
const { url } = await startTasks({
  host,
  version: '0',
  log: createLog({ sinks: [], level: () => 'info', redact: () => redactor([]) }),
  port: 0,
  keyFile,
  audit: openAudit({ dataDirectory: join(directory, 'data') }).record,
  cwd: directory,
  mode: 'full-access',
  modelNamed: async () => undefined,
  project: await podLines(10_000),
  limits: {
    rate: { perMinute: MANY, burst: MANY },
    pending: MANY,
    keepAliveMs: 600_000,
    http: { stalledMs: 600_000 },
  },
});
await serveLines(path, {});
console.log(JSON.stringify({ url, key }));
process.stdin.resume().on('end', () => process.exit(0));
