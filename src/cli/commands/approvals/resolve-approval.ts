import { PolypodError } from '../../../base/index.ts';
import type { WaitingApproval } from '../../../daemon/index.ts';

/** Finds an approval by id, id prefix, or the short form that HumanLayer's clients show. */
export function resolveApproval(waiting: readonly WaitingApproval[], word: string): WaitingApproval {
  const start = word.toLowerCase().replace(/^local-/, '');
  const [only, ...others] = start === '' ? [] : waiting.filter(({ id }) => id.startsWith(start));
  if (only === undefined)
    throw new PolypodError(
      'not-found',
      `no approval "${word}" is waiting: it may be decided already; polypod approvals lists those that are`,
    );
  if (others.length === 0) return only;
  const ids = [only, ...others].map(({ id }) => id);
  throw new PolypodError(
    'bad-request',
    `${ids.length} approvals are meant by "${word}": ${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ', …' : ''}. Write more of the id.`,
  );
}
