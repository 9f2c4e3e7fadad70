// A provider simulator that answers every request with a few words, whatever an agent adds to the prompt: node provider.mjs.
// Prints its address; ends when its standard input ends.
import { startSim } from '../../dist/sim/index.js';

const { url } = await startSim({ script: () => ({ parts: [{ text: 'Here you are.' }] }) });
console.log(JSON.stringify({ url }));
process.stdin.resume().on('end', () => process.exit(0));
