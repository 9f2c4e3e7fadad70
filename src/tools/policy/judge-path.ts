import { isJudgedByContent } from './credentials.ts';
import type { Touched } from './judged.ts';
import { type Policy, ruled, type Verdict, verdict } from './policy.ts';
import { decidingRule, type Part } from './rule.ts';
import { isPartlyExecuted } from './executed-fields.ts';
import { isInside, mayRead, mayWrite, type Scope } from './scope.ts';
import { isSecret } from './secret-files.ts';
import { isStartupFile } from './startup-files.ts';

type File = Pick<Touched, 'path' | 'place' | 'content' | 'pattern'>;

/** Whether a file may be read or written. `part` tells who wants to; its file is the one. */
export function judgePath(
  part: Part & { readonly file: File },
  access: 'read' | 'write',
  policy: Policy,
): Verdict {
  const { place } = part.file;
  const path = labelOf(part.file);
  if ('problem' in place) return verdict('deny', `It cannot be told where ${path} leads: ${place.problem}.`);
  if (access === 'write' && policy.mode !== 'full-access' && isOwn(part.file, policy))
    return verdict('deny', ownReason(path));
  const rule = decidingRule(part, policy.rules, policy.scope);
  if (rule !== undefined && rule.action !== 'auto')
    return ruled(rule, `${access === 'read' ? 'reading' : 'writing'} ${path}`);
  if (policy.mode === 'full-access') return verdict('allow', 'Full access.');
  // For the shell it is nothing; a tool might put a file in its place.
  if (part.step !== undefined && place.real === '/dev/null' && place.doubt === undefined)
    return verdict('allow', 'Nothing is kept in /dev/null.');
  if (access === 'write' && policy.mode === 'read-only')
    return verdict('deny', `In read-only mode nothing is written, and this would write ${path}.`);
  // A rule for a tool alone says how it is used, not where: its files are judged as those of every tool.
  if (rule?.path !== undefined) return verdict('allow', `A rule allows ${path}.`, rule);
  return judgeSensitive(part.file, access, policy) ?? judgeScope(part.file, place, access, policy.scope);
}

/** What asks also inside of the scope; undefined for all other files. The name that is used counts like the real one. */
export function judgeSensitive(file: File, access: 'read' | 'write', policy: Policy): Verdict | undefined {
  const { content } = file;
  const path = labelOf(file);
  const names = namesOf(file);
  if (isOwn(file, policy))
    return access === 'write'
      ? verdict('deny', ownReason(path))
      : verdict('ask', `${path} belongs to Polypod itself and may hold secrets.`);
  if (access === 'write' && names.some(isStartupFile))
    return verdict('ask', `What is written to ${path} may be run later by another program.`);
  if (access === 'write' && names.some(isPartlyExecuted) && content?.runsNothingNew !== true)
    return verdict('ask', partlyReason(path));
  if (access === 'write' && content?.isHardLinked === true)
    return verdict('ask', `${path} is a hard link: writing to it changes a file of another name too.`);
  if (names.some((name) => isSecret(name) || isJudgedByContent(name)) && content?.hasNoSecrets !== true)
    return verdict('ask', `${path} may hold secrets.`);
  return undefined;
}

/** How a reason names a file: it is read by the model, which must not learn names through a wildcard. */
export function labelOf({ path, pattern }: File): string {
  return pattern ?? path;
}

function namesOf({ path, place }: File): readonly string[] {
  return 'real' in place ? [path, place.real] : [path];
}

/** Whether a file is part of Polypod's own configuration and data; outputs that an agent may read are not. */
function isOwn(file: File, { protectedPaths = [], scope }: Policy): boolean {
  return namesOf(file).some((name) =>
    protectedPaths.some(
      (own) =>
        isInside(own, name) &&
        !(
          scope.read !== 'anywhere' && scope.read.some((root) => isInside(own, root) && isInside(root, name))
        ),
    ),
  );
}

function ownReason(path: string): string {
  return `${path} belongs to Polypod itself, which an agent may change in full-access mode only. Change it yourself, or with the polypod command.`;
}

function partlyReason(path: string): string {
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
    return verdict('ask', `${doubt}, which is another place for each program.`);
  const isAllowed = access === 'read' ? mayRead(scope, real) : mayWrite(scope, real);
  const path = labelOf(file);
  if (isAllowed) return verdict('allow', `${path} is inside of the allowed paths.`);
  const where = real === path || file.pattern !== undefined ? path : `${path}, in fact ${real},`;
  return verdict('ask', `${where} is outside of the working directory and the allowed paths.`);
}
