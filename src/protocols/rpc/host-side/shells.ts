import { open } from 'node:fs/promises';
import { type JsonObject, numberOf, stringOf } from '../../../base/index.ts';
import { printedText, type PodEventOf } from '../../../pod/index.ts';
import type { RpcBashResult } from '../wire.ts';

export type ShellEnd = PodEventOf<'shell-end'>;

/** Commands that the client runs. Matches the end of a command with its caller, in either order. */
export class Shells {
  /** Resolves when the last command has started or was refused. */
  opening: Promise<unknown> = Promise.resolve();
  readonly #ended = new Map<string, ShellEnd>();
  readonly #waiting = new Map<string, (end: ShellEnd) => void>();

  end(event: ShellEnd): void {
    const waiting = this.#waiting.get(event.shellId);
    this.#waiting.delete(event.shellId);
    if (waiting !== undefined) waiting(event);
    else this.#keep(event);
  }

  wait(shellId: string): Promise<ShellEnd> {
    const ended = this.#ended.get(shellId);
    if (ended !== undefined) return Promise.resolve(ended);
    return new Promise((resolve) => this.#waiting.set(shellId, resolve));
  }

  /** The end may belong to another client's command and never be requested, so only a few are kept. */
  #keep(event: ShellEnd): void {
    this.#ended.set(event.shellId, event);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MOST_KEPT && oldest !== undefined) this.#ended.delete(oldest);
  }
}

const MOST_KEPT = 20;

/** The result of a command that has ended. Of a long output it contains the end, if that is still available. */
export async function bashResult({ status, output }: ShellEnd): Promise<RpcBashResult> {
  const details = output.details ?? {};
  const exitCode = numberOf(details.exitCode);
  const path = stringOf(details.outputFile);
  const cancelled = status !== 'done' || details.endedBy === 'timeout';
  const end =
    path === '' ? undefined : await endOf(path, numberOf(details.outputBytes)).catch(() => undefined);
  const text = cancelled
    ? `${noticeOf(details)}\n${end ?? printedText(output)}`
    : (end ?? printedText(output));
  const bytes = Buffer.byteLength(text);
  const totalBytes = numberOf(details.outputBytes) ?? bytes;
  const lineEnds = numberOf(details.outputLineEnds);
  return {
    output: text,
    ...(exitCode === undefined || cancelled ? {} : { exitCode }),
    cancelled,
    truncated: path !== '',
    totalLines: lineEnds === undefined ? linesOf(text) : totalBytes === 0 ? 0 : lineEnds + 1,
    totalBytes,
    outputLines: linesOf(text),
    outputBytes: bytes,
    ...(path === '' ? {} : { fullOutputPath: path }),
  };
}

function noticeOf({ endedBy, durationMs }: JsonObject): string {
  if (endedBy !== 'timeout') return '[Command cancelled]';
  return `[Command timed out after ${Math.round((numberOf(durationMs) ?? 0) / 1000)} seconds]`;
}

/** The limit that clients of the protocol expect. */
const MOST_BYTES = 50 * 1024;

/** The last lines of the output file; undefined if the file is incomplete. */
async function endOf(path: string, total: number | undefined): Promise<string | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size !== total) return undefined;
    const bytes = Buffer.alloc(Math.min(size, MOST_BYTES));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
    const text = bytes.toString('utf8', 0, bytesRead).replaceAll('\0', '\ufffd');
    const start = size > MOST_BYTES ? text.indexOf('\n') + 1 : 0;
    return text.slice(start);
  } finally {
    await file.close();
  }
}

/** Every line end starts another line, which may be empty. */
function linesOf(text: string): number {
  return text === '' ? 0 : text.split('\n').length;
}
