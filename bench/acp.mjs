// The ACP door compared with a minimal host, other agents and the official SDK: node bench/acp.mjs [--quick] [--peers DIRECTORY]
//
// First the start-up time (bench/acp/start.mjs), then the cost of a delta (bench/acp/stream.mjs), then that of writing a notification
// (bench/acp/writer.mjs) and reading one (bench/acp/reader.mjs). `--peers` names a directory outside of the project, into which npm installs the other agents (about 1 GB).
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { benchStart } from './acp/start.mjs';
import { benchStream } from './acp/stream.mjs';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' }, peers: { type: 'string' } } });
requireBuild();
// Every agent has a directory and a process that end with this process.
process.setMaxListeners(0);
const { quick } = options;
const peers = options.peers === undefined ? undefined : resolve(options.peers);
const bars = [
  ...(await benchStart({ rounds: quick ? 3 : 11, peers })),
  ...(await benchStream({ rounds: quick ? 1 : 5, counts: quick ? [20_000] : [2_000, 20_000, 100_000] })),
];
const writer = await benchSdk('writer', new URL('acp/writer.mjs', import.meta.url), quick ? 3 : 5);
const reader = await benchSdk('reader', new URL('acp/reader.mjs', import.meta.url), quick ? 3 : 5);
bars.push(
  atMost('own writer / SDK', writer.us, 1),
  atMost('own load / SDK', writer.load, 1),
  atMost('own reader / SDK', reader.us, 1),
);
printBars(bars);
printResult('acp', bars);
process.exit();

/** Compares a part of ours with that of the SDK. */
async function benchSdk(part, script, rounds) {
  const figures = { own: [], sdk: [] };
  for (let round = 0; round < rounds; round++)
    for (const kind of Object.keys(figures)) figures[kind].push(await runChild(script, [kind, 20_000]));
  const middle = (kind, what) => median(figures[kind].map((value) => value[what]));
  const rows = Object.keys(figures).map((kind) => [
    kind,
    figure(middle(kind, 'us')),
    figure(middle(kind, 'loadMs')),
  ]);
  console.log(`${table([part, 'CPU µs per notification', 'CPU ms to load'], rows)}\n`);
  return {
    us: middle('own', 'us') / middle('sdk', 'us'),
    load: middle('own', 'loadMs') / middle('sdk', 'loadMs'),
  };
}
