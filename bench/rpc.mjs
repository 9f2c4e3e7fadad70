// The RPC door compared with a minimal host and with pi: node bench/rpc.mjs [--quick]. First the start-up time
// (bench/rpc/start.mjs), then the cost of a delta (bench/rpc/stream.mjs).
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { printBars, printResult } from './report.mjs';
import { benchStart } from './rpc/start.mjs';
import { benchStream } from './rpc/stream.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
requireBuild();
const bars = [...(await benchStart(options.quick ? 3 : 15)), ...(await benchStream(options.quick ? 1 : 5))];
printBars(bars);
printResult('rpc', bars);
process.exit();
