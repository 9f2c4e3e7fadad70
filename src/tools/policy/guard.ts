import { PolypodError } from '../../base/index.ts';
import type { ToolSurroundings } from '../tool.ts';
import { changesNothingRun } from './executed-fields.ts';
import { fileFacts } from './file-facts.ts';
import { judge } from './judge.ts';
import type { Call } from './judged.ts';
import type { Policy } from './policy.ts';
import type { RealPath } from './real-path.ts';
import { isInside } from './scope.ts';
import { isSecret } from './secret-files.ts';

/**
 * The paths of a call that was let through, followed and judged again at the moment of use: a link may have been put in
 * their way since. What the policy allows by itself passes; what it would ask about passes only if exactly that was
 * judged, since that is what was agreed to.
 *
 * The path that comes back has no links in it, and a directory of it may still be swapped before it is opened. Node
 * cannot open a file below an open directory, so whoever opens it has to say O_NOFOLLOW and look where the open file
 * is, as the file tools do.
 */
export function guardFor(call: Call, policy: Policy, realPath: RealPath): ToolSurroundings['resolve'] {
  return async (path, access, after) => {
    const place = await realPath(path);
    const content =
      after === undefined
        ? undefined
        : { runsNothingNew: await changesNothingRun(path, place, () => after, fileFacts) };
    const judged = { type: access, path, place, ...(content && { content }) };
    const { decision, reason } = judge({ tool: call.tool, access: [judged] }, policy);
    const isAgreed =
      'real' in place &&
      decision === 'ask' &&
      wasJudged(call, access, place.real) &&
      !(after !== undefined && wasHarmless(call, place.real));
    if ('real' in place && (decision === 'allow' || isAgreed)) return place.real;
    throw new PolypodError('denied', `${reason} The call was not judged for it.`);
  };
}

/** Whether a write was judged to change nothing that other programs run: nobody was asked about one that does. */
function wasHarmless(call: Call, real: string): boolean {
  return call.access.some(
    (judged) =>
      judged.type === 'write' &&
      'real' in judged.place &&
      judged.place.real === real &&
      judged.content?.runsNothingNew === true,
  );
}

/** The same place for the same access; for reading, also what is below a directory, unless it is secret. */
function wasJudged(call: Call, access: 'read' | 'write', real: string): boolean {
  return call.access.some((judged) => {
    if (judged.type !== access || !('real' in judged.place)) return false;
    const root = judged.place.real;
    return root === real || (access === 'read' && isInside(root, real) && !isSecret(real));
  });
}
