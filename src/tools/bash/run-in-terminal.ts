import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { TerminalEnd } from '../client-services.ts';
import { programOnPath } from '../process/on-path.ts';
import { formatCount, oneLine } from '../text/shorten.ts';
import { errorOutput, type ToolContext, type ToolOutput } from '../tool.ts';
import { formatSeconds, outcomeText } from './shell-end.ts';

export interface TerminalInput {
  readonly command: string;
  /** In seconds. */
  readonly timeout: number;
}

/**
 * Runs a command in a terminal of the connected client. Returns undefined if it must run here: in the sandbox, without an
 * approval, or because the client has no terminal for it.
 */
export async function runInTerminal(
  { command, timeout }: TerminalInput,
  { runInTerminal: run, sandbox, prepareReadOnly, scratch, env, cwd, callId, update }: ToolContext,
  signal: AbortSignal,
): Promise<ToolOutput | undefined> {
  if (run === undefined || sandbox !== undefined || prepareReadOnly !== undefined) return undefined;
  const program = (await programOnPath('bash', env)) ?? '/bin/sh';
  // Some editors join the arguments to one line for a shell, so none of them may need quotes.
  const script = join(scratch, `terminal-${randomUUID()}.sh`);
  await writeFile(script, `${command}\n`, { flag: 'wx', mode: 0o600 });
  try {
    const started = performance.now();
    const end = await run(
      {
        callId,
        program,
        args: [script],
        cwd,
        timeoutMs: timeout * 1_000,
        maxOutputBytes: MAX_OUTPUT_BYTES,
        onStart: () => update('Running in a terminal of the editor.'),
      },
      signal,
    );
    return end.type === 'refused'
      ? undefined
      : toOutput(oneLine(command, 80), end, timeout, performance.now() - started);
  } finally {
    await rm(script, { force: true });
  }
}

function toOutput(
  title: string,
  end: Exclude<TerminalEnd, { type: 'refused' }>,
  timeout: number,
  durationMs: number,
): ToolOutput {
  if (end.type === 'lost') return errorOutput(`${title}: ${end.reason}`);
  const { by, exitCode, signal } = end;
  const all = plainText(end.output);
  const printed = all.trimEnd();
  const outcome =
    by === 'itself'
      ? outcomeText({ by, exitCode, signal, durationMs, wrapper: undefined }, timeout)
      : `${by === 'cancel' ? 'cancelled' : `not done after ${formatCount(timeout, 'second')}`}, so the editor ended it`;
  const notes = [
    ...(outcome === undefined ? [] : [`[${outcome}]`]),
    ...(end.isTruncated ? ['[only the end of the output was kept]'] : []),
  ];
  return {
    summary: `${title}: ${outcome ?? `done in ${formatSeconds(durationMs)}`}`,
    content: [{ type: 'text', text: [printed || '(no output)', ...notes].join('\n') }],
    isError: outcome !== undefined,
    details: {
      exitCode,
      signal,
      endedBy: by,
      durationMs,
      terminal: 'editor',
      printedLength: printed.length,
      trimmed: all.slice(printed.length),
    },
  };
}

/** Programs write colours to a terminal, and lines end with CRLF. An editor may ignore the limit. */
function plainText(output: string): string {
  const text = stripVTControlCharacters(output).replaceAll('\r\n', '\n').replaceAll('\0', '\ufffd');
  return text.slice(-MAX_OUTPUT_BYTES);
}

const MAX_OUTPUT_BYTES = 32 * 1024;
