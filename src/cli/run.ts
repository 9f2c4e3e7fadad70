import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError } from '../base/index.ts';
import { textContent, THINKING_LEVELS } from '../llm/index.ts';
import type { Caller, ModelChoice, Overrides } from '../pod/index.ts';
import type { RunOutcome } from '../worker/index.ts';
import { EXIT, type ExitCode, runnable, type Surroundings } from './command.ts';
import { DATA_DIR, placesOf } from './data-dir.ts';
import { driveRun } from './drive-run.ts';
import { MODES } from './modes.ts';
import { directoryAt } from './new.ts';
import { explain } from './next-step.ts';
import { type Ask, askOnTerminal, denyAll } from './permission-prompt.ts';
import { promptFrom } from './prompt-text.ts';
import { jsonPrinter, RunPrinter } from './run-printer.ts';
import { openRunPlace, type RunPlace } from './run-place.ts';

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
    resume: { type: 'text', short: 'r', value: 'ID|NAME', help: 'go on with a session' },
    name: { type: 'text', short: 'n', value: 'NAME', help: 'what the new session is called' },
    'no-session': { type: 'flag', help: 'keep nothing' },
    'no-daemon': { type: 'flag', help: 'run in this process, also if a daemon is up' },
    ...DATA_DIR,
    json: { type: 'flag', help: 'print the event stream, one JSON object per line' },
    quiet: { type: 'flag', short: 'q', help: 'only the answer' },
  },
  details: `
The prompt is read from stdin when it is - or missing. The answer goes to stdout, what the agent does to stderr.
AGENTS.md in the directory is read to the agent. Rules on what it may do, MCP servers and accounts are configured in
config.yaml (see docs/permissions.md). Without a terminal, and with --json, it is headless by itself.

The session is kept and listed (polypod ls). With a daemon up (polypod serve) the agent lives there and others may watch
it; --no-daemon, --no-session, --sandbox and --mcp-config have it in this process.

Exit codes: 0 done, 1 the task failed or was stopped by a bound, 2 usage, configuration, or something was denied because
nobody could be asked, 3 provider or system, 130 interrupted.

Examples:
  polypod run "Fix the failing test"
  polypod run --mode read-only "What does this project do?"
  polypod run --resume 0192f3a4 "Now the other one"
  polypod run --headless --max-turns 20 --json "Update the changelog" > events.jsonl`,
  async run({ values, positionals }, around) {
    const prompt = await promptFrom(positionals, around.stdin, 'polypod run "Fix the failing test"');
    refuseContradictions(values);
    const cwd = await directoryAt(values.cwd ?? '.');
    const mcpServers = await serversIn(values['mcp-config']);
    for (const path of values['allow-path']) await existing(path);
    const allowPaths = values['allow-path'].map((path) => resolve(path));
    const { name, model, mode, thinking, system } = values;
    const say = (text: string): void => void (values.quiet || around.stderr.write(`polypod: ${text}\n`));
    const place = await openRunPlace(
      {
        places: placesOf(values, around),
        resume: values.resume,
        fresh: {
          cwd,
          ...(name === undefined ? {} : { name }),
          ...(model === undefined ? {} : { model }),
          ...(mode === undefined ? {} : { mode }),
          ...(thinking === undefined ? {} : { thinking }),
          ...(system === undefined ? {} : { appendSystem: system }),
        },
        offline: values.offline,
        isFleeting: values['no-session'],
        isHere: values['no-daemon'] || values.sandbox || values['mcp-config'] !== undefined,
        allowPaths,
        sandbox: values.sandbox,
        mcpServers,
        onServerFailure: (server, error) => say(`MCP server ${server} failed: ${error ?? 'no reason given'}`),
      },
      around,
    );
    const printer = values.json ? jsonPrinter(around.stdout) : new RunPrinter(around, values.quiet);
    try {
      for (const notice of place.notices) say(notice);
      if (!values['no-session']) say(`session ${place.pod.id}`);
      const caller = callerIn(around);
      if (values.resume !== undefined && thinking !== undefined)
        await place.pod.handle({ type: 'configure', set: { thinking } }, caller);
      let denied = 0;
      const { outcome, before } = await driveRun(place.pod, {
        prompt: { content: textContent(prompt), overrides: overridesOf(values, allowPaths, place.model) },
        caller,
        ask: asker(
          values.headless || values.json,
          around,
          () => printer.pause(),
          () => (denied += 1),
        ),
        show: (events) => printer.print(events),
        signal: around.signal,
      });
      printer.end();
      await printer.drained();
      return await exitCodeOf(outcome, { denied, place, model: place.model ?? before?.model, around });
    } finally {
      printer.end();
      await place.close();
    }
  },
});

interface Stated {
  readonly resume: string | undefined;
  readonly mode: Overrides['mode'];
  readonly system: string | undefined;
  readonly 'max-turns': number | undefined;
  readonly budget: number | undefined;
}

/** What holds for this run only. What a new session was made with need not be said again. */
function overridesOf(values: Stated, paths: readonly string[], model: ModelChoice | undefined): Overrides {
  const { resume, mode, system, 'max-turns': maxTurns, budget } = values;
  const isResumed = resume !== undefined;
  return {
    ...(isResumed && model !== undefined ? { model } : {}),
    ...(isResumed && mode !== undefined ? { mode } : {}),
    ...(isResumed && system !== undefined ? { appendSystem: system } : {}),
    ...(paths.length === 0 ? {} : { paths }),
    ...(maxTurns === undefined ? {} : { maxTurns }),
    ...(budget === undefined ? {} : { budget }),
  };
}

function refuseContradictions(values: {
  readonly offline: boolean;
  readonly model: string | undefined;
  readonly resume: string | undefined;
  readonly cwd: string | undefined;
  readonly name: string | undefined;
  readonly 'no-session': boolean;
}): void {
  const { offline, model, resume, cwd, name } = values;
  if (offline && model !== undefined)
    throw new PolypodError('bad-request', '--offline and --model exclude each other');
  if (resume === undefined) return;
  if (values['no-session'])
    throw new PolypodError('bad-request', '--resume and --no-session exclude each other');
  if (name !== undefined)
    throw new PolypodError('bad-request', '--name is for a new session: leave out --resume');
  if (cwd !== undefined)
    throw new PolypodError('bad-request', 'a session goes on in its own directory: leave out --cwd');
}

/** As whom others see the prompt and the decisions. */
function callerIn({ env }: Surroundings): Caller {
  return { by: env.USER || env.LOGNAME || 'someone', door: 'cli' };
}

interface Ending {
  readonly denied: number;
  readonly place: RunPlace;
  readonly model: ModelChoice | undefined;
  readonly around: Surroundings;
}

async function exitCodeOf(outcome: RunOutcome, { denied, place, model, around }: Ending): Promise<ExitCode> {
  const { stderr } = around;
  switch (outcome.status) {
    case 'finished':
      if (denied === 0) return EXIT.ok;
      stderr.write(
        `polypod run: ${denied} ${denied === 1 ? 'call was' : 'calls were'} denied because nobody could be asked; allow more with --mode or with rules in config.yaml\n`,
      );
      return EXIT.usage;
    case 'cancelled':
      return EXIT.interrupted;
    case 'failed': {
      const { provider, modelId } = model ?? { provider: '', modelId: '' };
      const account = await place.accountOf({ provider, modelId });
      stderr.write(`polypod run: ${explain(outcome.failure, account, `${provider}/${modelId}`)}\n`);
      return outcome.failure.kind === 'auth' || outcome.failure.kind === 'unknown-model'
        ? EXIT.usage
        : EXIT.broken;
    }
    case 'interrupted':
      stderr.write('polypod run: the session was closed, or the daemon went away, during the run\n');
      return EXIT.broken;
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

async function serversIn(file: string | undefined) {
  if (file === undefined) return [];
  const { readMcpConfig } = await import('../mcp/index.ts');
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the MCP servers: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  return readMcpConfig(text);
}
