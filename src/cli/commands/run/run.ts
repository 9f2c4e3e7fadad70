import { withoutUndefined } from '../../../base/index.ts';
import { type Shortfall, textContent } from '../../../llm/index.ts';
import type { ModelChoice, Origin, Overrides } from '../../../pod/index.ts';
import type { RunOutcome } from '../../../worker/index.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../../command.ts';
import { driveRun } from './drive-run.ts';
import { promptFiles, terminalSettings } from '../../../setup/index.ts';
import { explainFailure, failureExitCode } from '../../output/explain-failure.ts';
import { remainingBackground } from '../../output/remaining-background.ts';
import { explainShortfall } from '../../output/shortfall.ts';
import { LastAnswer } from './last-answer.ts';
import { askOnTerminal, denyAll } from './permission-prompt.ts';
import {
  AGENT_OPTIONS,
  type AgentRequest,
  readAgentRequest,
  type PodLocation,
  hostInThisProcess,
  hostInDaemon,
  refuseContradictions,
} from '../../hosting/index.ts';
import { RunAttention } from './run-attention.ts';
import { promptFrom } from '../../args/prompt-text.ts';
import { jsonPrinter, RunPrinter } from './run-printer.ts';
import { sanitizeLine } from '../../../terminal/index.ts';

/** `polypod run`: runs an agent in a directory until the task is done. */
export const run = runnable({
  name: 'run',
  summary:
    'Run an agent on a task in this directory: it reads and edits files, runs commands, and requests approvals.',
  usage: '[OPTIONS] PROMPT…',
  options: {
    resume: {
      type: 'text',
      short: 'r',
      value: 'ID|NAME',
      completes: 'sessions',
      help: 'resume a session',
    },
    ...AGENT_OPTIONS,
    'max-turns': { type: 'number', value: 'N', min: 1, help: 'stop after N turns' },
    budget: { type: 'number', value: 'USD', min: 0, help: 'stop when the cost reaches this amount' },
    headless: { type: 'flag', help: 'deny calls that require approval instead of asking' },
    json: { type: 'flag', help: 'print the event stream, one JSON object per line' },
    quiet: { type: 'flag', short: 'q', help: 'print only the answer' },
  },
  details: `
The prompt is read from stdin if it is - or missing. The answer is written to stdout, the steps of the agent to stderr.
A terminal shows the answer as it arrives. A pipe receives only the final answer, when the run is finished.
Polypod sends AGENTS.md (or CLAUDE.md) of the project to the model. A prompt /NAME uses the file commands/NAME.md
(docs/chat.md). Permission rules, MCP servers and accounts are configured in
config.yaml (see docs/permissions.md). Without a terminal, and with --json, the run is headless.

The session is stored and listed (polypod ls). If the daemon is running (polypod serve), it hosts the agent, and other
clients can watch it. With --no-daemon, --no-session, --sandbox, --mcp-config or -e, this process
hosts the agent.

Exit codes: 0 done, 1 the task failed or a limit stopped it, 2 usage or configuration error (including a key or a
model that the provider rejects), or a call was denied because no one could approve it, 3 provider or system error,
4 the model did not complete its answer (refusal, content filter, token limit, full context, no text), 130 interrupted.

Examples:
  polypod run "Fix the failing test"
  polypod run --mode read-only "What does this project do?"
  polypod run --resume 9f3a41c7 "Now the other one"
  polypod run --headless --max-turns 20 --json "Update the changelog" > events.jsonl`,
  async run({ values, positionals }, context) {
    const typed = await promptFrom(positionals, context.stdin, 'polypod run "Fix the failing test"');
    refuseContradictions(values, values.resume === undefined ? undefined : '--resume');
    const request = await readAgentRequest(values, context);
    const { fresh, allowPaths, isEphemeral } = request;
    const prompt = (await promptFiles(fresh.cwd, request.dataPaths).expand(typed)) ?? typed;
    const location = await locationFor(request, context);
    const printer = values.json ? jsonPrinter(context.stdout) : new RunPrinter(context, values.quiet);
    const report = (text: string): void => {
      if (values.quiet) return;
      printer.makeRoom();
      context.stderr.write(`polypod: ${sanitizeLine(text)}\n`);
    };
    let attention: RunAttention | undefined;
    try {
      const pod = values.resume === undefined ? await location.create() : await location.open(values.resume);
      const reference = request.offline ? 'sim/offline' : fresh.model;
      const model = reference === undefined ? undefined : await location.model(reference);
      location.notices.listen(report);
      if (!isEphemeral) report(`session ${pod.id}`);
      if (values.resume !== undefined && fresh.thinking !== undefined)
        await pod.handle({ type: 'configure', set: { thinking: fresh.thinking } }, location.me);
      if (isWatched(values, context)) {
        const settings = await terminalSettings(request.dataPaths);
        attention = new RunAttention({ prompt, cwd: fresh.cwd, name: fresh.name, settings }, context);
      }
      let denied = 0;
      const background = new Set<string>();
      const answer = new LastAnswer();
      const { outcome, before, cancelledBy } = await driveRun(pod, {
        prompt: { content: textContent(prompt), overrides: overridesOf(values, allowPaths, model) },
        location,
        ask: canAsk(values, context)
          ? askOnTerminal(context, () => printer.pause())
          : denyAll({
              isForAll: values.headless,
              onDenied: () => (denied += 1),
              onLeft: ({ title }) => report(`${title} waits for approval: decide it with polypod approvals`),
            }),
        show: (events) => {
          for (const event of events) answer.add(event);
          printer.print(events);
          for (const event of events) {
            attention?.observe(event);
            if (event.type === 'background-start') background.add(event.id);
            if (event.type === 'background-end') background.delete(event.id);
          }
        },
        showGap: (items, end) => {
          answer.restore(items);
          printer.showGap(items, end);
        },
        report,
        signal: context.signal,
      });
      printer.end();
      await printer.drained();
      const left = remainingBackground(background.size, location.survivesExit, pod.id);
      if (left !== undefined) report(left);
      return await exitCodeOf(outcome, {
        denied,
        location,
        model: model ?? before?.model,
        backend: before?.settings.backend,
        context,
        cancelledBy,
        shortfall: answer.shortfall,
        resumption: isEphemeral ? undefined : `polypod run --resume ${pod.id}`,
      });
    } finally {
      printer.end();
      attention?.end();
      await location.close();
    }
  },
});

/** The daemon hosts the pod if one is running; otherwise this process does, on the same files. */
async function locationFor(request: AgentRequest, context: CommandContext): Promise<PodLocation> {
  // Allowed paths apply only to this run: they are sent with its prompt, not stored in the session.
  const there = request.isInProcess ? undefined : await hostInDaemon({ ...request, allowPaths: [] }, context);
  return there ?? hostInThisProcess(request, context);
}

interface RunValues {
  readonly resume: string | undefined;
  readonly mode: Overrides['mode'];
  readonly system: string | undefined;
  readonly 'max-turns': number | undefined;
  readonly budget: number | undefined;
}

/** The settings for this run only. A new session already has the others. */
function overridesOf(values: RunValues, paths: readonly string[], model: ModelChoice | undefined): Overrides {
  const { resume, mode, system, 'max-turns': maxTurns, budget } = values;
  const isResumed = resume !== undefined;
  return {
    ...(isResumed && model !== undefined ? { model } : {}),
    ...(isResumed && mode !== undefined ? { mode } : {}),
    ...(isResumed && system !== undefined ? { appendSystem: system } : {}),
    ...(paths.length === 0 ? {} : { paths }),
    ...withoutUndefined({ maxTurns, budget }),
  };
}

interface Ending {
  readonly denied: number;
  readonly location: PodLocation;
  readonly model: ModelChoice | undefined;
  /** The other agent that did the work. */
  readonly backend: string | undefined;
  readonly context: CommandContext;
  readonly cancelledBy: Origin | undefined;
  readonly shortfall: Shortfall | undefined;
  /** The command that continues the session, if it is stored. */
  readonly resumption: string | undefined;
}

async function exitCodeOf(outcome: RunOutcome, ending: Ending): Promise<ExitCode> {
  const { denied, location, model, context, shortfall, resumption } = ending;
  const { stderr } = context;
  switch (outcome.status) {
    case 'finished':
      if (shortfall !== undefined)
        stderr.write(`polypod run: ${explainShortfall(shortfall, stepsAfter(resumption))}\n`);
      if (denied === 0) return shortfall === undefined ? EXIT.ok : EXIT.incomplete;
      stderr.write(
        `polypod run: ${denied} ${denied === 1 ? 'call was' : 'calls were'} denied because no one could be asked; allow more with --mode or with rules in config.yaml\n`,
      );
      return EXIT.usage;
    case 'cancelled':
      stderr.write(
        `polypod run: ${whyCancelled(ending)}${resumption === undefined ? '' : `; resume it with ${resumption}`}\n`,
      );
      return EXIT.interrupted;
    case 'failed': {
      if (ending.backend !== undefined) {
        // The agent's own account and models are not ours.
        stderr.write(`polypod run: ${ending.backend}: ${sanitizeLine(outcome.failure.message)}\n`);
        return failureExitCode(outcome.failure);
      }
      const { provider, modelId } = model ?? { provider: '', modelId: '' };
      const account = await location.accountOf({ provider, modelId });
      stderr.write(`polypod run: ${explainFailure(outcome.failure, account, `${provider}/${modelId}`)}\n`);
      return failureExitCode(outcome.failure);
    }
    case 'interrupted':
      stderr.write('polypod run: the session was closed, or the daemon ended, during the run\n');
      return EXIT.broken;
    case 'limited': {
      const next = resumption === undefined ? '' : `; continue it with ${resumption} "Go on"`;
      stderr.write(`polypod run: stopped: ${sanitizeLine(outcome.message)}${next}\n`);
      return EXIT.failed;
    }
    default:
      return EXIT.failed;
  }
}

function stepsAfter(resumption: string | undefined): Readonly<Record<Shortfall, string>> {
  const rephrase = 'rephrase the prompt, or use another model with --model';
  return {
    refusal: rephrase,
    'content-filter': rephrase,
    'max-tokens':
      resumption === undefined
        ? 'ask for a shorter answer, or split the task'
        : `continue it with ${resumption} "Go on"`,
    'context-full': 'start a new session, or use a model with a larger context with --model',
    empty: rephrase,
  };
}

function whyCancelled({ context, cancelledBy }: Ending): string {
  if (context.signal.aborted) return 'interrupted';
  // If no client cancelled the run, the process that hosted the pod was stopped.
  return cancelledBy === undefined
    ? 'the daemon was stopped during the run'
    : `the run was cancelled by ${cancelledBy.by}`;
}

function canAsk({ headless, json }: { headless: boolean; json: boolean }, context: CommandContext): boolean {
  return !headless && !json && context.stdin.isTTY === true && context.stderr.isTTY === true;
}

/** Whether a person can see the steps of the run. */
function isWatched(
  { json, quiet }: { json: boolean; quiet: boolean },
  { stderr, env }: CommandContext,
): boolean {
  return !json && !quiet && stderr.isTTY === true && env.TERM !== 'dumb';
}
