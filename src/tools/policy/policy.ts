import type { PermissionMode } from './permission-mode.ts';
import type { Rule } from './rule.ts';
import type { Scope } from './scope.ts';

/** Everything but the call that a decision depends on. */
export interface Policy {
  readonly mode: PermissionMode;
  readonly rules: readonly Rule[];
  readonly scope: Scope;
  /** Whether commands run where they can write only inside the scope and reach no network. */
  readonly sandboxed: boolean;
  /** Polypod's own files and directories; absolute paths, with and without links. */
  readonly protectedPaths?: readonly string[];
}

export interface Verdict {
  readonly decision: 'allow' | 'ask' | 'deny';
  /** One sentence for the model and for the user. */
  readonly reason: string;
  /** The rule that decided, if one did. */
  readonly rule?: Rule;
  /**
   * Set if a command is allowed only because it reads. It must then run in read-only mode, so that nothing else
   * can happen: without the configuration of repositories and with a clean environment.
   */
  readonly onlyReads?: boolean;
}

/** A reason quotes model output, which must not be able to format the question that a user is asked. */
export function verdict(decision: Verdict['decision'], reason: string, rule?: Rule): Verdict {
  const line = reason.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  return rule === undefined ? { decision, reason: line } : { decision, reason: line, rule };
}

/** Returns the verdict of a rule that asks or denies. */
export function ruleVerdict(rule: Rule, subject: string): Verdict {
  const { command, path, tool } = rule;
  const about = command ?? path ?? tool ?? 'everything';
  return rule.action === 'deny'
    ? verdict('deny', `A rule denies ${subject} (${about}).`, rule)
    : verdict('ask', `A rule asks about ${subject} (${about}).`, rule);
}
