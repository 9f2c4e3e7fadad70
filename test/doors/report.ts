import type { Counts } from './run-round.ts';
import { SCENARIOS } from './scenarios.ts';
import { ACTIONS, type DoorRow, FACTS, TABLE } from './table.ts';

const NONE = '–';

/** What each protocol supports, and which scenarios it acts in. */
export function tables(): string {
  return [
    'What a client can do:',
    matrix('action', ACTIONS, ({ actions }, action) => actions[action] ?? NONE),
    'What each door sends, by event of the log:',
    matrix('event', FACTS, ({ facts }, fact) => facts[fact].map((name) => `\`${name}\``).join(', ') || NONE),
    'The scenarios:',
    scenarioTable(),
  ].join('\n\n');
}

/** A door acts in a scenario if its protocol supports the action, and is compared with the log in all of them. */
function scenarioTable(): string {
  const names = Object.fromEntries(SCENARIOS.map((scenario) => [scenario.name, scenario.name]));
  return matrix('scenario', names, ({ actions }, name) => {
    const action = SCENARIOS.find((scenario) => scenario.name === name)?.action;
    return action === undefined || actions[action] !== undefined ? 'acts' : 'watches';
  });
}

function matrix<K extends string>(
  head: string,
  rows: Readonly<Record<K, string>>,
  cell: (row: DoorRow, key: K) => string,
): string {
  const doors = Object.entries(TABLE);
  return aligned([
    [head, ...doors.map(([name]) => `\`${name}\``)],
    ...(Object.keys(rows) as K[]).map((key) => [rows[key], ...doors.map(([, row]) => cell(row, key))]),
  ]);
}

/** The result of a full run. */
export function countsTable(counts: Counts, seed: number): string {
  const figure = (value: number): string => value.toLocaleString('en');
  const lines = Object.entries(counts.lines).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return aligned([
    ['what', 'count'],
    ['schedules (sessions)', figure(counts.schedules)],
    ['kills of the daemon', figure(counts.kills)],
    ['actions', figure(counts.actions)],
    ['connections', figure(counts.connections)],
    ['prompts and steering messages accepted', figure(counts.accepted)],
    ['approvals', figure(counts.approvals)],
    ['events of the logs', figure(counts.events)],
    ...lines.map(([wire, count]) => [`lines compared with the log, ${wire}`, figure(count)]),
    ['lost, doubled, out of order or invented', '0'],
    ['seed', String(seed)],
  ]);
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}

/** Replaces the text between the two markers of a part of the page. */
export function withPart(page: string, part: string, content: string): string {
  const [begin, end] = [`<!-- ${part}: written by npm run proof:doors -->`, `<!-- end of ${part} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no part "${part}"`);
  return `${page.slice(0, from + begin.length)}\n\n${content}\n\n${page.slice(to)}`;
}
