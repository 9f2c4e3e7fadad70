import { arrayOf, objectOf } from '../../base/index.ts';
import type { BackgroundCommand } from '../process/background-commands.ts';
import type { LineMatcher } from '../search/line-matcher.ts';
import { cutLine, withoutPartialEnd, withoutPartialStart } from '../text/shorten.ts';

/** The key of a result's details that lists the background commands whose end the model learns from the result. */
export const ENDED_COMMANDS = 'endedCommands';

/** Returns the background commands whose end the model learns from a result. Other tools cannot report any. */
export function endedCommandsIn(tool: string, details: unknown): readonly string[] {
  if (tool !== 'bash' && tool !== 'bash_output' && tool !== 'bash_kill') return [];
  return arrayOf(objectOf(details)[ENDED_COMMANDS]).filter((id) => typeof id === 'string');
}

/** A page of the output of a background command. */
export interface OutputPage {
  readonly text: string;
  /** Bytes before the page that are lost, because the output was too long to be kept. */
  readonly lost: number;
  /** Bytes after the page that have not been read. */
  readonly unread: number;
}

/** Returns the next page of output that was not read yet, and marks it as read. */
export async function readPage(command: BackgroundCommand): Promise<OutputPage> {
  const { start, bytes } = await command.read(command.position, PAGE_BYTES);
  const lost = start - command.position;
  const isLast = bytes.length < PAGE_BYTES;
  const page = isLast ? bytes : wholeLines(bytes);
  // The rest of a character may still arrive.
  const whole = isLast && command.end !== undefined ? page : withoutPartialEnd(page);
  command.position = start + whole.length;
  return { text: toText(whole), lost, unread: command.written - command.position };
}

/** Returns the unread lines that match, at most about a page of them, and marks all lines before as read. */
export async function readMatches(
  command: BackgroundCommand,
  matcher: LineMatcher,
  signal: AbortSignal,
): Promise<OutputPage> {
  const found: string[] = [];
  let [length, lost] = [0, 0];
  while (length < PAGE_BYTES) {
    signal.throwIfAborted();
    const isOver = command.end !== undefined;
    const { start, bytes } = await command.read(command.position, PAGE_BYTES);
    lost += start - command.position;
    const isLast = bytes.length < PAGE_BYTES;
    const lines = isLast && isOver ? bytes : bytes.subarray(0, lineEnd(bytes, isLast));
    command.position = start + lines.length;
    const matches = await matchingLines(toText(lines), matcher, signal);
    found.push(...matches);
    length += matches.reduce((sum, line) => sum + line.length, 0);
    if (isLast) break;
  }
  const text = found.map((line) => `${line}\n`).join('');
  return { text, lost, unread: command.written - command.position };
}

/** Returns the last lines of all output so far, and marks everything as read. */
export async function readLastLines(command: BackgroundCommand, lines: number): Promise<OutputPage> {
  const end = command.written;
  const pieces: Buffer[] = [];
  // The file may have only the first part of the page.
  for (let position = Math.max(0, end - PAGE_BYTES); position < end; ) {
    const { start, bytes } = await command.read(position, end - position);
    if (bytes.length === 0) break;
    pieces.push(bytes);
    position = start + bytes.length;
  }
  command.position = end;
  const text = toText(withoutPartialStart(Buffer.concat(pieces)));
  const last = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n');
  return { text: last.slice(-lines).join('\n'), lost: 0, unread: 0 };
}

/** Returns the lines of a text that match. */
export async function matchingLines(
  text: string,
  matcher: LineMatcher,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [indexes = []] = await matcher.match([text], signal);
  const lines = text.split('\n');
  return indexes.map((index) => cutLine(lines[index] ?? '', MAX_LINE));
}

/** Where the last complete line ends. A line that is longer than a page counts as complete. */
function lineEnd(bytes: Buffer, isLast: boolean): number {
  const end = bytes.lastIndexOf(LINE_FEED) + 1;
  return end > 0 || isLast ? end : bytes.length;
}

function wholeLines(bytes: Buffer): Buffer {
  return bytes.subarray(0, lineEnd(bytes, false));
}

function toText(bytes: Uint8Array): string {
  // Some providers reject NUL characters.
  return Buffer.from(bytes).toString('utf8').replaceAll('\0', '\ufffd');
}

const LINE_FEED = 0x0a;
/** As much as a command in the foreground returns. */
const PAGE_BYTES = 30 * 1024;
const MAX_LINE = 2_000;
