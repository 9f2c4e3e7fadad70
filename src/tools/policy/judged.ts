import type { Place } from './real-path.ts';
import type { Step } from './steps.ts';

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
  readonly place: Place;
}

export interface JudgedCommand {
  readonly type: 'command';
  readonly command: string;
  readonly cwd: JudgedPath;
  /** Every program that it would run; or why that is not known. */
  readonly content: { readonly steps: readonly JudgedStep[] } | { readonly opaque: string };
}

export interface JudgedStep extends Omit<Step, 'named' | 'repositories' | 'showsTracked'> {
  readonly touched: readonly Touched[];
}

/** A file that a command names, through wildcards too. */
export interface Touched {
  readonly access: 'read' | 'write' | 'mention';
  /** Whether the shell opens it. */
  readonly byShell: boolean;
  /** Whether it is one of those that a wildcard stands for. */
  readonly many: boolean;
  readonly path: string;
  readonly place: Place;
}
