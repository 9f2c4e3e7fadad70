import { globExpression } from './glob.ts';
import type { JudgedStep, Touched } from './judged.ts';
import { mayBeRun, mayBeRunIn, runs } from './command-pattern.ts';
import { mayRead, type Scope } from './scope.ts';

/** What a rule does with the calls that it matches. */
export const RULE_ACTIONS = ['auto', 'ask', 'deny'] as const;

/**
 * What a person decided beforehand. A rule is about whatever all of its patterns match; without any it is about
 * everything. The first one that matches decides.
 */
export interface Rule {
  /** A glob for the tool's name. */
  readonly tool?: string;
  /**
   * The first words of a command; each may have wildcards. `npm test` is also `npm test -- -x`, and neither
   * `npm test; rm x` nor `PATH=. npm test`.
   */
  readonly command?: string;
  /** The command has no more words than that. */
  readonly exact?: boolean;
  /** A glob for a path. From the root on, or at any depth: `build/**`. */
  readonly path?: string;
  readonly action: (typeof RULE_ACTIONS)[number];
}

/** A part of a call: the call as a whole, a program that it runs, a file that it touches. */
export interface Part {
  readonly tool: string;
  /** The program; or, when it cannot be known, the text. */
  readonly step?: JudgedStep | { readonly text: string };
  readonly file?: Pick<Touched, 'path' | 'place'>;
}

/**
 * The rule that decides about a part. Allowing and forbidding are read differently: what allows has to fit exactly what
 * is run and where it leads, what asks or forbids also fits what only may be it, behind wrappers and other spellings.
 */
export function decidingRule(part: Part, rules: readonly Rule[], scope: Scope): Rule | undefined {
  return rules.find(
    (rule) => isAboutTool(rule, part.tool) && fitsCommand(rule, part) && fitsPath(rule, part, scope),
  );
}

/** Whether a rule is about a tool of this name, as far as the name goes. */
export function isAboutTool({ tool }: Rule, name: string): boolean {
  return tool === undefined || globExpression(tool, 'u').test(name);
}

function fitsCommand(rule: Rule, { step }: Part): boolean {
  if (rule.command === undefined) return true;
  if (step === undefined) return false;
  if (rule.action !== 'auto')
    return 'text' in step ? mayBeRunIn(rule.command, step.text) : mayBeRun(rule.command, step);
  return !('text' in step) && step.hazard === undefined && runs(rule.command, rule.exact ?? false, step);
}

function fitsPath(rule: Rule, { file }: Part, scope: Scope): boolean {
  if (rule.path === undefined) return true;
  if (file === undefined) return false;
  const isAnchored = rule.path.startsWith('/');
  const glob = isAnchored ? rule.path : `**/${rule.path}`;
  const real = 'real' in file.place ? file.place.real : undefined;
  if (rule.action !== 'auto') {
    const pattern = globExpression(glob, 'iu');
    return pattern.test(file.path) || (real !== undefined && pattern.test(real));
  }
  // `build/**` is meant for the project, not for every directory of that name on the machine.
  if (real === undefined || (!isAnchored && (scope.read === 'anywhere' || !mayRead(scope, real))))
    return false;
  return globExpression(glob, 'u').test(real);
}
