// CPU of reading whole answers over one transport: node streaming.mjs <transport> <base URL> <characters>
import { connectTo, read } from '../decode/polypod.mjs';
import { cpuPerRun } from '../measure.mjs';
import { TRANSPORTS } from './transports.mjs';

const [name, baseUrl, characters] = process.argv.slice(2);
const transport = await TRANSPORTS[name]();
const llm = connectTo('anthropic', transport, baseUrl);

const cpuUs = await cpuPerRun(complete, complete);
const pieces = await countPieces();
console.log(JSON.stringify({ cpuUs, pieces }));
process.exit(0);

async function complete() {
  const seen = await read(llm);
  if (seen !== Number(characters)) throw new Error(`${name} saw ${seen} of ${characters} characters`);
}

/** How finely the answer is cut when it arrives at full speed: most of the difference hangs on that. */
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
  await read(connectTo('anthropic', counting, baseUrl));
  return count;
}
