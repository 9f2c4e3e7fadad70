import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { shape, withoutUndefined } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { formatCount, formatNumber, oneLine, formatBytes, withoutPartialEnd } from './text/shorten.ts';
import { clientText, MAX_CLIENT_BYTES } from './files/client-content.ts';
import { isText, readBytes, startsWithBom } from './files/file-content.ts';
import { detectImageType } from './files/image.ts';
import { LineRange, type RangeLine } from './text/line-range.ts';
import { ifExists, missingFileText } from './files/missing-file.ts';
import { absolutePath, pathArgument } from './path-argument.ts';
import { openRealPath } from './files/real-file.ts';
import { defineTool, errorOutput, type ToolOutput, type ToolContext, textOutput } from './tool.ts';

const MAX_LINES = 2_000;
const CAPS = { lineBytes: 4_000, bytes: 256 * 1024 };
/** Providers accept 5 MB of base64 for one image. */
const MAX_IMAGE_BYTES = 3_750_000;
/** In larger files, the lines after the range are not counted. */
const MAX_COUNTED_BYTES = 64 * 1024 * 1024;

const input = shape.fields(
  { path: pathArgument('The file: relative to the working directory or absolute; ~ is not expanded.') },
  {
    offset: shape.withDescription(
      shape.integerFrom(0),
      'The first line to show; 1 is the first of the file.',
    ),
    limit: shape.withDescription(
      shape.integerFrom(1),
      `How many lines to show; at most ${formatNumber(MAX_LINES)}.`,
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

export const read = defineTool({
  name: 'read',
  description: `Reads a text file, or looks at an image (PNG, JPEG, GIF, WebP). Every line starts with its number and a tab, which are not part of the file; line endings and a byte order mark are not shown. At most ${formatNumber(MAX_LINES)} lines or 256 KB at once: the last line tells how to continue. Use this instead of cat, head or tail; use ls for directories.`,
  input,
  parallel: true,
  access: ({ path }, cwd) => [{ type: 'read', path: absolutePath(path, cwd) }],
  title: ({ path, offset, limit }) => oneLine(`read ${path}${rangeTitle(offset, limit)}`),
  run: (input, context, signal) => attempt(input.path, signal, () => readFile(input, context, signal)),
});

function rangeTitle(offset: number | undefined, limit: number | undefined): string {
  if (offset === undefined && limit === undefined) return '';
  const first = Math.max(1, offset ?? 1);
  return limit === undefined ? `:${first}-` : `:${first}-${first + limit - 1}`;
}

async function readFile(input: Input, context: ToolContext, signal: AbortSignal): Promise<ToolOutput> {
  const { clientFiles: client, resolve } = context;
  const path = absolutePath(input.path, context.cwd);
  const inClient = async (isOnDisk: boolean): Promise<ToolOutput | undefined> => {
    const text = await clientText({ client, path, access: 'read', resolve, isOnDisk }, signal);
    return text === undefined ? undefined : await readLines(input, Buffer.from(text), undefined, signal);
  };
  const handle = await ifExists(openRealPath(path, resolve));
  if (handle === undefined)
    return (await inClient(false)) ?? errorOutput(await missingFileText(input.path, context));
  try {
    const stats = await handle.stat();
    const refusal = notReadableText(input.path, stats);
    if (refusal !== undefined) return errorOutput(refusal);
    const start = await readBytes(handle, SNIFFED_BYTES, signal);
    const imageType = detectImageType(start);
    if (imageType !== undefined) return await readImage(input.path, imageType, start, handle, signal);
    const sniffed = start.length < SNIFFED_BYTES ? start : withoutPartialEnd(start);
    if (!isText(sniffed)) return errorOutput(binaryText(input.path, stats.size));
    const unsaved = stats.size > MAX_CLIENT_BYTES ? undefined : await inClient(true);
    return unsaved ?? (await readLines(input, start, { handle, size: stats.size }, signal));
  } finally {
    await handle.close();
  }
}

function notReadableText(path: string, stats: Stats): string | undefined {
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return `${path} is a directory. Use ls to see its entries, or find to search it.`;
  return `${path} is not a regular file but a device, pipe or socket, which read does not open.`;
}

function binaryText(path: string, size: number): string {
  return `${path} is a binary file (${formatBytes(size)}); read shows text and images only. Use bash with a program that knows its format, or with file or xxd.`;
}

async function readImage(
  path: string,
  mediaType: string,
  start: Buffer,
  handle: FileHandle,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const rest = await readBytes(handle, MAX_IMAGE_BYTES + 1 - start.length, signal);
  const bytes = Buffer.concat([start, rest]);
  if (bytes.length > MAX_IMAGE_BYTES) {
    const maxSize = formatBytes(MAX_IMAGE_BYTES);
    return errorOutput(
      `${path} is an image larger than ${maxSize}, which models do not accept. Make a smaller copy with bash first.`,
    );
  }
  const about = `${path}: ${mediaType}, ${formatBytes(bytes.length)}`;
  return {
    summary: about,
    content: [
      { type: 'text', text: about },
      { type: 'image', mediaType, data: bytes.toString('base64') },
    ],
    isError: false,
    details: { mediaType, bytes: bytes.length },
  };
}

/** Without a file, the start is the complete content. */
async function readLines(
  { path, offset, limit }: Input,
  start: Buffer,
  file: { readonly handle: FileHandle; readonly size: number } | undefined,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const size = file?.size ?? start.length;
  const first = Math.max(1, offset ?? 1);
  const range = new LineRange(first, Math.min(limit ?? MAX_LINES, MAX_LINES), CAPS);
  range.add(startsWithBom(start) ? start.subarray(3) : start);
  let ended = file === undefined || start.length < SNIFFED_BYTES;
  const needsMore = (): boolean => !ended && (size <= MAX_COUNTED_BYTES || !range.complete);
  for (const buffer = Buffer.allocUnsafe(256 * 1024); needsMore(); ) {
    signal.throwIfAborted();
    const { bytesRead = 0 } = (await file?.handle.read(buffer, 0, buffer.length)) ?? {};
    range.add(buffer.subarray(0, bytesRead));
    ended = bytesRead === 0;
  }
  if (ended) range.end();
  if (!range.lines.every(({ bytes }) => isText(bytes))) return errorOutput(binaryText(path, size));
  if (ended && range.total === 0)
    return textOutput(`${path} is empty`, `${path} is an empty file.`, { lines: 0 });
  if (range.lines.length === 0)
    return errorOutput(
      `${path} has ${formatCount(range.total, 'line')}; there is no line ${formatNumber(first)}.`,
    );
  return linesOutput(path, first, range.lines, ended ? range.total : undefined);
}

/** `total` is undefined if the file was not read to its end. */
function linesOutput(
  path: string,
  first: number,
  lines: readonly RangeLine[],
  total: number | undefined,
): ToolOutput {
  const last = first + lines.length - 1;
  const text = lines.map((line, index) => `${first + index}\t${lineText(line)}`).join('\n');
  const isWholeFile = first === 1 && last === total;
  const notes = [
    ...(last === total ? [] : [rangeNote(first, last, total)]),
    ...(lines.some(endsWithReturn) ? ['[the lines end with CRLF; edit keeps that]'] : []),
  ];
  const description = isWholeFile
    ? formatCount(lines.length, 'line')
    : `lines ${first}-${last} of ${total ?? 'many'}`;
  return textOutput(`${path}: ${description}`, [text, ...notes].join('\n'), {
    firstLine: first,
    lastLine: last,
    ...withoutUndefined({ lines: total }),
  });
}

function rangeNote(first: number, last: number, total: number | undefined): string {
  const of = total === undefined ? '' : ` of ${total}`;
  return `[lines ${first}-${last}${of}; continue with offset ${last + 1}]`;
}

function lineText({ bytes, cut }: RangeLine): string {
  const text = Buffer.from(bytes).toString('utf8').replace(/\r$/, '');
  return cut ? `${text} … [line cut]` : text;
}

function endsWithReturn({ bytes, cut }: RangeLine): boolean {
  return !cut && bytes.at(-1) === 0x0d;
}

const SNIFFED_BYTES = 64 * 1024;
