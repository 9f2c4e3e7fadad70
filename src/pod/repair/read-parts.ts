import { type Files, type SalvagedPiece, readLines, salvage } from '../../store/index.ts';
import { parseLine } from '../session/index.ts';
import { describeBytes, isLine, type Part, type RawLine } from './part.ts';

/** Consecutive damaged lines. */
interface Region {
  readonly from: number;
  readonly to: number;
  /** The number of its first line. */
  readonly line: number;
}

/** All readable parts of a damaged session file, in file order. */
export async function readParts(files: Files, file: string): Promise<readonly Part[]> {
  const parts: Part[] = [];
  let number = 0;
  let region: Region | undefined;
  for await (const lines of readLines(files, file)) {
    for (const line of lines) {
      number += 1;
      if (!('text' in line)) {
        region = { from: region?.from ?? line.offset, line: region?.line ?? number, to: line.end };
        continue;
      }
      if (region !== undefined) parts.push(...partsIn(await bytesAt(files, file, region), region, false));
      region = undefined;
      parts.push(partOf(number, { text: line.text, isSealed: line.status === 'ok' }));
    }
  }
  if (region !== undefined) parts.push(...partsIn(await bytesAt(files, file, region), region, true));
  return parts;
}

async function bytesAt(files: Files, path: string, { from, to }: Region): Promise<Buffer> {
  const file = files.openToRead(path);
  try {
    const bytes = Buffer.alloc(to - from);
    return bytes.subarray(0, await file.read(bytes, from));
  } finally {
    file.close();
  }
}

function partsIn(bytes: Buffer, { from, line }: Region, isAtEnd: boolean): readonly Part[] {
  const parts: Part[] = [];
  let [number, counted] = [line, 0];
  for (const piece of joinedLosses(salvage(bytes, { isAtEnd, isRecord: isLine }))) {
    for (
      let at = bytes.indexOf(NEWLINE, counted);
      at !== -1 && at < piece.from;
      at = bytes.indexOf(NEWLINE, at + 1)
    )
      number += 1;
    counted = Math.max(counted, piece.from);
    if (piece.kind === 'record') {
      const { text, isSealed, remedy } = piece;
      parts.push(partOf(number, { text, isSealed, remedy }));
      continue;
    }
    const lost = bytes.subarray(piece.from, piece.to);
    if (isBlank(lost)) continue;
    const beginning = lost.toString('utf8', 0, LOOKED_AT);
    const what = describeBytes(beginning);
    const range = { offset: from + piece.from, bytes: lost.length };
    parts.push({ kind: piece.kind, line: number, lost: { ...range, what, beginning } });
  }
  return parts;
}

/** Joins adjacent lost lines into one loss. */
function joinedLosses(pieces: readonly SalvagedPiece[]): readonly SalvagedPiece[] {
  const joined: SalvagedPiece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (last?.kind === 'lost' && piece.kind === 'lost' && last.to === piece.from)
      joined[joined.length - 1] = { ...last, to: piece.to };
    else joined.push(piece);
  }
  return joined;
}

const NEWLINE = 10;
const LOOKED_AT = 4096;

function isBlank(bytes: Buffer): boolean {
  return bytes.length < LOOKED_AT && bytes.toString().trim() === '';
}

function partOf(line: number, raw: RawLine): Part {
  const parsed = parseLine(raw.text);
  if (parsed.kind === 'header') return { kind: 'header', line, header: parsed.header, raw };
  return parsed.kind === 'entry'
    ? { kind: 'entry', line, entry: parsed.entry, raw }
    : { kind: 'other', line, raw };
}
