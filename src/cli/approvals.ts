import { arrayOf, PolypodError } from '../base/index.ts';
import {
  type ControlLink,
  daemonLink,
  type Places,
  shortIds,
  type WaitingApproval,
} from '../daemon/index.ts';
import { ago } from './ago.ts';
import { nameOf } from './chat/me.ts';
import { EXIT, runnable, type Surroundings } from './command.ts';
import { DATA_DIR, placesOf } from './data-dir.ts';
import { table } from './table.ts';
import { fitWidth } from './width.ts';

/** `polypod approvals`: what agents wait for, and the answers. */
export const approvals = runnable({
  name: 'approvals',
  summary: 'List the calls that wait for an approval, approve them, or deny them.',
  usage: '[OPTIONS] [approve ID… | deny ID… --comment TEXT]',
  options: {
    comment: {
      type: 'text',
      short: 'm',
      value: 'TEXT',
      help: 'why; the model reads it when a call is denied',
    },
    json: { type: 'flag', help: 'print a JSON list' },
    ...DATA_DIR,
  },
  words: ['approve', 'deny'],
  details: `
It asks the daemon, for sessions of every door. An id may be shortened to what tells it from the others. Whoever decides
first decides, here or at another door.

Exit codes: 0 listed or decided, 2 no such approval, or decided already, 3 no daemon is up.

Examples:
  polypod approvals
  polypod approvals approve 0192f3a4
  polypod approvals deny 0192f3a4 --comment "Not on the main branch."
  polypod approvals --json | jq -r '.[].title'`,
  async run({ values, positionals: [action, ...words] }, around) {
    const decision = action === undefined ? undefined : decisionIn(action, words, values.comment);
    const link = await daemonFor(placesOf(values, around));
    try {
      const waiting = await waitingIn(link);
      if (decision === undefined) {
        if (values.json) around.stdout.write(`${JSON.stringify(waiting, null, 2)}\n`);
        else if (waiting.length === 0) around.stderr.write('nothing waits for an approval\n');
        else around.stdout.write(listed(waiting, around));
        return EXIT.ok;
      }
      const meant = words.map((word) => approvalMeant(waiting, word));
      for (const { id, session, title } of meant) {
        const command = { type: 'decide', approvalId: id, ...decision };
        await link.call('command', { pod: session, command, by: nameOf(around) });
        if (!values.json) around.stderr.write(`polypod: ${DONE[decision.decision]} ${title}\n`);
      }
      const decided = meant.map(({ id, session }) => ({ id, session, ...decision }));
      if (values.json) around.stdout.write(`${JSON.stringify(decided, null, 2)}\n`);
      return EXIT.ok;
    } finally {
      link.close();
    }
  },
});

interface Decision {
  readonly decision: 'approve' | 'deny';
  readonly comment?: string;
}

const DONE: Readonly<Record<Decision['decision'], string>> = { approve: 'approved', deny: 'denied' };

function decisionIn(action: string, words: readonly string[], comment: string | undefined): Decision {
  if (action !== 'approve' && action !== 'deny')
    throw new PolypodError(
      'bad-request',
      `say approve or deny, not "${action}": polypod approvals approve ID`,
    );
  if (words.length === 0)
    throw new PolypodError('bad-request', `${action} what? polypod approvals lists the ids`);
  if (action === 'deny' && (comment ?? '').trim() === '')
    throw new PolypodError('bad-request', 'deny needs --comment TEXT: the model reads it, and goes on by it');
  return { decision: action, ...(comment === undefined ? {} : { comment }) };
}

async function daemonFor(places: Places): Promise<ControlLink> {
  const link = await daemonLink(places);
  if (link !== undefined) return link;
  throw new PolypodError(
    'provider-failed',
    `no daemon is up on ${places.dataDirectory}; polypod serve starts one`,
  );
}

async function waitingIn(link: ControlLink): Promise<readonly WaitingApproval[]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the daemon, which is this same program, wrote it
  return arrayOf((await link.call('approvals')).approvals) as readonly WaitingApproval[];
}

/** The one that a word means: its id, the beginning of it, or how HumanLayer's clients show it. */
function approvalMeant(waiting: readonly WaitingApproval[], word: string): WaitingApproval {
  const start = word.toLowerCase().replace(/^local-/, '');
  const [only, ...others] = start === '' ? [] : waiting.filter(({ id }) => id.startsWith(start));
  if (only === undefined)
    throw new PolypodError(
      'not-found',
      `no approval "${word}" is waiting: it may be decided already; polypod approvals lists those that are`,
    );
  if (others.length === 0) return only;
  const ids = [only, ...others].map(({ id }) => id);
  throw new PolypodError(
    'bad-request',
    `${ids.length} approvals are meant by "${word}": ${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}. Write more of the id.`,
  );
}

const HEADINGS = ['id', 'session', 'age', 'tool', 'about'];
/** The age is flush right. */
const RIGHT = new Set([2]);
const NAME_WIDTH = 24;

function listed(waiting: readonly WaitingApproval[], { stdout }: Surroundings): string {
  const now = new Date();
  const ids = shortIds(waiting.map(({ id }) => id));
  const sessions = shortIds([...new Set(waiting.map(({ session }) => session))]);
  const cells = waiting.map(({ id, session, name, requestedAt, tool, title }) => [
    ids.get(id) ?? id,
    name === undefined ? (sessions.get(session) ?? session) : fitWidth(name, NAME_WIDTH),
    ago(requestedAt, now),
    tool,
    title,
  ]);
  return table([HEADINGS, ...cells], { right: RIGHT, columns: stdout.columns });
}
