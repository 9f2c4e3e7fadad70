import { withoutUndefined } from '../../base/index.ts';
import { type Files, isIncompleteRecord, type LogLine, readLines, verifyLine } from '../../store/index.ts';
import { type Header, isReadable, parseLine } from '../session/index.ts';
import { isWellFormed } from './part.ts';

/** A defect of a session file. */
export interface Defect {
  /** Starts at 1. */
  readonly line: number;
  readonly kind:
    | 'empty'
    | 'header'
    | 'corrupt'
    | 'unknown-parent'
    | 'unfinished'
    | 'repeated'
    | 'second-header'
    | 'no-entry';
  readonly text: string;
}

/** The result of a survey of a session file. Only the ids stay in memory. */
export interface Survey {
  /** Absent if it cannot be read. */
  readonly header?: Header;
  /** Lines with a valid checksum, and lines of other programs, which have none. */
  readonly ok: number;
  readonly unverified: number;
  /** In file order. */
  readonly defects: readonly Defect[];
}

/** Whether the file must be repaired before anything is appended. Readers skip the other defects. */
export function isDamage({ kind }: Defect): boolean {
  return !HARMLESS.has(kind);
}

const HARMLESS: ReadonlySet<Defect['kind']> = new Set([
  'unfinished',
  'repeated',
  'second-header',
  'no-entry',
]);

/** Reads a whole session file and reports its defects. Changes nothing. */
export async function surveySession(files: Files, file: string): Promise<Survey> {
  const survey = new Surveyor();
  for await (const lines of readLines(files, file))
    for (const line of lines)
      survey.take(line, 'text' in line ? undefined : await bytesOf(files, file, line));
  return survey.end();
}

/** How much of an invalid line is examined. */
const MOST_LOOKED_AT = 16 * 1024 * 1024;

async function bytesOf(files: Files, path: string, { offset, end }: LogLine): Promise<Buffer> {
  const file = files.openToRead(path);
  try {
    const bytes = Buffer.alloc(Math.min(end - offset, MOST_LOOKED_AT));
    return bytes.subarray(0, await file.read(bytes, offset));
  } finally {
    file.close();
  }
}

class Surveyor {
  readonly #defects: Defect[] = [];
  readonly #ids = new Set<string>();
  #header: Header | undefined;
  #isOtherVersion = false;
  #line = 0;
  /** Whether the previous line is damaged. */
  #isAfterDamage = false;
  #ok = 0;
  #unverified = 0;

  /** `bytes`: the content of an invalid line. */
  take(line: LogLine, bytes: Buffer | undefined): void {
    this.#line += 1;
    if ('text' in line) this.#takeText(line.text, line.status);
    else if (bytes !== undefined) this.#takeBytes(bytes, line.status);
  }

  end(): Survey {
    if (this.#line === 0) this.#defects.push({ line: 1, kind: 'empty', text: 'the file is empty' });
    return {
      ...withoutUndefined({ header: this.#header }),
      ok: this.#ok,
      unverified: this.#unverified,
      defects: this.#defects,
    };
  }

  #takeBytes(bytes: Buffer, status: 'corrupt' | 'torn'): void {
    if (this.#line === 1) this.#note('header', 'not the session header that was written');
    else if (status === 'torn' && verifyLine(bytes) !== 'corrupt')
      // Only its newline is missing, which is added when the file is opened.
      this.#takeText(bytes.toString(), 'unverified');
    else if (status === 'torn' && isIncompleteRecord(bytes))
      this.#note('unfinished', 'unfinished: truncated when the session is opened next');
    else if (bytes.toString().trim() !== '') {
      this.#note('corrupt', 'not what was written');
      this.#isAfterDamage = true;
    }
  }

  #takeText(text: string, status: 'ok' | 'unverified'): void {
    if (status === 'ok') this.#ok += 1;
    else this.#unverified += 1;
    if (this.#line === 2) this.#lookAtVersion(text);
    if (this.#isOtherVersion) return;
    // A line without a checksum can only be checked by its content.
    const known = this.#line === 1 || status !== 'ok' ? null : PLACE.exec(text);
    if (known !== null) {
      this.#takeEntry(known[1] ?? '', known[2]);
      return;
    }
    const line = parseLine(text);
    if (line.kind === 'entry' && this.#line > 1) {
      if (status !== 'ok' && !isWellFormed(line.entry))
        this.#note('corrupt', 'a message with missing fields');
      this.#takeEntry(line.entry.id, line.entry.parentId ?? undefined);
    } else if (line.kind === 'header' && this.#line === 1) this.#header = line.header;
    else if (this.#line === 1) this.#note('header', 'no session header');
    else if (line.kind === 'header') this.#note('second-header', 'a second header: ignored');
    else if (line.kind === 'bad') this.#note('no-entry', `no entry (${line.reason}): ignored`);
  }

  /** Lines of another version cannot be interpreted. A header without a version whose entries have parents has lost it. */
  #lookAtVersion(text: string): void {
    if (this.#header === undefined || isReadable(this.#header)) return;
    if (this.#header.version > 1 || !text.includes('"parentId":')) this.#isOtherVersion = true;
    else this.#defects.push({ line: 1, kind: 'header', text: 'the version is missing' });
  }

  #takeEntry(id: string, parentId: string | undefined): void {
    if (this.#ids.has(id)) this.#note('repeated', 'a duplicate entry: ignored');
    else if (parentId !== undefined && !this.#ids.has(parentId)) {
      // The damaged line before it was its parent: that counts as one damage, not two.
      if (!this.#isAfterDamage) this.#note('unknown-parent', `the entry before it, ${parentId}, is missing`);
      this.#ids.add(parentId);
    }
    this.#isAfterDamage = false;
    this.#ids.add(id);
  }

  #note(kind: Defect['kind'], text: string): void {
    this.#defects.push({ line: this.#line, kind, text });
  }
}

/** Extracts the id and parent of an entry in Polypod's format, so that most lines need not be parsed. */
const PLACE = /^\{"type":"(?!session")[a-z_]+","id":"([^"\\]+)","parentId":(?:"([^"\\]+)"|null),/;
