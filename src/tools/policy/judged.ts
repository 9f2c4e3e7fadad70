import type { Program } from './shell/program.ts';
import type { PathLocation } from './real-path.ts';
import type { Repository } from './git/repository.ts';
import type { Step } from './shell/script-steps.ts';

/** A call as the policy sees it: which tool, and what it would touch, with the places that its paths lead to. */
export interface Call {
  readonly tool: string;
  readonly access: readonly Judged[];
}

/** Access whose paths were followed to where they lead: all that a decision depends on. */
export type Judged = JudgedPath | JudgedCommand | { readonly type: 'foreign'; readonly readOnly: boolean };

export interface JudgedPath {
  readonly type: 'read' | 'write';
  /** As the call names it. */
  readonly path: string;
  readonly place: PathLocation;
  readonly content?: KnownContent;
}

/** What is known of a file beside its name. */
export interface KnownContent {
  /** Its name is one of those that often hold credentials, and it has none. */
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
  /** Every program that it would run; or why that is not known. */
  readonly content: { readonly steps: readonly JudgedStep[] } | { readonly opaque: string };
}

export interface JudgedStep extends Omit<Step, 'named' | 'directories' | 'git'> {
  readonly touched: readonly Touched[];
  /** The files that are run for its name and the prefixes before it; not for what the shell does itself. */
  readonly programs: readonly Program[];
  readonly git: JudgedGit | undefined;
}

/** Git as a step would run it. */
export interface JudgedGit {
  readonly program: string;
  /** Real directories that it may run in, and the repository that it finds there. */
  readonly dataPaths: readonly { readonly directory: string; readonly repository: Repository | undefined }[];
}

/** A file that a command names, through wildcards too. */
export interface Touched {
  readonly access: 'read' | 'write' | 'mention';
  /** Whether the shell opens it. */
  readonly byShell: boolean;
  /** Whether it is one of those that a wildcard stands for. */
  readonly many: boolean;
  /** Whether something of what is in it may be printed. */
  readonly shown: boolean;
  readonly path: string;
  /** The words that stand for it, if it is one of those that a wildcard stands for: its own name may be a secret. */
  readonly pattern?: string;
  readonly place: PathLocation;
  readonly content?: KnownContent;
}
