import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PolypodError } from '../base/index.ts';
import { findSession, type Places } from '../daemon/index.ts';
import { Layout, type Row, sessionsIn } from '../pod/sessions.ts';
import { readLines, realFiles } from '../store/index.ts';
import { EXIT, runnable } from './command.ts';
import { DATA_DIR, placesOf } from './data-dir.ts';
import { harmless } from './terminal/harmless.ts';

/** `polypod log verify`: whether what is on the disk is what was written. */
export const log = runnable({
  name: 'log',
  summary: 'Verify the checksums of session and feed files.',
  usage: 'verify [OPTIONS] [ID|NAME|FILE…]',
  options: { json: { type: 'flag', help: 'print one JSON object' }, ...DATA_DIR },
  words: ['verify'],
  takes: 'sessions',
  details: `
Without an argument all sessions are verified. Every line that Polypod writes ends with a checksum; lines without one,
which other programs wrote, are counted as unverified. An unfinished last line is what a crash leaves: it was never
acknowledged, and is cut off when the session is opened next.

Exit codes: 0 nothing is damaged, 1 something is, 2 usage.

Examples:
  polypod log verify
  polypod log verify refactoring
  polypod log verify ~/.pi/agent/sessions/some.jsonl`,
  async run({ values, positionals: [action, ...words] }, around) {
    if (action !== 'verify')
      throw new PolypodError(
        'bad-request',
        action === undefined
          ? 'say what to do: polypod log verify'
          : `there is no log ${action}: say polypod log verify; polypod logs shows what happened`,
      );
    const files = filesMeant(placesOf(values, around), words);
    const verdicts: Verdict[] = [];
    for (const file of files) {
      const verdict = await verified(file);
      verdicts.push(verdict);
      if (!values.json)
        for (const bad of verdict.bad)
          around.stdout.write(`${harmless(file)}:${bad.line}: ${SAY[bad.status]}\n`);
    }
    const sum = (count: (verdict: Verdict) => number) =>
      verdicts.reduce((total, one) => total + count(one), 0);
    const damaged = sum(({ bad }) => bad.filter(({ status }) => status === 'corrupt').length);
    const totals = {
      files: files.length,
      lines: sum(({ ok }) => ok),
      unverified: sum((one) => one.unverified),
      damaged,
    };
    around.stdout.write(
      values.json
        ? `${JSON.stringify({ ...totals, bad: verdicts.flatMap(({ file, bad }) => bad.map((one) => ({ file, ...one }))) })}\n`
        : `${totals.files} ${totals.files === 1 ? 'file' : 'files'}: ${inWords(totals)}\n`,
    );
    return damaged === 0 ? EXIT.ok : EXIT.failed;
  },
});

interface Verdict {
  readonly file: string;
  readonly ok: number;
  readonly unverified: number;
  readonly bad: readonly { readonly line: number; readonly status: 'corrupt' | 'torn' }[];
}

function inWords({ lines, unverified, damaged }: Record<'lines' | 'unverified' | 'damaged', number>): string {
  return [
    `${lines} ${lines === 1 ? 'line is as it was' : 'lines are as they were'} written`,
    `${unverified} cannot be verified`,
    `${damaged} ${damaged === 1 ? 'is' : 'are'} damaged`,
  ].join(', ');
}

const SAY = {
  corrupt: 'damaged: not what was written',
  torn: 'unfinished: cut off when the session is opened next',
} as const;

async function verified(file: string): Promise<Verdict> {
  let [ok, unverified, line] = [0, 0, 0];
  const bad: { line: number; status: 'corrupt' | 'torn' }[] = [];
  for await (const lines of readLines(realFiles, file)) {
    for (const { status } of lines) {
      line += 1;
      if (status === 'ok') ok += 1;
      else if (status === 'unverified') unverified += 1;
      else bad.push({ line, status });
    }
  }
  return { file, ok, unverified, bad };
}

/** Of each session the file and its feed; a path is taken as it is. */
function filesMeant({ dataDirectory }: Places, words: readonly string[]): readonly string[] {
  const layout = new Layout(dataDirectory);
  const rows = sessionsIn(dataDirectory);
  if (words.length > 0)
    return words.flatMap((word) => (isFile(word) ? [ours(word)] : filesOf(findSession(rows, word), layout)));
  // Also those that the catalogue does not know.
  const sessions = namesIn(layout.sessions).filter((name) => name.endsWith('.jsonl'));
  return [
    ...sessions.map((name) => join(layout.sessions, name)),
    ...namesIn(layout.feeds).flatMap((id) => segmentsOf(layout.feed(id))),
  ];
}

function filesOf({ id, file }: Row, layout: Layout): readonly string[] {
  return [layout.path(file), ...segmentsOf(layout.feed(id))];
}

function segmentsOf(directory: string): readonly string[] {
  return namesIn(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => join(directory, name));
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch {
    // Nothing was kept there so far.
    return [];
  }
}

/** A file in which every line would count as damaged because it is something else is not verified at all. */
function ours(path: string): string {
  const file = openSync(path, 'r');
  try {
    const first = Buffer.alloc(1);
    if (readSync(file, first) === 0 || first.toString() === '{') return path;
  } finally {
    closeSync(file);
  }
  throw new PolypodError(
    'bad-request',
    `${path} is no session or feed file: its first line is no JSON object`,
  );
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
