import { PolypodError } from '../../base/index.ts';
import { type Files, readLines } from '../../store/index.ts';
import { parseLine, readable } from '../session/index.ts';
import { type Defect, isDamage, type Survey, surveySession } from './survey.ts';

/** Rejects if a session file must be repaired before anything is appended, or if its version is unknown. Returns the survey. */
export async function refuseDamaged(files: Files, file: string): Promise<Survey> {
  const survey = await surveySession(files, file);
  const damages = survey.defects.filter(isDamage);
  const [first] = damages;
  if (survey.header !== undefined && first?.kind !== 'header') readable(survey.header);
  if (first === undefined) return survey;
  if (first.kind === 'header' && !(await looksLikeSession(files, file, survey))) throw noSession(file);
  throw damagedSession(file, first, damages.length);
}

/** The error for a damaged session file: the location of the damage, and the next step. */
export function damagedSession(file: string, { line, kind, text }: Defect, damages = 1): PolypodError {
  const where = kind === 'empty' ? text : `line ${line}: ${text}`;
  const more = damages === 1 ? '' : `, and ${damages - 1} more`;
  return new PolypodError(
    'conflict',
    `${file} is damaged (${where}${more}), so nothing is written to it. To repair it: ${repairCommand(file)}`,
  );
}

export function noSession(file: string): PolypodError {
  return new PolypodError(
    'bad-request',
    `${file} is not a session file: it does not begin with a session header`,
  );
}

/** The shell command that repairs a file. */
export function repairCommand(file: string): string {
  return `polypod log repair ${/^[\w@%+=:,./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`}`;
}

/** Whether a file without a readable header is a session. */
export async function looksLikeSession(files: Files, file: string, survey: Survey): Promise<boolean> {
  const { header, ok, unverified } = survey;
  if (header !== undefined) return true;
  if (isNamedAsSession(file, survey.defects[0]?.kind === 'empty')) return true;
  if (ok + unverified > 0)
    for await (const lines of readLines(files, file))
      for (const line of lines) if ('text' in line && isEntry(line.text)) return true;
  return HEADER_SIGN.test(await beginningOf(files, file));
}

/** Whether a file is named like a session: names of Polypod and pi end with an id. An empty file has less strict rules. */
export function isNamedAsSession(file: string, isEmpty: boolean): boolean {
  return (isEmpty ? /\.jsonl$/ : /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl$/).test(file);
}

/** Also matches if some bytes are damaged. */
const HEADER_SIGN = /"type":"session"|"version":\d,"id":"|"timestamp":"[^"]*","cwd":"/;

function isEntry(text: string): boolean {
  const line = parseLine(text);
  return line.kind === 'entry' && text.includes('"parentId"');
}

async function beginningOf(files: Files, path: string): Promise<string> {
  const file = files.openToRead(path);
  try {
    const bytes = Buffer.alloc(1024);
    // Without the NUL bytes of UTF-16 text.
    return bytes
      .subarray(0, await file.read(bytes, 0))
      .toString('latin1')
      .replaceAll('\0', '');
  } finally {
    file.close();
  }
}
