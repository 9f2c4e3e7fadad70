import { PolypodError } from '../../../base/index.ts';
import { type Note, type RepairReport, repairKit } from '../../../pod/sessions.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import type { LogFile } from './log-files.ts';

export interface RepairRequest {
  readonly isJson: boolean;
  readonly isDryRun: boolean;
  /** The working directory of a session if its file does not contain one. */
  readonly cwd: string;
}

/** `polypod log repair`: makes damaged session files readable, and reports what was lost. */
export async function repair(
  files: readonly LogFile[],
  { isJson, isDryRun, cwd }: RepairRequest,
  { stdout }: CommandContext,
): Promise<ExitCode> {
  const { repairSession } = await repairKit();
  const reports: RepairReport[] = [];
  for (const { path, row } of sessions(files)) {
    const { id, createdAt } = row ?? {};
    const known = { ...(id && { id }), ...(createdAt && { createdAt }), ...(row && { cwd: row.cwd }) };
    const report = await repairSession({ file: path, known, cwd, now: () => new Date(), isDryRun });
    reports.push(report);
    if (!isJson) stdout.write(inWords(report));
  }
  if (isJson) stdout.write(`${JSON.stringify(reports)}\n`);
  return isDryRun && reports.some(({ outcome }) => outcome !== 'sound') ? EXIT.failed : EXIT.ok;
}

/** The session files without the feeds. */
function sessions(files: readonly LogFile[]): readonly LogFile[] {
  const found = files.filter(({ isFeed }) => !isFeed);
  if (found.length > 0) return found;
  throw new PolypodError(
    'bad-request',
    'a feed needs no repair: unreadable lines are skipped when the session is opened',
  );
}

function inWords({ file, outcome, original, lines, entries, lost, notes }: RepairReport): string {
  const name = sanitizeLine(file);
  if (outcome === 'sound') return `${name}: nothing to repair\n`;
  const details = notes.map((note) => `  ${line(note)}\n`).join('');
  const sum = `${counted(lines, 'line', 'lines')} read, ${counted(entries, 'entry', 'entries')} kept, ${lost === 0 ? 'nothing is lost' : counted(lost, 'loss', 'losses')}`;
  const end =
    original === undefined
      ? 'nothing was changed; without --dry-run the file is repaired'
      : `the damaged file is kept as ${sanitizeLine(original)}`;
  return `${name}: ${outcome === 'repaired' ? 'repaired' : 'damaged'}\n${details}  ${sum}\n  ${end}\n`;
}

function line({ kind, line: number, text, offset, bytes }: Note): string {
  const where = number === undefined ? '' : `line ${number}: `;
  const range = bytes === undefined ? '' : ` (${counted(bytes, 'byte', 'bytes')} from byte ${offset} on)`;
  return `${WORDS[kind].padEnd(8)}  ${where}${sanitizeLine(text)}${range}`;
}

const WORDS: Readonly<Record<Note['kind'], string>> = {
  restored: 'restored',
  lost: 'lost',
  relinked: 'changed',
  repeated: 'removed',
  unfinished: 'removed',
  header: 'changed',
  'call-closed': 'changed',
  'result-set-aside': 'changed',
  'result-renamed': 'changed',
  compaction: 'changed',
  approval: 'changed',
};

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
