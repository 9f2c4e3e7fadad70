import { PolypodError, withoutUndefined } from '../../base/index.ts';
import type { ToolContext } from '../tool.ts';
import { keepsExecutedParts } from './executed-fields.ts';
import { fileFacts } from './file-facts.ts';
import { judge } from './judge.ts';
import type { ExaminedCall } from './judged-access.ts';
import type { Policy } from './policy.ts';
import type { RealPath } from './real-path.ts';
import { isInside } from './scope.ts';
import { isSecret } from './secret-files.ts';

/**
 * Resolves the paths of an allowed call, and judges them again at the moment of use: a link may have been put
 * in their way. What the policy allows passes; what it would ask about passes only if exactly that was judged,
 * because that is what was approved.
 *
 * The returned path contains no links, but one of its directories may still be replaced before it is opened.
 * Node cannot open a file below an open directory, so the caller must use O_NOFOLLOW and check the path of the
 * open file, as the file tools do.
 */
export function guardFor(call: ExaminedCall, policy: Policy, realPath: RealPath): ToolContext['resolve'] {
  return async (path, access, after) => {
    const location = await realPath(path);
    const content =
      after === undefined
        ? undefined
        : { runsNothingNew: await keepsExecutedParts(path, location, () => after, fileFacts) };
    const judged = { type: access, path, location, ...withoutUndefined({ content }) };
    const { decision, reason } = judge({ tool: call.tool, access: [judged] }, policy);
    const isApproved =
      'real' in location &&
      decision === 'ask' &&
      wasJudged(call, access, location.real) &&
      !(after !== undefined && wasJudgedHarmless(call, location.real));
    if ('real' in location && (decision === 'allow' || isApproved)) return location.real;
    throw new PolypodError('denied', `${reason} The call was not judged for it.`);
  };
}

/**
 * Returns whether a write was judged to change nothing that other programs run: approval was not requested for
 * other changes.
 */
function wasJudgedHarmless(call: ExaminedCall, real: string): boolean {
  return call.access.some(
    (judged) =>
      judged.type === 'write' &&
      'real' in judged.location &&
      judged.location.real === real &&
      judged.content?.runsNothingNew === true,
  );
}

/**
 * Returns whether the same location and access was judged; for reading, also files below a directory, unless
 * they are secret.
 */
function wasJudged(call: ExaminedCall, access: 'read' | 'write', real: string): boolean {
  return call.access.some((judged) => {
    if (judged.type !== access || !('real' in judged.location)) return false;
    const root = judged.location.real;
    return root === real || (access === 'read' && isInside(root, real) && !isSecret(real));
  });
}
