import type { Decision } from '../../../pod/index.ts';
import { resolve } from 'node:path';
import { type JsonObject, PolypodError, uuidv7, withoutUndefined } from '../../../base/index.ts';
import { isFinished, type TasksClient } from '../../../client/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { promptFrom } from '../../args/prompt-text.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { commandLine } from './command-line.ts';
import { clientFor } from './connect.ts';
import { asked, follow } from './follow.ts';
import type { Action, TaskValues } from './options.ts';
import { exitCodeOf, showResult } from './result.ts';
import { findApproval, findTask } from './short-id.ts';
import { listText, statusText, statusWith } from './show.ts';
import { WaitingView } from './view.ts';

/** What every action can use. */
interface ActionContext {
  readonly client: TasksClient;
  readonly words: readonly string[];
  readonly values: TaskValues;
  readonly context: CommandContext;
}

/** Runs one action of `polypod task`. */
export async function runAction(
  action: Action,
  words: readonly string[],
  values: TaskValues,
  context: CommandContext,
): Promise<ExitCode> {
  return DO[action]({ client: await clientFor(values, context), words, values, context });
}

const DO: Readonly<Record<Action, (context: ActionContext) => Promise<ExitCode>>> = {
  submit,
  status,
  watch,
  cancel,
  list,
  approve: (action) => decide('approve', action),
  deny: (action) => decide('deny', action),
};

async function submit({ client, words, values, context }: ActionContext): Promise<ExitCode> {
  if (values.wait && values.watch)
    throw new PolypodError('bad-request', '--wait and --watch exclude each other: --watch also waits');
  const userPrompt = await promptFrom(
    words,
    context.stdin,
    'polypod task submit --watch "Fix the failing test"',
  );
  const { session: sessionId = `cli-${uuidv7()}`, type: taskType = 'complex_task' } = values;
  const taskContext = contextOf(values);
  const task = {
    sessionId,
    userPrompt,
    taskType,
    ...(Object.keys(taskContext).length > 0 && { context: taskContext }),
  };
  const submitted = await client.submit(task, values['idempotency-key']);
  const { taskId } = submitted;
  const isFollowed = values.wait || values.watch;
  if (submitted.status === 'rejected') {
    if (values.json) print(context, { ...submitted, sessionId });
    const why = submitted.message ?? 'no reason was given';
    context.stderr.write(`polypod task: the task was rejected: ${sanitizeLine(why)}\n`);
    return EXIT.broken;
  }
  if (!isFollowed) {
    if (values.json) print(context, { ...submitted, sessionId });
    else context.stdout.write(`${sanitizeLine(taskId)}\n`);
    if (!values.json && !values.quiet)
      context.stderr.write(
        `polypod task: accepted in session ${sanitizeLine(sessionId)}\n  ${commandLine(['watch', taskId], values)}\n`,
      );
    return EXIT.ok;
  }
  if (values.json && values.watch) context.stdout.write(`${JSON.stringify({ ...submitted, sessionId })}\n`);
  else if (!values.json && !values.quiet)
    context.stderr.write(`polypod task: ${sanitizeLine(taskId)} in session ${sanitizeLine(sessionId)}\n`);
  return follow(client, { taskId, sessionId }, values, context);
}

async function status({ client, words, values, context }: ActionContext): Promise<ExitCode> {
  const found = await client.status(await findTask(client, onlyId('status', words)));
  const approvals = found.state === 'waiting_approval' ? await asked(client, found.sessionId) : [];
  if (values.json) {
    print(context, statusWith(found, approvals));
    return exitCodeOf(found);
  }
  context.stdout.write(statusText(found));
  const view = new WaitingView(context, values);
  view.ask(approvals);
  view.close();
  if (isFinished(found)) showResult(found, context, { withText: true });
  return exitCodeOf(found);
}

async function watch({ client, words, values, context }: ActionContext): Promise<ExitCode> {
  const taskId = await findTask(client, onlyId('watch', words));
  // An unknown task or an invalid key fails at once, without a retry.
  const { sessionId } = await client.status(taskId);
  return follow(client, { taskId, sessionId }, values, context);
}

async function cancel({ client, words, values, context }: ActionContext): Promise<ExitCode> {
  const taskId = await findTask(client, onlyId('cancel', words));
  const after = await client.cancel(taskId);
  if (values.json) print(context, after);
  else context.stdout.write(statusText(after));
  if (!values.json && !isFinished(after))
    context.stderr.write(
      `polypod task: the task is being cancelled\n  ${commandLine(['watch', taskId], values)}\n`,
    );
  return EXIT.ok;
}

async function list({ client, words, values, context }: ActionContext): Promise<ExitCode> {
  if (words.length > 0)
    throw new PolypodError('bad-request', `list takes no argument: try --session ${words.join(' ')}`);
  const { session, status: only, limit } = values;
  const tasks = await client.list({
    ...withoutUndefined({ sessionId: session, status: only, limit }),
  });
  if (values.json) print(context, tasks);
  else if (tasks.length === 0) context.stderr.write('no tasks; polypod task submit submits one\n');
  else context.stdout.write(listText(tasks, context));
  return EXIT.ok;
}

async function decide(
  decision: Decision,
  { client, words, values, context }: ActionContext,
): Promise<ExitCode> {
  const { comment } = values;
  if (words.length === 0)
    throw new PolypodError(
      'bad-request',
      `${decision} needs the id of an approval: polypod task status ID shows the pending ones`,
    );
  if (decision === 'deny' && (comment ?? '').trim() === '')
    throw new PolypodError('bad-request', 'deny needs --comment TEXT: the model receives it as the reason');
  const approvalIds: string[] = [];
  for (const word of words) {
    const approvalId = await findApproval(client, word);
    approvalIds.push(approvalId);
    await client.decide(approvalId, { decision, ...withoutUndefined({ comment }) });
    if (!values.json)
      context.stderr.write(`polypod task: ${DECIDED[decision]} ${sanitizeLine(approvalId)}\n`);
  }
  if (values.json)
    print(
      context,
      approvalIds.map((approvalId) => ({ approvalId, decision })),
    );
  return EXIT.ok;
}

const DECIDED = { approve: 'approved', deny: 'denied' } as const;

/** Only the options that were given: the agent has its own defaults. */
function contextOf(values: TaskValues): JsonObject {
  const { cwd, model, mode, 'allow-path': paths, file: files, 'max-turns': maxTurns, budget } = values;
  return {
    ...(cwd !== undefined && { workingDirectory: resolve(cwd) }),
    ...withoutUndefined({ model, permissionMode: mode }),
    ...(paths.length > 0 && { allowedPaths: paths.map((path) => resolve(path)) }),
    ...(files.length > 0 && { files }),
    ...withoutUndefined({ maxTurns, budget }),
  };
}

function onlyId(action: string, words: readonly string[]): string {
  const [taskId, ...others] = words;
  if (taskId !== undefined && others.length === 0) return taskId;
  throw new PolypodError(
    'bad-request',
    `${action} takes the id of one task: polypod task ${action} task_…; polypod task list shows them`,
  );
}

function print({ stdout }: CommandContext, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
