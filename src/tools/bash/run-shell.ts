import { closeSync } from 'node:fs';
import type { CommandLine } from '../process/command-group.ts';
import { programOnPath } from '../process/on-path.ts';
import type { OutputWindow } from '../process/output-window.ts';
import { type CommandEnd, type CommandToRun, runCommand } from '../process/run-command.ts';
import { formatBytes, oneLine } from '../text/shorten.ts';
import type { ToolContext } from '../tool.ts';

type ShellOptions = Pick<CommandToRun, 'timeoutMs' | 'apart' | 'update' | 'observe'>;

/** How a command of an agent ended. */
export interface ShellEnd {
  readonly end: CommandEnd;
  readonly limitsMet: readonly string[];
  /** Notes of the sandbox. */
  readonly remarks: readonly string[];
}

/** Runs a command to its end, under everything that applies to commands of an agent: sandbox, isolation, limits. */
export async function runShell(
  command: string,
  { cwd, env, scratch, sandbox, approved = false, prepareReadOnly, isolation, limiter, record }: ToolContext,
  options: ShellOptions,
  signal: AbortSignal,
): Promise<ShellEnd> {
  const shell = (await programOnPath('bash', env)) ?? '/bin/sh';
  const isApart = sandbox !== undefined || (await isolation?.state())?.state === 'on';
  const limits = await limiter?.prepare(isApart);
  const limited = (line: CommandLine): CommandLine => limits?.inner(line) ?? line;
  const run = async (line: CommandLine, more: Pick<CommandToRun, 'env' | 'descriptors' | 'wrapper'>) => {
    const [program, args] = limits?.outer(line) ?? line;
    const fullCommand: CommandToRun = {
      ...more,
      ...options,
      program,
      args,
      cwd,
      scratch,
      record: record && ((entry) => record({ ...entry, command: oneLine(command) })),
    };
    const end = await runCommand(fullCommand, signal).catch(async (thrown: unknown) => {
      await limits?.finish({ exitCode: null, output: '' });
      throw thrown;
    });
    const met = await limits?.finish({ exitCode: end.exitCode, output: end.output.end(LOOKED_AT) });
    return { end, limitsMet: met ?? [] };
  };
  if (sandbox === undefined) {
    // A sandbox is the stricter boundary.
    const unapproved = await prepareReadOnly?.({ env, scratch });
    try {
      const [program, args] = limited(
        unapproved === undefined ? [shell, ['-c', command]] : [unapproved.program, unapproved.args(command)],
      );
      const wrapped = await isolation?.wrap(program, args, cwd);
      const wrapper = wrapped && commandLine(wrapped);
      const ended = await run(wrapped ?? [program, args], { env: unapproved?.env ?? env, wrapper });
      return { ...ended, remarks: [] };
    } finally {
      await unapproved?.close();
    }
  }
  const [program, args] = limited([shell, ['-c', command]]);
  const prepared = await sandbox.prepare({ program, args, cwd, env, text: command, approved, scratch });
  try {
    const line = [prepared.program, prepared.args] as const;
    const ended = await run(line, { ...prepared, wrapper: commandLine(line) });
    return { ...ended, remarks: await prepared.finish(windowText(ended.end.output)) };
  } finally {
    for (const descriptor of prepared.descriptors) closeSync(descriptor);
  }
}

/** As the system shows it. */
function commandLine([program, args]: CommandLine): string {
  return [program, ...args].join(' ').trim();
}

/** Returns the output for the model: its beginning and its end. */
export function windowText(window: OutputWindow): string {
  const mark = (missing: number): string => `[… ${formatBytes(missing)} omitted here …]`;
  // Some providers reject NUL characters.
  return window.text(mark).replaceAll('\0', '\ufffd');
}

/** The end of the output, where programs report missing resources. */
const LOOKED_AT = 4 * 1024;
