import { resolve } from 'node:path';
import { reconfiguringSubcommand } from './git/git-recording.ts';
import { judgePath, judgeSensitive, fileLabel } from './judge-path.ts';
import { looseWords } from './shell/loose-words.ts';
import { mayWrite } from './scope.ts';
import type { JudgedCommand, JudgedStep, TouchedFile } from './judged-access.ts';
import { type Policy, ruleVerdict, type Verdict, verdict } from './policy.ts';
import { decidingRule, type Part, type Rule } from './rule.ts';

type File = Pick<TouchedFile, 'path' | 'location' | 'pattern'>;

/** The verdict on one part of a call, and the part: a user's answer may apply to it alone. */
export interface Finding {
  readonly verdict: Verdict;
  readonly about:
    | { readonly type: 'tool' }
    | { readonly type: 'host'; readonly host: string }
    | { readonly type: 'file'; readonly file: File }
    | { readonly type: 'program'; readonly step: JudgedStep }
    /** A command line that cannot be split into programs. */
    | { readonly type: 'text' };
}

export function fileFinding(file: File, found: Verdict): Finding {
  return { verdict: found, about: { type: 'file', file } };
}

/**
 * Judges a command line by its text. This is a convenience: it avoids questions about plainly harmless
 * commands, and asks about everything it does not understand. It is not a security boundary, since a program
 * does what it likes once it runs, and files may change between the check and the run; the boundary is the
 * sandbox.
 *
 * Every program of a line is judged separately, and so is every file that the shell opens for it.
 */
export function judgeCommand(tool: string, command: JudgedCommand, policy: Policy): readonly Finding[] {
  if (command.command.includes('\0'))
    return [{ verdict: verdict('deny', 'The command contains a NUL byte.'), about: { type: 'text' } }];
  const { content, cwd } = command;
  if ('opaque' in content) return judgeOpaque(tool, command, content.opaque, policy);
  const findings = requireRuleForMixedGit(content.steps.flatMap((step) => judgeStep(tool, step, policy)));
  const isFree = content.steps.every((step) =>
    isUnrestricted(decidingRule({ tool, step }, policy.rules, policy.scope), policy),
  );
  // Relative names, and the files that programs read implicitly, depend on the directory.
  return isFree ? findings : [...findings, fileFinding(cwd, judgePath({ tool, file: cwd }, 'read', policy))];
}

/** Returns whether a program may do anything: then its words and files matter only for secrets and deny rules. */
function isUnrestricted(rule: Rule | undefined, policy: Policy): boolean {
  if (policy.mode === 'full-access') return true;
  if (policy.mode === 'read-only') return false;
  return policy.sandboxed || (rule?.action === 'auto' && rule.command === undefined);
}

/** A command line that cannot be parsed is one unknown program with the words it contains. */
function judgeOpaque(
  tool: string,
  { command, cwd }: JudgedCommand,
  why: string,
  policy: Policy,
): readonly Finding[] {
  const step = { text: command };
  const rule = decidingRule({ tool, step }, policy.rules, policy.scope);
  const words = looseWords(command).map((word) => resolve(cwd.path, word));
  const files = [...new Set(words)].map((path) => ({ path, location: { real: path } }));
  return [
    {
      verdict: judgeRun(rule, `it cannot be parsed (${why})`, shorten(command), policy),
      about: { type: 'text' },
    },
    ...files.map((file) => fileFinding(file, judgeMention({ tool, step, file }, policy))),
  ];
}

function judgeStep(tool: string, step: JudgedStep, policy: Policy): readonly Finding[] {
  const rule = decidingRule({ tool, step }, policy.rules, policy.scope);
  const commandText = shorten(step.written.map(({ text }) => text).join(' '));
  const unknown = step.hazard ?? step.unknown ?? programDoubt(step, policy);
  const isFree = isUnrestricted(rule, policy);
  const isReading = unknown === undefined && rule?.command === undefined;
  return [
    {
      verdict: judgeReconfiguration(rule, step, policy) ?? judgeRun(rule, unknown, commandText, policy),
      about: { type: 'program', step },
    },
    ...step.touched.map((file) => {
      const part = { tool, step, file };
      const isJudged = !isFree && file.access !== 'mention' && (file.byShell || isReading);
      return fileFinding(file, isJudged ? judgeNamed(part, policy) : judgeMention(part, policy));
    }),
  ];
}

/** The sandbox protects repositories, so creating one or changing its settings needs approval. */
function judgeReconfiguration(rule: Rule | undefined, step: JudgedStep, policy: Policy): Verdict | undefined {
  if (!policy.sandboxed || policy.mode !== 'workspace-write' || rule !== undefined) return undefined;
  const subcommand = step.unknown === undefined ? undefined : reconfiguringSubcommand(step.words);
  if (subcommand === undefined) return undefined;
  return verdict(
    'ask',
    `\`git ${subcommand}\` needs approval even in the sandbox: git runs what the settings of a repository name.`,
  );
}

/** A program that an agent could have created is not trusted by its name. */
function programDoubt({ programs }: JudgedStep, { scope }: Policy): string | undefined {
  const ownProgram = programs.find(({ path, real }) => mayWrite(scope, path) || mayWrite(scope, real));
  return ownProgram && `${ownProgram.path} is in a directory that the agent may write to`;
}

/**
 * A command line runs in one mode. If a rule allows one of its programs, git cannot run in read-only mode next
 * to it, and needs a rule or an approval too.
 */
function requireRuleForMixedGit(findings: readonly Finding[]): readonly Finding[] {
  const isMixed = findings.some(
    ({ about, verdict: { decision, onlyReads } }) =>
      about.type === 'program' && decision === 'allow' && onlyReads !== true,
  );
  if (!isMixed) return findings;
  return findings.map((finding) => {
    const { about, verdict: found } = finding;
    if (about.type !== 'program' || about.step.git === undefined || found.onlyReads !== true) return finding;
    const commandText = shorten(about.step.written.map(({ text }) => text).join(' '));
    const reason = `\`${commandText}\` needs approval: next to a command that a rule allows, git may run programs that its repository names.`;
    return { verdict: verdict('ask', reason), about };
  });
}

function judgeRun(
  rule: Rule | undefined,
  unknown: string | undefined,
  commandText: string,
  policy: Policy,
): Verdict {
  if (rule !== undefined && rule.action !== 'auto') return ruleVerdict(rule, `\`${commandText}\``);
  if (policy.mode === 'full-access') return verdict('allow', 'Full access.');
  if (policy.mode === 'read-only')
    return unknown === undefined
      ? allowReadOnly(commandText)
      : verdict(
          'deny',
          `In read-only mode only commands that are known to read run, not \`${commandText}\`: ${unknown}.`,
        );
  if (rule !== undefined) return verdict('allow', `A rule allows \`${commandText}\`.`, rule);
  if (policy.sandboxed) return verdict('allow', 'It runs in a sandbox.');
  if (unknown === undefined) return allowReadOnly(commandText);
  return verdict('ask', `\`${commandText}\` needs approval: ${unknown}.`);
}

function allowReadOnly(commandText: string): Verdict {
  return { ...verdict('allow', `\`${commandText}\` only reads.`), onlyReads: true };
}

/** Judges a file that the command will read or write for certain. */
function judgeNamed(part: Part & { readonly file: TouchedFile }, policy: Policy): Verdict {
  const { location, access, shown: commandText } = part.file;
  const isWritten = access === 'write';
  if (!('problem' in location) || (isWritten && policy.mode === 'read-only')) {
    // Content that is not printed may be secret.
    const file = commandText || isWritten ? part.file : { ...part.file, content: { hasNoSecrets: true } };
    return judgePath({ ...part, file }, isWritten ? 'write' : 'read', policy);
  }
  // A person who sees the command may know.
  const mention = judgeMention(part, policy);
  return mention.decision === 'allow' ? unchecked(fileLabel(part.file), location.problem) : mention;
}

/** Judges a file that the command may use in unknown ways: only rules and secrets matter. */
function judgeMention(part: Part & { readonly file: File & Partial<TouchedFile> }, policy: Policy): Verdict {
  const { file } = part;
  const rule = decidingRule(part, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto') return ruleVerdict(rule, fileLabel(file));
  if (policy.mode === 'full-access') return verdict('allow', `${fileLabel(file)} may be named.`);
  if (rule?.path !== undefined && judgeSensitive(file, 'write', policy)?.decision !== 'deny')
    return verdict('allow', `${fileLabel(file)} may be named.`);
  // A wildcard may match secrets; a name that resolves to nothing does not.
  if ('problem' in file.location && file.many === true)
    return unchecked(fileLabel(file), file.location.problem);
  const isWritten = file.access === 'write';
  const sensitive =
    isWritten || file.shown !== false
      ? judgeSensitive(file, isWritten ? 'write' : 'read', policy)
      : undefined;
  return sensitive ?? verdict('allow', `${fileLabel(file)} may be named.`);
}

function unchecked(path: string, problem: string): Verdict {
  return verdict('ask', `${path} cannot be checked: ${problem}.`);
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
