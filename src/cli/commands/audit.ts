import { existsSync } from 'node:fs';
import {
  AUDIT_EVENTS,
  type AuditEntry,
  type AuditFilter,
  auditFiles,
  type ChainHead,
  listAuditFiles,
  matchesFilter,
  readEntry,
  verifyAudit,
} from '../../audit/index.ts';
import { nearestMatch, PolypodError } from '../../base/index.ts';
import { followLines } from '../../daemon/index.ts';
import type { DataPaths } from '../../setup/index.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { momentIn } from '../args/time-argument.ts';
import type { Values } from '../options.ts';
import { type TextColors, brush, wantsColour, sanitizeLine } from '../../terminal/index.ts';

const USUAL_LIMIT = 200;

const OPTIONS = {
  since: {
    type: 'text',
    value: 'TIME',
    help: 'only entries since this time: 2026-01-31, 2026-01-31T12:00Z, 2h, 30d',
  },
  until: { type: 'text', value: 'TIME', help: 'only entries until this time' },
  door: {
    type: 'text',
    value: 'DOOR',
    help: 'only entries of this door: pod, rpc, hld, tasks, control, cli',
  },
  by: { type: 'text', value: 'NAME', help: 'only entries of this user or key owner' },
  event: {
    type: 'text',
    value: 'EVENT',
    help: 'only this event, such as key.revoked, or all events of a group, such as key',
  },
  key: { type: 'text', value: 'ID', help: 'only entries with or about this key' },
  session: {
    type: 'text',
    value: 'ID',
    help: 'only entries of this session (id, or the beginning or end of it)',
  },
  limit: {
    type: 'number',
    short: 'n',
    value: 'N',
    min: 1,
    help: `the last N entries (default: ${USUAL_LIMIT})`,
  },
  follow: { type: 'flag', short: 'f', help: 'print new lines until interrupted' },
  from: { type: 'number', value: 'SEQ', min: 1, help: 'verify: start with this entry' },
  expect: { type: 'text', value: 'SEQ:HASH', help: 'verify: fail unless this earlier entry exists' },
  json: { type: 'flag', help: 'print JSON: entries as lines, the verdict as one object' },
  ...DATA_DIR,
} as const;

/** `polypod audit`: shows who did what, and verifies the log. */
export const audit = runnable({
  name: 'audit',
  summary: 'Show or verify the audit log: decisions, changes and rejected requests.',
  usage: '[verify] [OPTIONS]',
  options: OPTIONS,
  words: ['verify'],
  details: `
The audit log is logs/audit.jsonl in the data directory, one hash chain for all processes: each entry contains the
hash of the previous one. The file rotates at 8 MB or after 30 days; 24 files are kept (audit in config.yaml).

verify checks in all files that no entry was changed, removed, repeated or reordered, and prints the first bad line.
The last entry is also stored in logs/audit.head, so that removed last lines are detected. A process that can write
both files can replace the complete chain: to detect this, store the printed SEQ:HASH on another machine and pass it
with --expect.

Events: ${AUDIT_EVENTS.filter((name) => !name.startsWith('audit.')).join(', ')}.

Exit codes: 0 done, 1 the chain is broken, 2 usage error.

Examples:
  polypod audit --since 1d --event approval
  polypod audit --by ci --door tasks --json
  polypod audit verify
  polypod audit verify --expect 1204:9f2c…`,
  async run({ values, positionals: [action, ...more] }, context) {
    if (action !== undefined && (action !== 'verify' || more.length > 0))
      throw new PolypodError('bad-request', 'unknown arguments: use polypod audit or polypod audit verify');
    const dataPaths = dataPathsOf(values, context);
    return action === 'verify' ? verify(dataPaths, values, context) : show(dataPaths, values, context);
  },
});

async function show(
  dataPaths: DataPaths,
  values: Values<typeof OPTIONS>,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, stderr, env, signal } = context;
  const files = auditFiles(dataPaths.dataDirectory);
  const filter = filterOf(values);
  if (listAuditFiles(files).length === 0 && !existsSync(files.directory)) {
    stderr.write(`polypod: nothing has been recorded in ${files.directory} so far\n`);
    return EXIT.ok;
  }
  const paint = brush(wantsColour(stdout, env));
  const limit = values.limit ?? USUAL_LIMIT;
  const print = (found: readonly Found[]): void => {
    const lines = found.map(({ line, entry }) => (values.json ? `${line}\n` : entryLine(entry, paint)));
    if (lines.length > 0) stdout.write(lines.join(''));
  };
  let past: Found[] | undefined = [];
  let isCut = false;
  const source = { files: () => listAuditFiles(files), directory: files.directory };
  for await (const lines of followLines({ ...source, follow: values.follow, signal })) {
    const found = lines.flatMap((line) => {
      const entry = readEntry(line);
      return entry !== undefined && matchesFilter(entry, filter) ? [{ line, entry }] : [];
    });
    if (past === undefined) print(found);
    else if (lines.length > 0) {
      past.push(...found);
      isCut ||= past.length > limit;
      past = past.slice(-limit);
    } else {
      print(past);
      if (isCut && values.limit === undefined && !values.json)
        stderr.write(`polypod audit: the last ${limit} entries; --limit N shows more\n`);
      past = undefined;
    }
  }
  return EXIT.ok;
}

interface Found {
  readonly line: string;
  readonly entry: AuditEntry;
}

function filterOf(values: Values<typeof OPTIONS>): AuditFilter {
  const { since, until, event, door, by, key, session } = values;
  if (event !== undefined && !AUDIT_EVENTS.some((name) => name === event || name.startsWith(`${event}.`))) {
    const near = nearestMatch(event, AUDIT_EVENTS);
    throw new PolypodError(
      'bad-request',
      `there is no event "${event}"${near === undefined ? '' : `; did you mean ${near}?`} (see: polypod audit --help)`,
    );
  }
  return {
    since: since === undefined ? undefined : momentIn('since', since, 'ago'),
    until: until === undefined ? undefined : momentIn('until', until, 'ago'),
    event,
    door,
    by,
    key,
    session,
  };
}

/** Formats an entry: time, event, person, door, subject. */
function entryLine(entry: AuditEntry, paint: TextColors): string {
  const {
    time,
    event,
    by,
    door,
    session,
    remote,
    action,
    target,
    outcome,
    count,
    keyId,
    details = {},
  } = entry;
  const rest = { session, key: keyId, target, from: remote, ...details };
  const isBad = event.endsWith('.refused') || event.endsWith('.denied') || BAD.has(event);
  return `${[
    paint.dim(sanitizeLine(time).slice(0, 19).replace('T', ' ')),
    isBad ? paint.red(sanitizeLine(event)) : paint.green(sanitizeLine(event)),
    ...(by === undefined ? [] : [sanitizeLine(by)]),
    ...(door === undefined ? [] : [`via ${sanitizeLine(door)}`]),
    ...(action === undefined ? [] : [sanitizeLine(action)]),
    ...(outcome === undefined || outcome === 'allowed' ? [] : [sanitizeLine(outcome)]),
    ...(count === undefined ? [] : [`×${count}`]),
    ...Object.entries(rest)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) =>
        paint.dim(
          `${sanitizeLine(name)}=${sanitizeLine(typeof value === 'string' ? value : JSON.stringify(value))}`,
        ),
      ),
  ].join(' ')}\n`;
}

const BAD: ReadonlySet<string> = new Set(['audit.gap', 'audit.torn', 'approval.skipped']);

function verify(dataPaths: DataPaths, values: Values<typeof OPTIONS>, { stdout }: CommandContext): ExitCode {
  const files = auditFiles(dataPaths.dataDirectory);
  const expect = values.expect === undefined ? undefined : expectedIn(values.expect);
  const verdict = verifyAudit(files, { from: values.from, expect });
  const { problems, entries, head, torn } = verdict;
  if (values.json) stdout.write(`${JSON.stringify({ ok: problems.length === 0, ...verdict }, null, 2)}\n`);
  else {
    for (const { file, line, problem } of problems.slice(0, MOST_SHOWN))
      stdout.write(`${sanitizeLine(file)}:${line}: ${problem}\n`);
    if (problems.length > MOST_SHOWN) stdout.write(`… ${problems.length - MOST_SHOWN} more\n`);
    const cut = torn === 0 ? '' : `, ${torn} cut by a crash and accounted for`;
    const counted = `${entries} ${entries === 1 ? 'entry' : 'entries'} in ${verdict.files} ${verdict.files === 1 ? 'file' : 'files'}${cut}`;
    const end = head === undefined ? '' : `\nlast entry ${head.seq}:${head.hash}`;
    stdout.write(
      problems.length === 0 ? `${counted}: the chain is intact${end}\n` : `${counted}: the chain is broken\n`,
    );
  }
  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

const MOST_SHOWN = 20;

function expectedIn(text: string): ChainHead {
  const [, seq, hash] = /^(\d+):([0-9a-f]{64})$/.exec(text.trim()) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  throw new PolypodError(
    'bad-request',
    '--expect takes what verify printed as the last entry: a number, a colon and 64 hexadecimal digits',
  );
}
