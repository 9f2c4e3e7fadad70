import { PolypodError, withoutUndefined } from '../../base/index.ts';
import { shortIds } from '../../setup/index.ts';
import { childLabel, Layout, type Row, searched, sessionsIn } from '../../pod/sessions.ts';
import { dollars } from '../output/dollars.ts';
import { relativeTime } from '../output/relative-time.ts';
import { EXIT, runnable, type CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { table } from '../output/table.ts';
import { sanitizeLine, fitWidth, fitWidthEnd } from '../../terminal/index.ts';

/** The options that filter sessions; `of` names the action if a command has several. */
export function listingOptions(of: string) {
  return {
    all: { type: 'flag', short: 'a', help: `${of}include archived sessions and those of sub-agents` },
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
A terminal with fewer than 120 columns shows fewer of them; --json prints all fields.
--all lists the sessions of sub-agents below the session that they work for.
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
    const listable = found.filter(({ archived, spawned = false }) => values.all || !(archived || spawned));
    const wanted = childrenBelowParents(listable).slice(0, values.limit);
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

/** Lists the sessions of sub-agents after the session that they work for, the last changed at the end. */
function childrenBelowParents(rows: readonly Row[]): readonly Row[] {
  const children = new Map<string, Row[]>(rows.map(({ id }) => [id, []]));
  const others = rows.filter((row) => {
    const siblings = row.spawned === true ? children.get(row.parentId ?? '') : undefined;
    siblings?.unshift(row);
    return siblings === undefined;
  });
  return others.flatMap((row) => [row, ...(children.get(row.id) ?? [])]);
}

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

/** A column of the list. */
interface Column {
  readonly heading: string;
  /** The width of the terminal from which on it is shown. */
  readonly from: number;
  readonly isRight?: true;
  readonly cell: (row: ListedRow, shown: Shown) => string;
}

interface Shown {
  readonly ids: ReadonlyMap<string, string>;
  readonly now: Date;
  readonly home: string;
  /** Whether there is a column for the name. */
  readonly hasNames: boolean;
}

const NAME_WIDTH = 24;
const DIRECTORY_WIDTH = 30;
/** From this width on, names and directories have their own columns. */
const WIDE = 120;
/** Below this width, a list shows only which sessions there are and their states. */
const NARROW = 60;

const COLUMNS: readonly Column[] = [
  { heading: 'id', from: 0, cell: ({ id }, { ids }) => ids.get(id) ?? id },
  { heading: 'name', from: WIDE, cell: ({ name = '' }) => fitWidth(sanitizeLine(name), NAME_WIDTH) },
  {
    heading: 'state',
    from: 0,
    cell: ({ state, archived }) => (archived ? `${state}, archived` : state),
  },
  {
    heading: 'age',
    from: NARROW,
    isRight: true,
    cell: ({ updatedAt }, { now }) => relativeTime(updatedAt, now),
  },
  {
    heading: 'cost',
    from: NARROW,
    isRight: true,
    cell: ({ totals: { cost } }) => (cost === undefined ? '' : dollars(cost)),
  },
  {
    heading: 'asked',
    from: WIDE,
    isRight: true,
    cell: ({ approvals }) => (approvals.length === 0 ? '' : String(approvals.length)),
  },
  {
    heading: 'directory',
    from: WIDE,
    cell: ({ cwd }, { home }) =>
      fitWidthEnd(
        sanitizeLine(cwd.startsWith(`${home}/`) ? `~${cwd.slice(home.length)}` : cwd),
        DIRECTORY_WIDTH,
      ),
  },
  {
    heading: 'about',
    from: 0,
    cell: ({ name, title, spawned = false, annotations, firstPrompt = '' }, { hasNames }) => {
      const label = spawned ? childLabel({ ...withoutUndefined({ name, annotations }) }) : name;
      const hasColumn = hasNames && label === name;
      const text = title ?? firstPrompt;
      const about = label === undefined || hasColumn ? text : `${label}${text === '' ? '' : `: ${text}`}`;
      return spawned ? `└ ${about}` : about;
    },
  },
];

/** A narrow terminal shows fewer columns, so that there is space for what a session is about. */
function listed(
  rows: readonly ListedRow[],
  ids: ReadonlyMap<string, string>,
  { stdout: { columns }, home }: CommandContext,
): string {
  const width = columns ?? Number.POSITIVE_INFINITY;
  const visible = COLUMNS.filter(({ from }) => width >= from);
  const shown: Shown = { ids, now: new Date(), home, hasNames: width >= WIDE };
  const cells = rows.map((row) => visible.map(({ cell }) => cell(row, shown)));
  const right = new Set(visible.flatMap(({ isRight }, at) => (isRight === true ? [at] : [])));
  return table([visible.map(({ heading }) => heading), ...cells], { right, columns });
}
