import { resolve } from 'node:path';
import { looseWords } from './shell/loose-words.ts';
import { shapingSubcommand } from './git/git-recording.ts';
import { judgePath, judgeSensitive, labelOf } from './judge-path.ts';
import { mayWrite } from './scope.ts';
import type { JudgedCommand, JudgedStep, Touched } from './judged.ts';
import { type Policy, ruled, type Verdict, verdict } from './policy.ts';
import { decidingRule, type Part, type Rule } from './rule.ts';

type File = Pick<Touched, 'path' | 'place' | 'pattern'>;

/** What was found about a part of a call, and what the part is: a person's answer may be about it alone. */
export interface Finding {
  readonly verdict: Verdict;
  readonly about:
    | { readonly type: 'tool' }
    | { readonly type: 'file'; readonly file: File }
    | { readonly type: 'program'; readonly step: JudgedStep }
    /** A command line that cannot be told apart into programs. */
    | { readonly type: 'text' };
}

export function aboutFile(file: File, found: Verdict): Finding {
  return { verdict: found, about: { type: 'file', file } };
}

/**
 * Judges a command line by its text. That is a convenience: it spares questions about what is plainly harmless, and what
 * it does not understand asks. It is no boundary, since a program does what it likes once it runs, and files may change
 * between the look and the run; the boundary is the sandbox.
 *
 * Every program of a line is judged on its own, and so is every file that the shell opens for it.
 */
export function judgeCommand(tool: string, command: JudgedCommand, policy: Policy): readonly Finding[] {
  if (command.command.includes('\0'))
    return [{ verdict: verdict('deny', 'The command has a NUL byte in it.'), about: { type: 'text' } }];
  const { content, cwd } = command;
  if ('opaque' in content) return judgeOpaque(tool, command, content.opaque, policy);
  const findings = withoutMixedGit(content.steps.flatMap((step) => judgeStep(tool, step, policy)));
  const isFree = content.steps.every((step) =>
    freedomOf(decidingRule({ tool, step }, policy.rules, policy.scope), policy),
  );
  // Relative names and the files that programs look at unasked depend on where it runs.
  return isFree ? findings : [...findings, aboutFile(cwd, judgePath({ tool, file: cwd }, 'read', policy))];
}

/** Whether a program may do anything: its words and files then matter no more than for secrets and rules that forbid. */
function freedomOf(rule: Rule | undefined, policy: Policy): boolean {
  if (policy.mode === 'full-access') return true;
  if (policy.mode === 'read-only') return false;
  return policy.sandboxed || (rule?.action === 'auto' && rule.command === undefined);
}

/** A command line that cannot be read is one program of which nothing is known but the words that stand in it. */
function judgeOpaque(
  tool: string,
  { command, cwd }: JudgedCommand,
  why: string,
  policy: Policy,
): readonly Finding[] {
  const step = { text: command };
  const rule = decidingRule({ tool, step }, policy.rules, policy.scope);
  const words = looseWords(command).map((word) => resolve(cwd.path, word));
  const files = [...new Set(words)].map((path) => ({ path, place: { real: path } }));
  return [
    {
      verdict: judgeRun(rule, `it cannot be read (${why})`, shortened(command), policy),
      about: { type: 'text' },
    },
    ...files.map((file) => aboutFile(file, judgeMention({ tool, step, file }, policy))),
  ];
}

function judgeStep(tool: string, step: JudgedStep, policy: Policy): readonly Finding[] {
  const rule = decidingRule({ tool, step }, policy.rules, policy.scope);
  const shown = shortened(step.written.map(({ text }) => text).join(' '));
  const unknown = step.hazard ?? step.unknown ?? programDoubt(step, policy);
  const isFree = freedomOf(rule, policy);
  const isReading = unknown === undefined && rule?.command === undefined;
  return [
    {
      verdict: judgeShaping(rule, step, policy) ?? judgeRun(rule, unknown, shown, policy),
      about: { type: 'program', step },
    },
    ...step.touched.map((file) => {
      const part = { tool, step, file };
      const isJudged = !isFree && file.access !== 'mention' && (file.byShell || isReading);
      return aboutFile(file, isJudged ? judgeNamed(part, policy) : judgeMention(part, policy));
    }),
  ];
}

/** The sandbox keeps repositories as they are, so whoever wants a new one, or other settings, has to be asked. */
function judgeShaping(rule: Rule | undefined, step: JudgedStep, policy: Policy): Verdict | undefined {
  if (!policy.sandboxed || policy.mode !== 'workspace-write' || rule !== undefined) return undefined;
  const subcommand = step.unknown === undefined ? undefined : shapingSubcommand(step.words);
  if (subcommand === undefined) return undefined;
  return verdict(
    'ask',
    `\`git ${subcommand}\` needs approval also in the sandbox: git runs what the settings of a repository name.`,
  );
}

/** A program that an agent could have put there is not the one that its name promises. */
function programDoubt({ programs }: JudgedStep, { scope }: Policy): string | undefined {
  const own = programs.find(({ path, real }) => mayWrite(scope, path) || mayWrite(scope, real));
  return own && `${own.path} is in a directory that the agent may write to`;
}

/**
 * A whole command line runs in one way. Where a rule allows one of its programs, git cannot run neutrally beside it, and
 * needs a rule or an approval too.
 */
function withoutMixedGit(findings: readonly Finding[]): readonly Finding[] {
  const isMixed = findings.some(
    ({ about, verdict: { decision, neutral } }) =>
      about.type === 'program' && decision === 'allow' && neutral !== true,
  );
  if (!isMixed) return findings;
  return findings.map((finding) => {
    const { about, verdict: found } = finding;
    if (about.type !== 'program' || about.step.git === undefined || found.neutral !== true) return finding;
    const shown = shortened(about.step.written.map(({ text }) => text).join(' '));
    const reason = `\`${shown}\` needs approval: beside a command that a rule allows, git may run programs that its repository names.`;
    return { verdict: verdict('ask', reason), about };
  });
}

function judgeRun(
  rule: Rule | undefined,
  unknown: string | undefined,
  shown: string,
  policy: Policy,
): Verdict {
  if (rule !== undefined && rule.action !== 'auto') return ruled(rule, `\`${shown}\``);
  if (policy.mode === 'full-access') return verdict('allow', 'Full access.');
  if (policy.mode === 'read-only')
    return unknown === undefined
      ? neutrally(shown)
      : verdict(
          'deny',
          `In read-only mode only commands that are known to read run, not \`${shown}\`: ${unknown}.`,
        );
  if (rule !== undefined) return verdict('allow', `A rule allows \`${shown}\`.`, rule);
  if (policy.sandboxed) return verdict('allow', 'It runs in a sandbox.');
  if (unknown === undefined) return neutrally(shown);
  return verdict('ask', `\`${shown}\` needs approval: ${unknown}.`);
}

function neutrally(shown: string): Verdict {
  return { ...verdict('allow', `\`${shown}\` only reads.`), neutral: true };
}

/** A file that the command will surely read or write. */
function judgeNamed(part: Part & { readonly file: Touched }, policy: Policy): Verdict {
  const { place, access, shown } = part.file;
  const isWritten = access === 'write';
  if (!('problem' in place) || (isWritten && policy.mode === 'read-only')) {
    // What is not printed may be a secret.
    const file = shown || isWritten ? part.file : { ...part.file, content: { hasNoSecrets: true } };
    return judgePath({ ...part, file }, isWritten ? 'write' : 'read', policy);
  }
  // A person who sees the command may know.
  const mention = judgeMention(part, policy);
  return mention.decision === 'allow' ? unchecked(labelOf(part.file), place.problem) : mention;
}

/** A file that the command may do anything with, and may do so unseen: only what rules and secrets say matters. */
function judgeMention(part: Part & { readonly file: File & Partial<Touched> }, policy: Policy): Verdict {
  const { file } = part;
  const rule = decidingRule(part, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto') return ruled(rule, labelOf(file));
  if (policy.mode === 'full-access') return verdict('allow', `${labelOf(file)} may be named.`);
  if (rule?.path !== undefined && judgeSensitive(file, 'write', policy)?.decision !== 'deny')
    return verdict('allow', `${labelOf(file)} may be named.`);
  // A wildcard may stand for secrets; a name that leads nowhere does not.
  if ('problem' in file.place && file.many === true) return unchecked(labelOf(file), file.place.problem);
  const isWritten = file.access === 'write';
  const sensitive =
    isWritten || file.shown !== false
      ? judgeSensitive(file, isWritten ? 'write' : 'read', policy)
      : undefined;
  return sensitive ?? verdict('allow', `${labelOf(file)} may be named.`);
}

function unchecked(path: string, problem: string): Verdict {
  return verdict('ask', `${path} cannot be checked: ${problem}.`);
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
