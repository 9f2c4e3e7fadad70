// The time from process start to the first delta: node first-delta.mjs <transport> <base URL> <start time>
import { connectTo, read } from '../decode/polypod.mjs';
import { TRANSPORTS } from './transports.mjs';

const [name, baseUrl, startedAtNs] = process.argv.slice(2);
const transport = await TRANSPORTS[name]();

await read(connectTo('anthropic', transport, baseUrl), () => {
  // All processes of a machine share this clock, so the times can be subtracted.
  const wallMs = Number(process.hrtime.bigint() - BigInt(startedAtNs)) / 1e6;
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 }));
  process.exit(0);
});
