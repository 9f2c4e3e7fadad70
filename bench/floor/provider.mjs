// The provider simulator in a process of its own, so that its cost is charged to nobody: node provider.mjs
// Prints its address; ends when its standard input does. What a prompt asks for is in its own words, see `prompts.mjs`.
import { generatedText, startSim } from '../../dist/sim/index.js';
import { askedIn } from './prompts.mjs';

const { url } = await startSim({ script: answerTo });
console.log(JSON.stringify({ url }));
process.stdin.resume().on('end', () => process.exit(0));

function answerTo({ messages }) {
  // After the results of a call there is nothing left to say.
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
