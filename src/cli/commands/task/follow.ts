import { withoutUndefined } from '../../../base/index.ts';
import { once } from 'node:events';
import {
  type TaskApproval,
  isFinished,
  type TasksClient,
  watchTask,
  type WatchUpdate,
} from '../../../client/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { commandLine } from './command-line.ts';
import type { TaskValues } from './options.ts';
import { exitCodeOf } from './result.ts';
import { type TaskOutput, WaitingView } from './view.ts';

/** Follows a task until it ends and shows it as the options specify. An interrupt ends only the command; the task continues. */
export async function follow(
  client: TasksClient,
  { taskId, sessionId }: { readonly taskId: string; readonly sessionId: string | undefined },
  values: TaskValues,
  context: CommandContext,
): Promise<ExitCode> {
  const view = await viewFor(values, context);
  const { after, poll, 'retry-for': seconds } = values;
  const options = {
    pollOnly: poll,
    ...withoutUndefined({ after }),
    ...(seconds !== undefined && { giveUpAfterMs: seconds * 1000 }),
  };
  try {
    for await (const watched of watchTask(client, taskId, options)) {
      if (watched.type === 'status' && isFinished(watched.status)) {
        view.end(watched.status);
        return exitCodeOf(watched.status);
      }
      view.take(watched);
      if (isWaiting(watched)) view.ask(await asked(client, sessionId));
      const { stdout } = context;
      if (stdout.writableNeedDrain) await once(stdout, 'drain');
    }
  } catch (thrown) {
    if (!context.signal.aborted) throw thrown;
    view.close();
    const [again, cancel] = [commandLine(['watch', taskId], values), commandLine(['cancel', taskId], values)];
    context.stderr.write(`polypod task: the task continues\n  ${again}\n  ${cancel}\n`);
    return EXIT.interrupted;
  } finally {
    view.close();
  }
  return EXIT.broken;
}

/** Whether it waits for an approval that its status does not contain. */
function isWaiting(watched: WatchUpdate): boolean {
  if (watched.type === 'status') return watched.status.state === 'waiting_approval';
  if (watched.type !== 'event' || watched.event.event !== 'snapshot') return false;
  return watched.event.data.detail === 'waiting';
}

/** The key may not have the permission to list approvals: then there are none to show. */
export async function asked(
  client: TasksClient,
  sessionId: string | undefined,
): Promise<readonly TaskApproval[]> {
  return client.approvals(sessionId).catch(() => []);
}

async function viewFor(values: TaskValues, context: CommandContext): Promise<TaskOutput> {
  if (values.json) return values.wait ? jsonAtTheEnd(values, context) : jsonLines(context);
  if (values.wait) return new WaitingView(context, values);
  const { LiveView } = await import('./live-view.ts');
  return new LiveView(context, values);
}

/** For programs: prints every event as a line of the extended Pod Protocol with its id, then the status. */
function jsonLines({ stdout, stderr }: CommandContext): TaskOutput {
  const line = (value: object): void => void stdout.write(`${JSON.stringify(value)}\n`);
  return {
    take: (watched) => {
      if (watched.type === 'event') line(watched.event);
      else if (watched.type === 'status') line(watched.status);
      else if (watched.type !== 'back') stderr.write(trouble(watched.why));
    },
    ask: () => {},
    end: line,
    close: () => {},
  };
}

/** For programs: prints the status at the end. Pending approvals and notices go to stderr, because the wait can be long. */
function jsonAtTheEnd(values: TaskValues, context: CommandContext): TaskOutput {
  const view = new WaitingView(context, { ...values, quiet: true });
  return {
    take: (watched) => {
      if (watched.type === 'lost' || watched.type === 'polling') context.stderr.write(trouble(watched.why));
      else view.take(watched);
    },
    ask: (approvals) => view.ask(approvals),
    end: (status) => void context.stdout.write(`${JSON.stringify(status, null, 2)}\n`),
    close: () => view.close(),
  };
}

function trouble(why: string): string {
  return `polypod task: ${sanitizeLine(why)}\n`;
}
