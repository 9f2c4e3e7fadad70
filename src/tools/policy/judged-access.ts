import type { Program } from './shell/program.ts';
import type { PathLocation } from './real-path.ts';
import type { Repository } from './git/repository.ts';
import type { Step } from './shell/script-steps.ts';

/** A call as the policy sees it: the tool, and what it would touch, with resolved paths. */
export interface ExaminedCall {
  readonly tool: string;
  readonly access: readonly JudgedAccess[];
}

/** Access with resolved paths: all that a decision depends on. */
export type JudgedAccess =
  | JudgedPath
  | JudgedCommand
  | { readonly type: 'web'; readonly host: string }
  | { readonly type: 'foreign'; readonly readOnly: boolean };

export interface JudgedPath {
  readonly type: 'read' | 'write';
  /** As named by the call. */
  readonly path: string;
  readonly location: PathLocation;
  readonly content?: KnownContent;
}

/** What is known about a file beyond its name. */
export interface KnownContent {
  /** Files of this name often contain credentials, but this one contains none. */
  readonly hasNoSecrets?: boolean;
  /** The write does not change what other programs run. */
  readonly runsNothingNew?: boolean;
  /** The file has other names, and a write changes what is read under them. */
  readonly isHardLinked?: boolean;
}

export interface JudgedCommand {
  readonly type: 'command';
  readonly command: string;
  readonly cwd: JudgedPath;
  /** Every program that it would run, or why that is unknown. */
  readonly content: { readonly steps: readonly JudgedStep[] } | { readonly opaque: string };
}

export interface JudgedStep extends Omit<Step, 'named' | 'directories' | 'git'> {
  readonly touched: readonly TouchedFile[];
  /** The files that run for its name and its prefixes; none for builtins of the shell. */
  readonly programs: readonly Program[];
  readonly git: JudgedGit | undefined;
}

/** Git as a step would run it. */
export interface JudgedGit {
  readonly program: string;
  /** The real directories in which it may run, and the repository that git finds there. */
  readonly dataPaths: readonly { readonly directory: string; readonly repository: Repository | undefined }[];
}

/** A file that a command names, also through wildcards. */
export interface TouchedFile {
  readonly access: 'read' | 'write' | 'mention';
  /** Whether the shell opens it. */
  readonly byShell: boolean;
  /** Whether it is one of the matches of a wildcard. */
  readonly many: boolean;
  /** Whether some of its content may be printed. */
  readonly shown: boolean;
  readonly path: string;
  /** The words that matched it, if a wildcard did: its own name may be a secret. */
  readonly pattern?: string;
  readonly location: PathLocation;
  readonly content?: KnownContent;
}
