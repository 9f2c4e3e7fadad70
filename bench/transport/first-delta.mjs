// From nothing to the first delta: node first-delta.mjs <transport> <base URL> <when it was started>
import { connectTo, read } from '../decode/polypod.mjs';
import { TRANSPORTS } from './transports.mjs';

const [name, baseUrl, startedAtNs] = process.argv.slice(2);
const transport = await TRANSPORTS[name]();

await read(connectTo('anthropic', transport, baseUrl), () => {
  // The clock is the machine's, so the parent's reading and ours can be subtracted.
  const wallMs = Number(process.hrtime.bigint() - BigInt(startedAtNs)) / 1e6;
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 }));
  process.exit(0);
});
