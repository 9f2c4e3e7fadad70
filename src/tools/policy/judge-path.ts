import type { Touched } from './judged.ts';
import { type Policy, ruled, type Verdict, verdict } from './policy.ts';
import { decidingRule, type Part } from './rule.ts';
import { mayRead, mayWrite, type Scope } from './scope.ts';
import { isSecret } from './secret-files.ts';
import { isStartupFile } from './startup-files.ts';

type File = Pick<Touched, 'path' | 'place'>;

/** Whether a file may be read or written. `part` tells who wants to; its file is the one. */
export function judgePath(
  part: Part & { readonly file: File },
  access: 'read' | 'write',
  policy: Policy,
): Verdict {
  const { path, place } = part.file;
  if ('problem' in place) return verdict('deny', `It cannot be told where ${path} leads: ${place.problem}.`);
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
  return judgeSensitive(part.file, access) ?? judgeScope(path, place, access, policy.scope);
}

/** What asks also inside of the scope; undefined for all other files. The name that is used counts like the real one. */
export function judgeSensitive({ path, place }: File, access: 'read' | 'write'): Verdict | undefined {
  const names = 'real' in place ? [path, place.real] : [path];
  if (names.some(isSecret)) return verdict('ask', `${path} may hold secrets.`);
  if (access === 'write' && names.some(isStartupFile))
    return verdict('ask', `What is written to ${path} may be run later by another program.`);
  return undefined;
}

function judgeScope(
  path: string,
  { real, doubt }: { readonly real: string; readonly doubt?: string },
  access: 'read' | 'write',
  scope: Scope,
): Verdict {
  if (doubt !== undefined) return verdict('ask', `${doubt}, which is another place for each program.`);
  const isInside = access === 'read' ? mayRead(scope, real) : mayWrite(scope, real);
  if (isInside) return verdict('allow', `${path} is inside of the allowed paths.`);
  const where = real === path ? path : `${path}, in fact ${real},`;
  return verdict('ask', `${where} is outside of the working directory and the allowed paths.`);
}
