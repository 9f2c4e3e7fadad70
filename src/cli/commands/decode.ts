import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { type LlmEvent, type Provider, recordingDecoder } from '../../llm/index.ts';
import { providers } from '../../registry.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../command.ts';

const WIRES = providers.map(({ name }) => name);

/** `polypod decode`: converts a provider's stream to Polypod's events. */
export const decode = runnable({
  name: 'decode',
  summary: "Print a provider's recorded stream as normalised events, one JSON object per line.",
  usage: '--wire WIRE [FILE]',
  options: {
    wire: { type: 'choice', short: 'w', choices: WIRES, help: 'the provider API of the recording' },
    trace: { type: 'flag', help: 'print parts of the stream without an event to stderr' },
  },
  details: `
FILE can contain server-sent events, NDJSON, or one JSON payload per line. Without FILE, or with -, stdin is read.
Events are printed as they are decoded. The exit code is 0 for a complete stream, and 3 for a truncated or failed
one.

Examples:
  curl -sN https://api.openai.com/v1/chat/completions … | polypod decode --wire openai-chat
  polypod decode --wire anthropic recording.sse | jq -r 'select(.type=="block-delta").delta.text // empty'`,
  async run({ values, positionals }, context) {
    const provider = providers.find(({ name }) => name === values.wire);
    if (provider === undefined)
      throw new PolypodError('bad-request', `--wire is needed: one of ${WIRES.join(', ')}`);
    if (positionals.length > 1) throw new PolypodError('bad-request', 'one FILE at a time');
    return decodeStream(provider, await source(positionals[0], context), values.trace, context);
  },
});

async function source(
  file: string | undefined,
  { stdin }: CommandContext,
): Promise<AsyncIterable<Uint8Array>> {
  if (file === undefined || file === '-') return stdin;
  try {
    if ((await stat(file)).isDirectory())
      throw new PolypodError('bad-request', `${file} is a directory, not a recording`);
  } catch (thrown) {
    if (systemCodeOf(thrown) === undefined) throw thrown;
    throw new PolypodError('not-found', `cannot read ${file}: ${messageOf(thrown)}`, { cause: thrown });
  }
  return createReadStream(file);
}

async function decodeStream(
  provider: Provider,
  bytes: AsyncIterable<Uint8Array>,
  showTrace: boolean,
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const decoder = recordingDecoder(provider, (trace) => {
    if (showTrace) stderr.write(`${JSON.stringify(trace)}\n`);
  });
  let failed = false;
  const print = async (events: readonly LlmEvent[]): Promise<void> => {
    failed ||= events.some((event) => event.type === 'status' && event.status === 'failed');
    const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
    if (lines !== '' && !stdout.write(lines)) await once(stdout, 'drain');
  };
  for await (const piece of bytes) await print(decoder.push(piece));
  await print(decoder.end());
  return failed ? EXIT.broken : EXIT.ok;
}
