// Measures the CPU of one conversation: node point.mjs <way> <turns> <deltas>
import { cpuPerRun } from '../measure.mjs';
import { modelInMemory, WAYS } from './conversation.mjs';

const [way, turns, deltas] = process.argv.slice(2);
const llm = modelInMemory(Number(turns), Number(deltas));
const once = () => WAYS[way](llm, Number(turns));

console.log(JSON.stringify({ cpuUs: await cpuPerRun(once, once) }));
process.exit(0);
