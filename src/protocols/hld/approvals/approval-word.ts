import type { ApprovalStatus } from '../../../pod/index.ts';
import type { ApprovalWord } from '../wire.ts';

const WORDS: Readonly<Record<ApprovalStatus, ApprovalWord>> = {
  pending: 'pending',
  approved: 'approved',
  denied: 'denied',
  expired: 'resolved',
  cancelled: 'resolved',
};

export function approvalWord(status: ApprovalStatus = 'pending'): ApprovalWord {
  return WORDS[status];
}
