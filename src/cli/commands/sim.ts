import { readFile } from 'node:fs/promises';
import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import { DIRECTIVE_KEYS, FAULT_KINDS, SCRIPT_FILE, type ScriptFile, startSim } from '../../sim/index.ts';
import { readYaml } from '../../setup/index.ts';
import { EXIT, runnable } from '../command.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { LISTEN } from '../args/listen-options.ts';
import { serveUntilInterrupted } from '../hosting/until-interrupted.ts';

const DIRECTIVES = Object.entries(DIRECTIVE_KEYS).map(([key, meaning]) => `  ${key.padEnd(12)} ${meaning}`);

/** `polypod sim`: a simulated provider for demonstrations and tests. */
export const sim = runnable({
  name: 'sim',
  summary:
    'Run a simulated provider on loopback that implements the APIs of Anthropic, OpenAI, Gemini, Ollama and Bedrock.',
  usage: '[OPTIONS]',
  options: {
    ...LISTEN,
    script: {
      type: 'text',
      value: 'FILE',
      help: 'a file with answers, as JSON or YAML (default: the built-in offline model)',
    },
    delay: { type: 'number', value: 'MS', min: 0, help: 'the delay between two writes' },
    fault: { type: 'choice', value: 'KIND', choices: FAULT_KINDS, help: 'a fault for every answer' },
    key: { type: 'flag', help: 'accept only the key in POLYPOD_SIM_KEY (ID:SECRET for signatures of AWS)' },
  },
  details: `
The server runs until it is interrupted. A script is a list of answers, one for each request, or
{ "loop": true, "answers": [ … ] } to start again after the last one (see docs/simulator.md).

A prompt can control the answer with [[sim key=value …]]. Quote a value that contains spaces or ] with single quotes:
text='two words'. A value cannot contain a single quote; in JSON, write \\u0027 instead.
${DIRECTIVES.join('\n')}

Faults: ${FAULT_KINDS.join(', ')}.

Examples:
  polypod sim --port 8100
  polypod sim --script answers.json
  ANTHROPIC_BASE_URL=http://127.0.0.1:8100 ANTHROPIC_API_KEY=any polypod ask "Hello [[sim deltas=50 delay=20]]"`,
  async run({ values, positionals }, context) {
    refuseArguments('sim', positionals);
    const script = values.script === undefined ? undefined : await readScript(values.script);
    const server = await startSim({
      ...withoutUndefined({ script: script?.answers, loop: script?.loop, port: values.port }),
      ...(values.delay === undefined ? {} : { pace: { delayMs: values.delay } }),
      ...(values.fault === undefined ? {} : { fault: { kind: values.fault } }),
      ...(values.key ? { keys: [keyIn(context.env)] } : {}),
    });
    await serveUntilInterrupted(server, { json: values.json, text: startText(server.url) }, context);
    return EXIT.ok;
  },
});

function startText(url: string): string {
  return `A simulated provider listens on ${url} (Ctrl-C ends it). Point a client at it:
  ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=any
  OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=any
  GOOGLE_GEMINI_BASE_URL=${url} GEMINI_API_KEY=any
  OLLAMA_HOST=${url}
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME=${url} AWS_BEARER_TOKEN_BEDROCK=any AWS_REGION=us-east-1
`;
}

/** Never an argument: every user of the machine can read those. */
function keyIn(env: Readonly<Record<string, string | undefined>>): string {
  const key = env.POLYPOD_SIM_KEY;
  if (key) return key;
  throw new PolypodError('bad-request', '--key needs the key in the variable POLYPOD_SIM_KEY');
}

/** Reads JSON or YAML. Problems are reported with their line. */
async function readScript(file: string): Promise<ScriptFile> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the script: ${messageOf(thrown)}`, { cause: thrown });
  });
  return readYaml(text, file, SCRIPT_FILE);
}
