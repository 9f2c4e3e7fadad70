import { asPolypodError, nearest, PolypodError } from '../../../base/index.ts';
import { EXIT, type ExitCode, runnable, type Surroundings } from '../../command.ts';
import { ACTIONS, type Action, OPTIONS, type TaskValues } from './options.ts';

/** `polypod task`: work for an agent that is reached over HTTP. */
export const task = runnable({
  name: 'task',
  summary: 'Hand work to an agent over HTTP, follow it, and get its result.',
  usage:
    'submit [OPTIONS] PROMPT… | status ID | watch ID | cancel ID | list | approve ID… | deny ID… --comment TEXT',
  options: OPTIONS,
  words: Object.keys(ACTIONS),
  details: `
The agent is the one that polypod agent start started here, another one by --agent, or one elsewhere by --url. The prompt is read from stdin when it is - or missing.
submit prints the task's id; with --wait the result, with --watch also all that happens before. Watching goes on where it
was when the connection breaks, and falls back to asking for the status where there can be no stream. With --json, watch prints
an event per line and the status last, everything else one JSON value, also for what was refused.

The key comes from --key-file, POLYPOD_API_KEY, POLYPOD_API_KEY_FILE, or the file that polypod agent start leaves for you; it
is sent over https, or to this machine. An answer goes to stdout, all else to stderr; a pipe gets it byte for byte, on a terminal
control characters are shown as pictures (␛).

Exit codes: 0 completed, or done as asked; 1 the task failed, was cancelled or stopped, or its command did not end with 0;
2 a mistake in the arguments, no such task, or a key that is wrong or may not do that; 3 the agent cannot be reached, rejected
the task, cannot take it now, or broke; 130 interrupted: the task goes on.

Examples:
  polypod task submit --watch "Fix the failing test"
  polypod task submit --type command_execution --wait "npm test"
  id=$(polypod task submit --type chat --session notes "Summarise the day") && polypod task watch $id
  git diff | polypod task submit --type chat --wait "Review this:" -
  polypod task list --status in_progress --json | jq -r '.[].taskId'
  polypod task submit --url https://agent.example:8000 --ca agent.pem --key-file key --wait "…"`,
  async run({ values, positionals: [word, ...words] }, around) {
    let action: Action | undefined;
    try {
      action = actionIn(word);
      refuseStrays(action, values);
      const { act } = await import('./act.ts');
      return await act(action, words, values, around);
    } catch (thrown) {
      return fail(asPolypodError(thrown), action, values, around);
    }
  },
});

function actionIn(word: string | undefined): Action {
  const known = Object.keys(ACTIONS);
  const action = known.find((name): name is Action => name === word);
  if (action !== undefined) return action;
  const near = word === undefined ? undefined : nearest(word, known);
  const all = `${known.slice(0, -1).join(', ')} or ${known.at(-1) ?? ''}`;
  const hint = near === undefined ? `say ${all}` : `did you mean ${near}?`;
  throw new PolypodError(
    'bad-request',
    word === undefined
      ? `what is to be done? Say ${all}`
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

/** Programs read stdout: with --json the refusal is there as well. */
async function fail(
  error: PolypodError,
  action: Action | undefined,
  { json }: TaskValues,
  around: Surroundings,
): Promise<ExitCode> {
  if (around.signal.aborted) return EXIT.interrupted;
  const { errorBody, explained } = await import('./next-step.ts');
  if (json) around.stdout.write(`${JSON.stringify(errorBody(error), null, 2)}\n`);
  throw explained(error, action);
}
