import { withoutUndefined } from '../base/index.ts';
import type { Readable, Writable } from 'node:stream';
import {
  type Arguments,
  type OptionTable,
  optionHelp,
  readArguments,
  type ArgumentKinds,
} from './options.ts';

/** The exit codes of all commands. */
export const EXIT = {
  ok: 0,
  /** The command ran, but did not achieve its goal. */
  failed: 1,
  /** Invalid arguments, configuration or permissions. A key or model that the provider rejects is a configuration error. */
  usage: 2,
  /** The provider or the system failed. */
  broken: 3,
  /** The model did not complete its answer: refusal, content filter, token limit, full context, or no text. */
  incomplete: 4,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Everything outside the process that a command can use. */
export interface CommandContext {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** The environment of the user. `process.env` contains no secrets, because child processes inherit it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Sets the variables of `process.env`, for extensions that run in this process. */
  readonly exposeVariables: (env: Readonly<Record<string, string>>) => void;
  readonly home: string;
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal;
  /** Registers a callback for SIGHUP, which otherwise interrupts. */
  readonly onHangUp: (callback: () => void) => void;
  /** Registers a callback for uncaught errors; the process continues if it returns true. */
  readonly onUncaught: (callback: (thrown: unknown) => boolean) => void;
}

export interface Command<Table extends OptionTable = OptionTable> {
  readonly name: string;
  readonly summary: string;
  /** The arguments, as the usage line shows them. */
  readonly usage: string;
  readonly options: Table;
  /** Examples and other text of `--help`. */
  readonly details: string;
  /** The subcommands, for shell completion. */
  readonly words?: readonly string[];
  /** The kind of arguments, for shell completion. */
  readonly takes?: ArgumentKinds;
  readonly run: (args: Arguments<Table>, context: CommandContext) => Promise<ExitCode>;
}

/** A command without the types of its options. */
export interface Runnable extends Pick<Command, 'options' | 'words' | 'takes'> {
  readonly help: string;
  readonly run: (argv: readonly string[], context: CommandContext) => Promise<ExitCode>;
}

/** Commands by name, each with its line in the overview. A command is loaded only when it is called. */
export type CommandTable = Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<Runnable> }>
>;

export function runnable<const Table extends OptionTable>(command: Command<Table>): Runnable {
  const { options, words = [], takes } = command;
  return {
    help: helpOf(command),
    options,
    words,
    ...withoutUndefined({ takes }),
    run: (argv, context) => command.run(readArguments(command.name, command.options, argv), context),
  };
}

function helpOf({ name, summary, usage, options, details }: Omit<Command, 'run'>): string {
  return `${summary}\n\nUsage: polypod ${name} ${usage}\n\nOptions:\n${optionHelp(options)}\n\n${details.trim()}\n`;
}
