import { numberOf, stringOf } from '../../base/index.ts';
import type { PodEvent } from '../../pod/index.ts';
import type { RpcBashResult } from './wire.ts';

export type ShellEnd = Extract<PodEvent, { readonly type: 'shell-end' }>;

/** Commands that the client runs: whoever asked for one gets its end, whichever comes first. */
export class Shells {
  /** Resolves when the last one has begun, or was refused. */
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

  /** One of somebody else's may be kept in vain: not many are. */
  #keep(event: ShellEnd): void {
    this.#ended.set(event.shellId, event);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MOST_KEPT && oldest !== undefined) this.#ended.delete(oldest);
  }
}

const MOST_KEPT = 20;

export function bashResult({ status, output }: ShellEnd): RpcBashResult {
  const details = output.details ?? {};
  const exitCode = numberOf(details.exitCode);
  const path = stringOf(details.outputFile);
  const cancelled = status !== 'done' || details.endedBy === 'timeout';
  const printed = printedIn(output);
  const text = cancelled ? `${details.endedBy === 'timeout' ? TIMED_OUT : CANCELLED}\n${printed}` : printed;
  const bytes = Buffer.byteLength(text);
  return {
    output: text,
    ...(exitCode === undefined || cancelled ? {} : { exitCode }),
    cancelled,
    truncated: path !== '',
    totalLines: linesOf(text),
    totalBytes: numberOf(details.outputBytes) ?? bytes,
    outputLines: linesOf(text),
    outputBytes: bytes,
    ...(path === '' ? {} : { fullOutputPath: path }),
  };
}

const CANCELLED = '[Command cancelled]';
const TIMED_OUT = '[Command timed out]';

/** What the command itself printed: the tool's remarks for the model stand in brackets behind it. */
function printedIn({ content, details = {}, isError }: ShellEnd['output']): string {
  const lines = content
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .split('\n');
  const remarks = [
    ...(isError ? [/^\[(?:exit code|ended by|cancelled after|not done after) .*\]$/] : []),
    ...(details.outputFile === undefined ? [] : [/^\[all .* of output are in .*\]$/]),
    ...(details.endedProcesses === undefined ? [] : [/^\[left in the background and ended: .*\]$/]),
    ...(details.survivors === undefined ? [] : [/^\[these processes could not be ended: .*\]$/]),
  ];
  const isRemark = (line: string): boolean => remarks.some((remark) => remark.test(line));
  while (lines.length > 0 && isRemark(lines.at(-1) ?? '')) lines.pop();
  return details.outputBytes === 0 ? '' : lines.join('\n');
}

function linesOf(text: string): number {
  return text === '' ? 0 : text.split('\n').length;
}
