import { matchesPathGlob, matchesToolGlob, mayMatchPathGlob } from './rule-glob.ts';
import type { JudgedStep, TouchedFile } from './judged-access.ts';
import { mayMatch, mayMatchText, matchesExactly } from './command-pattern.ts';
import { mayRead, type Scope } from './scope.ts';

/** What a rule does with matching calls. */
export const RULE_ACTIONS = ['auto', 'ask', 'deny'] as const;

/**
 * A decision made in advance. A rule applies if all of its patterns match; without patterns it applies to
 * everything. The first matching rule decides.
 */
export interface Rule {
  /** A glob for the tool's name. */
  readonly tool?: string;
  /**
   * The first words of a command; each may contain wildcards. `npm test` also matches `npm test -- -x`, but
   * neither `npm test; rm x` nor `PATH=. npm test`.
   */
  readonly command?: string;
  /** Whether no more words may follow. */
  readonly exact?: boolean;
  /** A host name of web requests: `docs.example.com`, or `*.example.com` for all below it. */
  readonly host?: string;
  /** A glob for a path, absolute or at any depth: `build/**`. */
  readonly path?: string;
  readonly action: (typeof RULE_ACTIONS)[number];
}

/** A part of a call: the whole call, a program that it runs, or a file that it touches. */
export interface Part {
  readonly tool: string;
  /** The program, or its text if it is unknown. */
  readonly step?: JudgedStep | { readonly text: string };
  readonly file?: Pick<TouchedFile, 'path' | 'location'>;
  /** The host of a web request. */
  readonly host?: string;
}

/**
 * Returns the rule that decides about a part. Allow rules must match exactly what runs and where it leads; ask
 * and deny rules also match what may be it, behind wrappers and other spellings.
 */
export function decidingRule(part: Part, rules: readonly Rule[], scope: Scope): Rule | undefined {
  return rules.find(
    (rule) =>
      matchesTool(rule, part.tool) &&
      matchesCommand(rule, part) &&
      matchesPath(rule, part, scope) &&
      matchesHost(rule, part),
  );
}

/** Returns whether a rule's tool pattern matches a name. */
export function matchesTool({ tool }: Rule, name: string): boolean {
  return tool === undefined || matchesToolGlob(tool, name);
}

function matchesCommand(rule: Rule, { step }: Part): boolean {
  if (rule.command === undefined) return true;
  if (step === undefined) return false;
  if (rule.action !== 'auto')
    return 'text' in step ? mayMatchText(rule.command, step.text) : mayMatch(rule.command, step);
  return (
    !('text' in step) && step.hazard === undefined && matchesExactly(rule.command, rule.exact ?? false, step)
  );
}

function matchesHost({ host: pattern }: Rule, { host }: Part): boolean {
  if (pattern === undefined) return true;
  if (host === undefined) return false;
  const name = pattern.toLowerCase();
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}

function matchesPath(rule: Rule, { file }: Part, scope: Scope): boolean {
  if (rule.path === undefined) return true;
  if (file === undefined) return false;
  const { path: glob, action } = rule;
  const real = 'real' in file.location ? file.location.real : undefined;
  if (action !== 'auto') {
    return mayMatchPathGlob(glob, file.path) || (real !== undefined && mayMatchPathGlob(glob, real));
  }
  // `build/**` applies to the project, not to every directory of that name on the machine.
  if (real === undefined || (!glob.startsWith('/') && (scope.read === 'anywhere' || !mayRead(scope, real))))
    return false;
  return matchesPathGlob(glob, real);
}
