import type { PermissionMode } from './permission-mode.ts';
import type { Rule } from './rule.ts';
import type { Scope } from './scope.ts';

/** All that a decision depends on, beside the call. */
export interface Policy {
  readonly mode: PermissionMode;
  readonly rules: readonly Rule[];
  readonly scope: Scope;
  /** Whether commands run where they can write inside of the scope only and reach no network. */
  readonly sandboxed: boolean;
  /** Polypod's own files and directories, wherever they are; absolute paths, with and without links. */
  readonly protectedPaths?: readonly string[];
}

export interface Verdict {
  readonly decision: 'allow' | 'ask' | 'deny';
  /** One sentence for the model and for the person. */
  readonly reason: string;
  /** The rule that decided, if one did. */
  readonly rule?: Rule;
  /**
   * Set when a command is allowed only because it reads. It then has to run neutrally, so that nothing else can happen:
   * without the configuration of repositories and with a clean environment.
   */
  readonly neutral?: boolean;
}

/** A reason quotes what a model wrote, which must not lay out the question that a person is asked. */
export function verdict(decision: Verdict['decision'], reason: string, rule?: Rule): Verdict {
  const line = reason.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  return rule === undefined ? { decision, reason: line } : { decision, reason: line, rule };
}

/** What a rule that asks or denies says about something. */
export function ruled(rule: Rule, subject: string): Verdict {
  const { command, path, tool } = rule;
  const about = command ?? path ?? tool ?? 'everything';
  return rule.action === 'deny'
    ? verdict('deny', `A rule denies ${subject} (${about}).`, rule)
    : verdict('ask', `A rule asks about ${subject} (${about}).`, rule);
}
