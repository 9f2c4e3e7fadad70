import { isJudgedByContent } from './credentials.ts';
import type { TouchedFile } from './judged-access.ts';
import { type Policy, ruleVerdict, type Verdict, verdict } from './policy.ts';
import { decidingRule, type Part } from './rule.ts';
import { isPartlyExecuted } from './executed-fields.ts';
import { isInside, mayRead, mayWrite, type Scope } from './scope.ts';
import { isSecret } from './secret-files.ts';
import { isStartupFile } from './startup-files.ts';

type File = Pick<TouchedFile, 'path' | 'location' | 'content' | 'pattern'>;

/** Judges whether a file may be read or written. `part` is the part of the call that accesses it. */
export function judgePath(
  part: Part & { readonly file: File },
  access: 'read' | 'write',
  policy: Policy,
): Verdict {
  const { location } = part.file;
  const path = fileLabel(part.file);
  if ('problem' in location)
    return verdict('deny', `The location of ${path} cannot be determined: ${location.problem}.`);
  if (access === 'write' && policy.mode !== 'full-access' && isOwn(part.file, policy))
    return verdict('deny', ownReason(path));
  const rule = decidingRule(part, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto')
    return ruleVerdict(rule, `${access === 'read' ? 'reading' : 'writing'} ${path}`);
  if (policy.mode === 'full-access') return verdict('allow', 'Full access.');
  // For the shell this is nothing; a file tool might replace the device by a file.
  if (part.step !== undefined && location.real === '/dev/null' && location.doubt === undefined)
    return verdict('allow', '/dev/null keeps nothing.');
  if (access === 'write' && policy.mode === 'read-only')
    return verdict('deny', `In read-only mode nothing is written, and this would write ${path}.`);
  // A rule for a tool alone does not extend to files, which are judged as for every tool.
  if (rule?.path !== undefined) return verdict('allow', `A rule allows ${path}.`, rule);
  return judgeSensitive(part.file, access, policy) ?? judgeScope(part.file, location, access, policy.scope);
}

/**
 * Returns what needs approval even inside the scope; undefined for all other files. The name used counts like
 * the real one.
 */
export function judgeSensitive(file: File, access: 'read' | 'write', policy: Policy): Verdict | undefined {
  const { content } = file;
  const path = fileLabel(file);
  const names = fileNames(file);
  if (isOwn(file, policy))
    return access === 'write'
      ? verdict('deny', ownReason(path))
      : verdict('ask', `${path} belongs to Polypod itself and may hold secrets.`);
  if (access === 'write' && names.some(isStartupFile))
    return verdict('ask', `What is written to ${path} may be run later by another program.`);
  if (access === 'write' && names.some(isPartlyExecuted) && content?.runsNothingNew !== true)
    return verdict('ask', executedPartReason(path));
  if (access === 'write' && content?.isHardLinked === true)
    return verdict('ask', `${path} is a hard link: writing to it also changes a file with another name.`);
  if (names.some((name) => isSecret(name) || isJudgedByContent(name)) && content?.hasNoSecrets !== true)
    return verdict('ask', `${path} may hold secrets.`);
  return undefined;
}

/** Returns the name of a file for a reason. The model reads it and must not learn names through a wildcard. */
export function fileLabel({ path, pattern }: File): string {
  return pattern ?? path;
}

function fileNames({ path, location }: File): readonly string[] {
  return 'real' in location ? [path, location.real] : [path];
}

/**
 * Returns whether a file is part of Polypod's own configuration and data, except outputs that an agent may
 * read.
 */
function isOwn(file: File, { protectedPaths = [], scope }: Policy): boolean {
  return fileNames(file).some((name) =>
    protectedPaths.some(
      (ownPath) =>
        isInside(ownPath, name) &&
        !(
          scope.read !== 'anywhere' &&
          scope.read.some((root) => isInside(ownPath, root) && isInside(root, name))
        ),
    ),
  );
}

function ownReason(path: string): string {
  return `${path} belongs to Polypod itself, which an agent may change in full-access mode only. Change it yourself, or with the polypod command.`;
}

function executedPartReason(path: string): string {
  return /head$/i.test(path)
    ? `${path} may make its directory a git repository.`
    : `${path} has scripts that other programs run later, and this may change them.`;
}

function judgeScope(
  file: File,
  { real, doubt }: { readonly real: string; readonly doubt?: string },
  access: 'read' | 'write',
  scope: Scope,
): Verdict {
  if (doubt !== undefined && file.pattern === undefined)
    return verdict('ask', `${doubt}, which is a different location for each program.`);
  const isAllowed = access === 'read' ? mayRead(scope, real) : mayWrite(scope, real);
  const path = fileLabel(file);
  if (isAllowed) return verdict('allow', `${path} is inside the allowed paths.`);
  const displayPath = real === path || file.pattern !== undefined ? path : `${path}, in fact ${real},`;
  return verdict('ask', `${displayPath} is outside the working directory and the allowed paths.`);
}
