import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf, PolypodError, systemCodeOf } from '../base/index.ts';
import { keyVariables, openWorkbench, placesFrom, readConfig } from '../daemon/index.ts';
import { referenceTo, textContent, THINKING_LEVELS } from '../llm/index.ts';
import { readMcpConfig } from '../mcp/index.ts';
import { ground, isInside, isSecret, type Mode } from '../tools/index.ts';
import { type RunOutcome, systemPrompt, Worker } from '../worker/index.ts';
import { EXIT, type ExitCode, runnable, type Surroundings } from './command.ts';
import { type ReadyModel, readyModel } from './model-choice.ts';
import { explain } from './next-step.ts';
import { type Ask, askOnTerminal, denyAll } from './permission-prompt.ts';
import { promptFrom } from './prompt-text.ts';
import { jsonPrinter, RunPrinter } from './run-printer.ts';
import { version } from './version.ts';

const MODES: readonly Mode[] = ['read-only', 'workspace-write', 'full-access'];

/** `polypod run`: an agent that works on a directory until the task is done. */
export const run = runnable({
  name: 'run',
  summary:
    'Give an agent a task in this directory: it reads, searches, edits and runs commands, and asks before it must.',
  usage: '[OPTIONS] PROMPT…',
  options: {
    model: {
      type: 'text',
      short: 'm',
      value: 'PROVIDER/ID',
      help: 'which model; a provider alone takes its default',
    },
    mode: { type: 'choice', choices: MODES, help: 'what it may do unasked (default: workspace-write)' },
    'allow-path': {
      type: 'texts',
      value: 'PATH',
      help: 'a path beside the directory that it may use; may be repeated',
    },
    sandbox: { type: 'flag', help: 'run commands in a bubblewrap sandbox: writes only here, no network' },
    cwd: { type: 'text', short: 'C', value: 'DIR', help: 'the directory to work in (default: this one)' },
    system: { type: 'text', short: 's', value: 'TEXT', help: 'added to what the agent is told about itself' },
    thinking: { type: 'choice', choices: THINKING_LEVELS, help: 'how long to think before each step' },
    'max-turns': { type: 'number', value: 'N', min: 1, help: 'stop after so many questions to the model' },
    budget: { type: 'number', value: 'USD', min: 0, help: 'stop when it has cost so much' },
    'mcp-config': {
      type: 'text',
      value: 'FILE',
      help: 'MCP servers to use, as JSON: { "mcpServers": { … } }',
    },
    offline: { type: 'flag', help: 'use the built-in simulated model' },
    headless: { type: 'flag', help: 'ask nobody: what needs permission is denied' },
    json: { type: 'flag', help: 'print the event stream, one JSON object per line' },
    quiet: { type: 'flag', short: 'q', help: 'only the answer' },
  },
  details: `
The prompt is read from stdin when it is - or missing. The answer goes to stdout, what the agent does to stderr.
AGENTS.md in the directory is read to the agent. Rules on what it may do, MCP servers and accounts are configured in
config.yaml (see docs/permissions.md). Without a terminal, and with --json, it is headless by itself.

Exit codes: 0 done, 1 the task failed or was stopped by a bound, 2 usage, configuration, or something was denied because
nobody could be asked, 3 provider or system, 130 interrupted.

Examples:
  polypod run "Fix the failing test"
  polypod run --mode read-only "What does this project do?"
  polypod run --headless --max-turns 20 --json "Update the changelog" > events.jsonl`,
  async run({ values, positionals }, around) {
    const prompt = await promptFrom(positionals, around.stdin, 'polypod run "Fix the failing test"');
    const cwd = await directory(values.cwd ?? '.');
    const places = placesFrom(around.env);
    const { config } = await readConfig(places);
    const mcpServers = [...config.mcpServers, ...(await serversIn(values['mcp-config']))];
    for (const path of values['allow-path']) await existing(path);
    const wish = { reference: values.model, offline: values.offline, replaying: false };
    const ready = await readyModel(wish, around, {});
    const printer = values.json ? jsonPrinter(around.stdout) : new RunPrinter(around, values.quiet);
    let denied = 0;
    const ask = asker(
      values.headless || values.json,
      around,
      () => printer.pause(),
      () => (denied += 1),
    );
    try {
      if (!values.quiet) for (const notice of ready.notices) around.stderr.write(`polypod: ${notice}\n`);
      const bench = await openWorkbench({
        cwd,
        permissions: config.permissions,
        mode: values.mode ?? config.permissions.mode ?? 'workspace-write',
        allowPaths: values['allow-path'],
        sandbox: values.sandbox,
        mcpServers,
        env: around.env,
        secretEnv: keyVariables(config),
        outputs: join(places.cacheDirectory, 'outputs', randomUUID()),
        version: version(),
        ask,
        onServerChange: ({ name, state, error }) => {
          if (state === 'failed' && !values.quiet)
            around.stderr.write(`polypod: MCP server ${name} failed: ${error ?? 'no reason given'}\n`);
        },
      });
      try {
        const system = systemPrompt({
          cwd,
          platform: process.platform,
          today: new Date().toISOString().slice(0, 10),
          instructions: await instructionsIn(cwd),
          addition: values.system,
        });
        const tools = await bench.tools();
        const worker = new Worker({
          settings: () => ({
            llm: ready.llm,
            model: ready.model,
            system,
            tools,
            cache: { ttl: '5m' },
            ...(values.thinking === undefined ? {} : { thinking: values.thinking }),
          }),
          cwd,
          approve: bench.approve,
          surroundings: bench.surroundings,
          emit: (events) => printer.print(events),
          bounds: () => ({
            ...(values['max-turns'] === undefined ? {} : { maxTurns: values['max-turns'] }),
            ...(values.budget === undefined ? {} : { budget: values.budget }),
          }),
        });
        const outcome = await worker.run(textContent(prompt), around.signal);
        printer.end();
        await printer.drained();
        return exitCodeOf(outcome, denied, ready, around);
      } finally {
        await bench.close();
      }
    } finally {
      printer.end();
      await ready.close();
    }
  },
});

function exitCodeOf(
  outcome: RunOutcome,
  denied: number,
  ready: ReadyModel,
  { stderr }: Surroundings,
): ExitCode {
  switch (outcome.status) {
    case 'finished':
      if (denied === 0) return EXIT.ok;
      stderr.write(
        `polypod run: ${denied} ${denied === 1 ? 'call was' : 'calls were'} denied because nobody could be asked; allow more with --mode or with rules in config.yaml\n`,
      );
      return EXIT.usage;
    case 'cancelled':
      return EXIT.interrupted;
    case 'failed':
      stderr.write(`polypod run: ${explain(outcome.failure, ready.llm.account, referenceTo(ready.model))}\n`);
      return outcome.failure.kind === 'auth' || outcome.failure.kind === 'unknown-model'
        ? EXIT.usage
        : EXIT.broken;
    default:
      return EXIT.failed;
  }
}

function asker(headless: boolean, around: Surroundings, makeRoom: () => void, onDenied: () => void): Ask {
  const canAsk = !headless && around.stdin.isTTY === true && around.stderr.isTTY === true;
  return canAsk ? askOnTerminal(around, makeRoom) : denyAll(onDenied);
}

async function existing(path: string): Promise<void> {
  await stat(resolve(path)).catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot allow ${path}: ${messageOf(thrown)}`, { cause: thrown });
  });
}

async function directory(path: string): Promise<string> {
  const full = resolve(path);
  const found = await stat(full).catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot work in ${path}: ${messageOf(thrown)}`, { cause: thrown });
  });
  if (!found.isDirectory())
    throw new PolypodError('bad-request', `cannot work in ${path}: it is not a directory`);
  return full;
}

/** What the project tells every agent. A link out of the project is not followed: it would hand a stranger's choice of file to the model. */
async function instructionsIn(cwd: string) {
  const file = 'AGENTS.md';
  const [here, place] = await Promise.all([ground.realPath(cwd), ground.realPath(join(cwd, file))]);
  if (!('real' in here) || !('real' in place) || !isInside(here.real, place.real) || isSecret(place.real))
    return [];
  const text = await readFile(place.real, 'utf8').catch((thrown: unknown) => {
    if (systemCodeOf(thrown) === 'ENOENT') return '';
    throw new PolypodError('denied', `cannot read ${file}: ${messageOf(thrown)}`, { cause: thrown });
  });
  if (text.length > MOST_INSTRUCTIONS) {
    throw new PolypodError(
      'bad-request',
      `${file} is longer than ${MOST_INSTRUCTIONS} characters: shorten it`,
    );
  }
  return text.trim() === '' ? [] : [{ file, text }];
}

const MOST_INSTRUCTIONS = 100_000;

async function serversIn(file: string | undefined) {
  if (file === undefined) return [];
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the MCP servers: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  return readMcpConfig(text);
}
