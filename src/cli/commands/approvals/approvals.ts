import type { Decision } from '../../../pod/index.ts';
import { arrayOf, PolypodError, withoutUndefined } from '../../../base/index.ts';
import type { ControlLink } from '../../../control/index.ts';
import type { WaitingApproval } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { callLines } from '../../output/call-lines.ts';
import { approvalList } from './approval-list.ts';
import { resolveApproval } from './resolve-approval.ts';
import { watchNews } from './watch-news.ts';
import { newsLines } from './news-lines.ts';
import { approvalDetails } from './approval-details.ts';
import { indentedLines } from '../../output/indented-lines.ts';
import { currentUserName } from '../../current-user.ts';
import { EXIT, runnable, type CommandContext } from '../../command.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';
import { requireDaemon } from '../../hosting/require-daemon.ts';
import { sanitizeLine } from '../../../terminal/index.ts';

/** `polypod approvals`: lists and decides pending approvals. */
export const approvals = runnable({
  name: 'approvals',
  summary: 'List, show, watch, approve or deny calls that require approval.',
  usage: '[OPTIONS] [list | show ID… | watch | approve ID… | deny ID… --comment TEXT]',
  options: {
    comment: {
      type: 'text',
      short: 'm',
      value: 'TEXT',
      help: 'the reason; sent to the model when a call is denied',
    },
    json: { type: 'flag', help: 'print a JSON list; with watch one JSON object per line' },
    ...DATA_DIR,
  },
  words: ['list', 'show', 'watch', 'approve', 'deny'],
  takes: 'approvals',
  details: `
The daemon provides the pending approvals of all doors. ID can be the beginning or end of an id. The first decision counts, here
or at another door.

list and watch print the arguments below each call, and report if they are truncated. show prints all arguments, and
approve prints them before it approves. In JSON, arguments is the text that the model wrote; it is absent while a
process other than the daemon has the session open.

watch prints the pending approvals, then each new approval and each decision with its author, until interrupted. Its
JSON lines have the type asked or settled. If the connection is lost, it reconnects for up to ten minutes, and prints
on stderr which approvals were settled in the meantime.

Exit codes: 0 done, 2 unknown approval, or already decided, 3 no daemon is running, or the connection was lost.

Examples:
  polypod approvals
  polypod approvals show 9f3a41c7
  polypod approvals approve 9f3a41c7
  polypod approvals deny 9f3a41c7 -m "Not on the main branch."
  polypod approvals --json | jq -r '.[].title'
  polypod approvals watch --json | jq -r 'select(.type == "asked") | .title'`,
  async run({ values, positionals: [action = 'list', ...words] }, context) {
    const decision = LOOKS.has(action) ? undefined : decisionIn(action, words, values.comment);
    if (decision === undefined && values.comment !== undefined)
      throw new PolypodError('bad-request', `${action} takes no --comment; approve and deny do`);
    if (action === 'show') refuseNone(action, words);
    else if (decision === undefined && words.length > 0)
      throw new PolypodError('bad-request', `${action} takes no argument, not "${words.join(' ')}"`);
    const dataPaths = dataPathsOf(values, context);
    const link = await requireDaemon(dataPaths);
    try {
      if (action === 'watch') await watch(link, dataPaths, values.json, context);
      else if (action === 'show') show(await waitingIn(link), words, values.json, context);
      else if (decision === undefined) list(await waitingIn(link), values.json, context);
      else await decide(link, { words, decision, isJson: values.json }, context);
      return EXIT.ok;
    } finally {
      link.close();
    }
  },
});

/** The read-only actions. */
const LOOKS: ReadonlySet<string> = new Set(['list', 'show', 'watch']);

interface DecisionRequest {
  readonly decision: Decision;
  readonly comment?: string;
}

const DONE: Readonly<Record<Decision, string>> = { approve: 'approved', deny: 'denied' };

function decisionIn(action: string, words: readonly string[], comment: string | undefined): DecisionRequest {
  if (action !== 'approve' && action !== 'deny')
    throw new PolypodError(
      'bad-request',
      `unknown action "${action}": use list, show, watch, approve or deny, as in polypod approvals approve ID`,
    );
  refuseNone(action, words);
  if (action === 'deny' && (comment ?? '').trim() === '')
    throw new PolypodError('bad-request', 'deny needs --comment TEXT: the model receives it as the reason');
  return { decision: action, ...withoutUndefined({ comment }) };
}

function refuseNone(action: string, words: readonly string[]): void {
  if (words.length === 0)
    throw new PolypodError(
      'bad-request',
      `${action} needs the id of an approval: polypod approvals lists the ids`,
    );
}

function list(
  waiting: readonly WaitingApproval[],
  isJson: boolean,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
): void {
  if (isJson) stdout.write(`${JSON.stringify(waiting, null, 2)}\n`);
  else if (waiting.length === 0) stderr.write('there are no pending approvals\n');
  else stdout.write(approvalList(waiting, { now: new Date(), columns: stdout.columns }));
}

function show(
  waiting: readonly WaitingApproval[],
  words: readonly string[],
  isJson: boolean,
  { stdout }: Pick<CommandContext, 'stdout'>,
): void {
  const selected = words.map((word) => resolveApproval(waiting, word));
  const style = { now: new Date(), columns: stdout.columns };
  if (isJson) stdout.write(`${JSON.stringify(selected, null, 2)}\n`);
  else stdout.write(selected.map((approval) => approvalDetails(approval, style)).join('\n'));
}

/** With --json, prints every field; otherwise, what a person needs to decide. */
async function watch(
  link: ControlLink,
  dataPaths: DataPaths,
  isJson: boolean,
  { stdout, stderr, signal }: CommandContext,
): Promise<void> {
  const options = {
    dataPaths,
    signal,
    onConnection: (state: 'lost' | 'restored') =>
      void stderr.write(
        state === 'lost' ? 'polypod: the connection is lost: reconnecting\n' : 'polypod: reconnected\n',
      ),
    onMissed: (id: string) => void stderr.write(`polypod: ${id} was settled in the meantime\n`),
  };
  for await (const news of watchNews(link, options)) {
    stdout.write(isJson ? `${JSON.stringify(news)}\n` : newsLines(news, stdout.columns));
  }
}

async function decide(
  link: ControlLink,
  { words, decision, isJson }: { words: readonly string[]; decision: DecisionRequest; isJson: boolean },
  context: CommandContext,
): Promise<void> {
  const waiting = await waitingIn(link);
  const selected = words.map((word) => resolveApproval(waiting, word));
  for (const approval of selected) {
    const { id, session, tool, title } = approval;
    if (!isJson && decision.decision === 'approve')
      context.stderr.write(
        `polypod: approving ${sanitizeLine(tool)}\n${indentedLines(callLines(approval), context.stdout.columns).join('\n')}\n`,
      );
    const command = { type: 'decide', approvalId: id, ...decision };
    await link.call('command', { pod: session, command, by: currentUserName(context) });
    if (!isJson) context.stderr.write(`polypod: ${DONE[decision.decision]} ${id}: ${sanitizeLine(title)}\n`);
  }
  const decided = selected.map(({ id, session }) => ({ id, session, ...decision }));
  if (isJson) context.stdout.write(`${JSON.stringify(decided, null, 2)}\n`);
}

async function waitingIn(link: ControlLink): Promise<readonly WaitingApproval[]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent by the daemon, which has the same version
  return arrayOf((await link.call('approvals')).approvals) as readonly WaitingApproval[];
}
