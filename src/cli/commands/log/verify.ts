import { PolypodError } from '../../../base/index.ts';
import { type Defect, repairKit } from '../../../pod/sessions.ts';
import { readLines, realFiles } from '../../../store/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import type { LogFile } from './log-files.ts';

/** The result for one file. */
interface Verdict {
  readonly file: string;
  readonly ok: number;
  readonly unverified: number;
  readonly bad: readonly BadLine[];
  /** The command that repairs it. */
  readonly repair?: string;
}

interface BadLine {
  readonly line: number;
  /** `corrupt` is damage; readers skip the others. */
  readonly status: 'corrupt' | 'torn' | 'ignored';
  readonly problem: Defect['kind'];
  readonly text: string;
}

/** `polypod log verify`: checks the files against their checksums. */
export async function verify(
  files: readonly LogFile[],
  isJson: boolean,
  { stdout }: CommandContext,
): Promise<ExitCode> {
  const verdicts: Verdict[] = [];
  for (const file of files) {
    const verdict = file.isFeed ? await verifiedFeed(file.path) : await verifiedSession(file);
    verdicts.push(verdict);
    if (isJson) continue;
    for (const { line, status, text } of verdict.bad)
      stdout.write(`${sanitizeLine(file.path)}:${line}: ${status === 'corrupt' ? 'damaged: ' : ''}${text}\n`);
    if (verdict.repair !== undefined) stdout.write(`  to repair it: ${sanitizeLine(verdict.repair)}\n`);
  }
  const sum = (count: (verdict: Verdict) => number) => verdicts.reduce((total, one) => total + count(one), 0);
  const damaged = sum(({ bad }) => bad.filter(({ status }) => status === 'corrupt').length);
  const totals = {
    files: files.length,
    lines: sum(({ ok }) => ok),
    unverified: sum((one) => one.unverified),
    damaged,
  };
  stdout.write(
    isJson
      ? `${JSON.stringify({ ...totals, bad: verdicts.flatMap(badIn) })}\n`
      : `${totals.files} ${totals.files === 1 ? 'file' : 'files'}: ${inWords(totals)}\n`,
  );
  return damaged === 0 ? EXIT.ok : EXIT.failed;
}

function badIn({ file, bad, repair }: Verdict): readonly object[] {
  return bad.map((one) => ({
    file,
    ...one,
    ...(repair !== undefined && one.status === 'corrupt' && { repair }),
  }));
}

function inWords({ lines, unverified, damaged }: Record<'lines' | 'unverified' | 'damaged', number>): string {
  return [
    `${lines} ${lines === 1 ? 'line' : 'lines'} verified`,
    `${unverified} cannot be verified`,
    `${damaged} ${damaged === 1 ? 'is' : 'are'} damaged`,
  ].join(', ');
}

async function verifiedSession({ path, row }: LogFile): Promise<Verdict> {
  const { isDamage, looksLikeSession, repairCommand, surveySession } = await repairKit();
  const survey = await surveySession(realFiles, path);
  // In a file of another kind, every line would count as damaged.
  if (row === undefined && !(await looksLikeSession(realFiles, path, survey)))
    throw new PolypodError(
      'bad-request',
      `${path} is not a session or feed file: it does not begin with a session header, and no line of it is an entry`,
    );
  const bad = survey.defects.map((defect): BadLine => {
    const { line, kind: problem, text } = defect;
    const status = isDamage(defect) ? 'corrupt' : problem === 'unfinished' ? 'torn' : 'ignored';
    return { line, status, problem, text };
  });
  const isBad = survey.defects.some(isDamage);
  const { ok, unverified } = survey;
  return { file: path, ok, unverified, bad, ...(isBad && { repair: repairCommand(path) }) };
}

/** A feed needs no repair: its unreadable lines are skipped when the session is opened. */
async function verifiedFeed(path: string): Promise<Verdict> {
  let [ok, unverified, line] = [0, 0, 0];
  const bad: BadLine[] = [];
  for await (const lines of readLines(realFiles, path)) {
    for (const { status } of lines) {
      line += 1;
      if (status === 'ok') ok += 1;
      else if (status === 'unverified') unverified += 1;
      else if (status === 'corrupt') bad.push({ line, status, problem: 'corrupt', text: FEED_DAMAGED });
      else bad.push({ line, status, problem: 'unfinished', text: UNFINISHED });
    }
  }
  return { file: path, ok, unverified, bad };
}

const FEED_DAMAGED = 'damaged; the session has its own copy, and clients that resume receive a snapshot';
const UNFINISHED = 'unfinished: truncated when the session is opened next';
