// The provider simulator in its own process, so that its CPU time is not counted: node provider.mjs. Prints its address; ends
// when its standard input ends. See `prompts.mjs` for the prompts.
import { generatedText, startSim } from '../../dist/sim/index.js';
import { askedIn } from './prompts.mjs';

const { url } = await startSim({ script: answerTo });
console.log(JSON.stringify({ url }));
process.stdin.resume().on('end', () => process.exit(0));

function answerTo({ messages }) {
  // The answer to tool results is short.
  if (messages.at(-1).role === 'tool') return { parts: [{ text: 'Done.' }] };
  const { work, count, size, batch, delayMs } = askedIn(
    messages.findLast(({ role }) => role === 'user').text,
  );
  const text = generatedText(count * size);
  const pace = { chunkSize: size, batch, delayMs };
  if (work === 'text') return { parts: [{ text }], pace };
  // The braces and quotes are part of the pieces.
  const argumentsText = JSON.stringify({ text: text.slice('{"text":""}'.length) });
  return { parts: [{ toolCall: { name: 'note', argumentsText } }], pace };
}
