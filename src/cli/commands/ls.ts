import { PolypodError } from '../../base/index.ts';
import { shortIds } from '../../setup/index.ts';
import { Layout, type Row, searched, sessionsIn } from '../../pod/sessions.ts';
import { relativeTime } from '../output/relative-time.ts';
import { EXIT, runnable, type CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { table } from '../output/table.ts';
import { sanitizeLine, fitWidth, fitWidthEnd } from '../../terminal/index.ts';

/** The options that filter sessions; `of` names the action if a command has several. */
export function listingOptions(of: string) {
  return {
    all: { type: 'flag', short: 'a', help: `${of}include archived sessions` },
    search: {
      type: 'text',
      short: 's',
      value: 'TEXT',
      help: `${of}only sessions that contain every word of TEXT`,
    },
    limit: { type: 'number', short: 'n', value: 'N', min: 1, help: `${of}at most N sessions` },
  } as const;
}

/** `polypod ls`: lists sessions. */
export const ls = runnable({
  name: 'ls',
  summary: 'List the sessions, most recently changed first.',
  usage: '[OPTIONS]',
  options: {
    ...listingOptions(''),
    json: { type: 'flag', help: 'print a JSON list with all fields' },
    ...DATA_DIR,
  },
  details: `
This command reads the catalogue and needs no daemon. Other commands accept the displayed part of an id.
States: idle, running, waiting (for an approval), paused, interrupted (its process ended during a run).

Examples:
  polypod ls
  polypod ls --search "failing test"
  polypod ls --json | jq '.[] | select(.state == "waiting") | .id'`,
  async run({ values, positionals }, context) {
    if (positionals.length > 0)
      throw new PolypodError('bad-request', `ls takes no argument: try --search "${positionals.join(' ')}"`);
    const { dataDirectory } = dataPathsOf(values, context);
    const rows = sessionsIn(dataDirectory);
    const found = values.search === undefined ? rows : searched(rows, values.search);
    const wanted = found.filter(({ archived }) => values.all || !archived).slice(0, values.limit);
    const shown = await withActualStates(wanted, new Layout(dataDirectory));
    if (values.json) {
      context.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
      return EXIT.ok;
    }
    if (shown.length === 0) context.stderr.write(`${noneOf(found.length > 0, values.search)}\n`);
    else context.stdout.write(listed(shown, shortIds(rows.map(({ id }) => id)), context));
    return EXIT.ok;
  },
});

/** Explains an empty list, and what to do next. */
function noneOf(isArchived: boolean, search: string | undefined): string {
  if (isArchived) return 'only archived sessions; polypod ls --all shows them';
  if (search !== undefined)
    return `no session contains every word of "${sanitizeLine(search)}"; polypod ls lists all sessions`;
  return 'no sessions; polypod run starts one. If some are missing, run polypod doctor';
}

export type ListedRow = Omit<Row, 'state'> & { readonly state: Row['state'] | 'interrupted' };

/** Corrects the state of sessions whose process was killed during a run: without an owner, nothing is running. */
export async function withActualStates(rows: readonly Row[], layout: Layout): Promise<readonly ListedRow[]> {
  if (rows.every(({ state }) => state !== 'running')) return rows;
  const { readLock } = await import('../../store/index.ts');
  return rows.map((row) => {
    if (row.state !== 'running') return row;
    const lock = readLock(layout.path(row.file));
    return lock === undefined || lock.state === 'dead' ? { ...row, state: 'interrupted' } : row;
  });
}

const HEADINGS = ['id', 'name', 'state', 'age', 'cost', 'asked', 'directory', 'about'];
/** Columns of numbers are right-aligned. */
const RIGHT = new Set([3, 4, 5]);
const NAME_WIDTH = 24;
const DIRECTORY_WIDTH = 30;

function listed(
  rows: readonly ListedRow[],
  ids: ReadonlyMap<string, string>,
  { stdout, home }: CommandContext,
): string {
  const now = new Date();
  const cells = rows.map((row) => [
    ids.get(row.id) ?? row.id,
    fitWidth(sanitizeLine(row.name ?? ''), NAME_WIDTH),
    row.archived ? `${row.state}, archived` : row.state,
    relativeTime(row.updatedAt, now),
    row.totals.cost === undefined ? '' : `$${row.totals.cost.toFixed(2)}`,
    row.approvals.length === 0 ? '' : String(row.approvals.length),
    fitWidthEnd(
      sanitizeLine(row.cwd.startsWith(`${home}/`) ? `~${row.cwd.slice(home.length)}` : row.cwd),
      DIRECTORY_WIDTH,
    ),
    row.firstPrompt ?? '',
  ]);
  return table([HEADINGS, ...cells], { right: RIGHT, columns: stdout.columns });
}
