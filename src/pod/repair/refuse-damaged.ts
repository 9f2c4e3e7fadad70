import { PolypodError } from '../../base/index.ts';
import { type Files, readLines } from '../../store/index.ts';
import { parseLine, readable } from '../session/index.ts';
import { type Defect, isDamage, type Survey, surveySession } from './survey.ts';

/**
 * Rejects if something is wrong with a session file that has to be repaired before anything is appended, or if it is of a
 * version that is not known here. Answers with what it found.
 */
export async function refuseDamaged(files: Files, file: string): Promise<Survey> {
  const survey = await surveySession(files, file);
  const damages = survey.defects.filter(isDamage);
  const [first] = damages;
  if (survey.header !== undefined && first?.kind !== 'header') readable(survey.header);
  if (first === undefined) return survey;
  if (first.kind === 'header' && !(await looksLikeSession(files, file, survey))) throw noSession(file);
  throw damagedSession(file, first, damages.length);
}

/** The error for a damaged session file: where it is damaged, and the next step. */
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
    `${file} is no session file: it does not begin with a session header`,
  );
}

/** The command that repairs a file, as it is typed in a shell. */
export function repairCommand(file: string): string {
  return `polypod log repair ${/^[\w@%+=:,./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`}`;
}

/** Whether a file without a readable header is a session all the same. */
export async function looksLikeSession(files: Files, file: string, survey: Survey): Promise<boolean> {
  const { header, ok, unverified } = survey;
  if (header !== undefined) return true;
  if (isNamedAsSession(file, survey.defects[0]?.kind === 'empty')) return true;
  if (ok + unverified > 0)
    for await (const lines of readLines(files, file))
      for (const line of lines) if ('text' in line && isEntry(line.text)) return true;
  return HEADER_SIGN.test(await beginningOf(files, file));
}

/** Whether the name of a file says that it is a session: Polypod's and pi's end with an id. Of an empty file less is asked. */
export function isNamedAsSession(file: string, isEmpty: boolean): boolean {
  return (isEmpty ? /\.jsonl$/ : /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl$/).test(file);
}

/** Also where bytes of it are damaged. */
const HEADER_SIGN = /"type":"session"|"version":\d,"id":"|"timestamp":"[^"]*","cwd":"/;

function isEntry(text: string): boolean {
  const line = parseLine(text);
  return line.kind === 'entry' && text.includes('"parentId"');
}

async function beginningOf(files: Files, path: string): Promise<string> {
  const file = files.openToRead(path);
  try {
    const bytes = Buffer.alloc(1024);
    // Without the NUL bytes of a text in UTF-16.
    return bytes
      .subarray(0, await file.read(bytes, 0))
      .toString('latin1')
      .replaceAll('\0', '');
  } finally {
    file.close();
  }
}
