import { isPartOfId, PolypodError } from '../../../base/index.ts';
import type { WaitingApproval } from '../../../daemon/index.ts';

/** Finds an approval by id, the beginning or end of it, or the short form that HumanLayer's clients show. */
export function resolveApproval(waiting: readonly WaitingApproval[], word: string): WaitingApproval {
  const part = word.toLowerCase().replace(/^local-/, '');
  const [only, ...others] = waiting.filter(({ id }) => isPartOfId(id, part));
  if (only === undefined)
    throw new PolypodError(
      'not-found',
      `there is no pending approval "${word}": it may already be decided; polypod approvals lists the pending ones`,
    );
  if (others.length === 0) return only;
  const ids = [only, ...others].map(({ id }) => id);
  throw new PolypodError(
    'bad-request',
    `"${word}" matches ${ids.length} approvals: ${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}. Use more characters of the id.`,
  );
}
