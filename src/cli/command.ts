import type { Readable, Writable } from 'node:stream';
import { type Arguments, type OptionTable, optionHelp, readArguments, type Taken } from './options.ts';

/** What a command leaves behind for whoever called it. */
export const EXIT = {
  ok: 0,
  /** It ran, and what was asked for did not come about. */
  failed: 1,
  /** A mistake in the arguments, the configuration (a key or a model that the provider does not take is one) or the permissions. */
  usage: 2,
  /** The provider or the system failed. */
  broken: 3,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** All of the outside world that a command may touch. */
export interface Surroundings {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** As the person has set it. `process.env` has no secrets, since child processes inherit it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Sets the variables of `process.env`, for extensions that run in this process. */
  readonly exposeVariables: (env: Readonly<Record<string, string>>) => void;
  readonly home: string;
  /** Fires when the person interrupts. */
  readonly signal: AbortSignal;
  /** Calls back on SIGHUP, which otherwise interrupts. */
  readonly onHangUp: (callback: () => void) => void;
  /** Calls back with an error that nothing caught; the process goes on if the answer is true. */
  readonly onUncaught: (callback: (thrown: unknown) => boolean) => void;
}

export interface Command<Table extends OptionTable = OptionTable> {
  readonly name: string;
  readonly summary: string;
  /** The arguments, as the usage line shows them. */
  readonly usage: string;
  readonly options: Table;
  /** Examples and what else `--help` says. */
  readonly details: string;
  /** What stands first behind the command's name: a shell completes it. */
  readonly words?: readonly string[];
  /** What its arguments are, for a shell to complete. */
  readonly takes?: Taken;
  readonly run: (args: Arguments<Table>, around: Surroundings) => Promise<ExitCode>;
}

/** A command whose options are known only to itself. */
export interface Runnable extends Pick<Command, 'options' | 'words' | 'takes'> {
  readonly help: string;
  readonly run: (argv: readonly string[], around: Surroundings) => Promise<ExitCode>;
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
    ...(takes === undefined ? {} : { takes }),
    run: (argv, around) => command.run(readArguments(command.name, command.options, argv), around),
  };
}

function helpOf({ name, summary, usage, options, details }: Omit<Command, 'run'>): string {
  return `${summary}\n\nUsage: polypod ${name} ${usage}\n\nOptions:\n${optionHelp(options)}\n\n${details.trim()}\n`;
}
