// CPU of reading whole answers over one transport:
//   node streaming.mjs <transport> <origin> <deltas> <events per write> <gap in ms>
import { DELTA_SIZE } from '../decode/answers.mjs';
import { connectTo, read } from '../decode/polypod.mjs';
import { cpuPerRun } from '../measure.mjs';
import { TRANSPORTS } from './transports.mjs';

const [name, origin, ...load] = process.argv.slice(2);
const [deltas, eventsPerWrite] = load.map(Number);
const transport = await TRANSPORTS[name]();

// The warm-up does not wait for a paced sender.
const cpuUs = await cpuPerRun(
  () => complete(transport, `${origin}/${deltas}/${eventsPerWrite}/0`),
  () => complete(transport, `${origin}/${load.join('/')}`),
);
console.log(JSON.stringify({ cpuUs, pieces: await countPieces() }));
process.exit(0);

async function complete(over, baseUrl) {
  const characters = await read(connectTo('anthropic', over, baseUrl));
  if (characters !== deltas * DELTA_SIZE) throw new Error(`${name} saw ${characters} characters`);
}

/** The number of pieces in which the answer arrives, which causes most of the difference. */
async function countPieces() {
  let count = 0;
  const counting = async (request, watch) => {
    const response = await transport(request, watch);
    return { ...response, body: counted(response.body) };
  };
  async function* counted(body) {
    for await (const piece of body) {
      count += 1;
      yield piece;
    }
  }
  await complete(counting, `${origin}/${load.join('/')}`);
  return count;
}
