import { asPolypodError, nearestMatch, PolypodError } from '../../../base/index.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../../command.ts';
import { ACTIONS, type Action, OPTIONS, type TaskValues } from './options.ts';

/** `polypod task`: sends tasks to an agent over HTTP. */
export const task = runnable({
  name: 'task',
  summary: 'Submit tasks to an agent over HTTP, follow them and print their results.',
  usage:
    'submit [OPTIONS] PROMPT… | status ID | watch ID | cancel ID | list | approve ID… | deny ID… --comment TEXT',
  options: OPTIONS,
  words: Object.keys(ACTIONS),
  details: `
The agent is the one that polypod agent start started on this machine, or the one that --agent or --url selects. The
prompt is read from stdin if it is - or missing.
submit prints the id of the task; with --wait it prints the result, with --watch also the events. If the connection is
lost, watch reconnects and resumes after the last event. If streaming is unavailable, it polls the status. With
--json, watch prints one event per line and the status as the last line; all other commands print one JSON value, also
for errors.

The API key is read from --key-file, POLYPOD_API_KEY, POLYPOD_API_KEY_FILE, or the file that polypod agent start
creates for you. It is sent only over https or to this machine. An answer is written to stdout, everything else to
stderr. A pipe receives it byte for byte; on a terminal, control characters are replaced with visible symbols (␛).

Exit codes: 0 completed, or the request succeeded; 1 the task failed, was cancelled or stopped, or its command did not
exit with 0; 2 invalid arguments, unknown task, invalid key or missing permission; 3 the agent is unreachable,
rejected the task, is overloaded, or failed; 130 interrupted: the task continues.

Examples:
  polypod task submit --watch "Fix the failing test"
  polypod task submit --type command_execution --wait "npm test"
  id=$(polypod task submit --type chat --session notes "Summarise the day") && polypod task watch $id
  git diff | polypod task submit --type chat --wait "Review this:" -
  polypod task list --status in_progress --json | jq -r '.[].taskId'
  polypod task submit --url https://agent.example:8000 --ca agent.pem --key-file key --wait "…"`,
  async run({ values, positionals: [word, ...words] }, context) {
    let action: Action | undefined;
    try {
      action = actionIn(word);
      refuseStrays(action, values);
      const { runAction } = await import('./actions.ts');
      return await runAction(action, words, values, context);
    } catch (thrown) {
      return fail(asPolypodError(thrown), action, values, context);
    }
  },
});

function actionIn(word: string | undefined): Action {
  const known = Object.keys(ACTIONS);
  const action = known.find((name): name is Action => name === word);
  if (action !== undefined) return action;
  const near = word === undefined ? undefined : nearestMatch(word, known);
  const all = `${known.slice(0, -1).join(', ')} or ${known.at(-1) ?? ''}`;
  const hint = near === undefined ? `use ${all}` : `did you mean ${near}?`;
  throw new PolypodError(
    'bad-request',
    word === undefined
      ? `the action is missing: use ${all}`
      : `there is no polypod task ${word}: ${hint} (see: polypod task --help)`,
  );
}

function refuseStrays(action: Action, values: TaskValues): void {
  const taken: readonly string[] = ACTIONS[action];
  const stray = Object.entries(values).find(
    ([name, value]) => value !== undefined && value !== false && !isEmptyList(value) && !taken.includes(name),
  );
  if (stray === undefined) return;
  const others = Object.entries(ACTIONS).filter(([, names]: [string, readonly string[]]) =>
    names.includes(stray[0]),
  );
  throw new PolypodError(
    'bad-request',
    `task ${action} takes no --${stray[0]}; ${others.map(([name]) => `task ${name}`).join(' and ')} does`,
  );
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Programs read stdout: with --json the error is printed there too. */
async function fail(
  error: PolypodError,
  action: Action | undefined,
  { json }: TaskValues,
  context: CommandContext,
): Promise<ExitCode> {
  if (context.signal.aborted) return EXIT.interrupted;
  const { errorBody, withNextStep } = await import('./next-step.ts');
  if (json) context.stdout.write(`${JSON.stringify(errorBody(error), null, 2)}\n`);
  throw withNextStep(error, action);
}
