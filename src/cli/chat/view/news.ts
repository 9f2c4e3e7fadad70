import { basename } from 'node:path';
import { callName } from '../../output/call-name.ts';
import type { WorkState } from '../../output/attention.ts';
import { endText } from '../../output/run-end-text.ts';
import { isBusy, type View } from './view.ts';

/** The name of the session, otherwise its title if titles are shown, otherwise its directory. */
export function sessionLabel({ settings, title, cwd }: View, hasTitles: boolean): string {
  return settings.name ?? (hasTitles ? title : undefined) ?? (basename(cwd) || cwd);
}

export function workState({ state, approvals }: View): WorkState {
  if (approvals.length > 0) return 'waiting for approval';
  return isBusy({ state }) ? 'working' : 'idle';
}

/** What has happened between two views of a pod that its user should know about; undefined if nothing. */
export function newsBetween(before: View | undefined, after: View): string | undefined {
  if (before?.podId !== after.podId) return undefined;
  const known = new Set(before.approvals.map(({ approvalId }) => approvalId));
  const asked = after.approvals.find(({ approvalId }) => !known.has(approvalId));
  if (asked !== undefined) return `approval needed: ${callName(asked)}`;
  const { lastRun } = after;
  // Between two runs of queued prompts the pod is idle only in passing.
  const hasEnded = isBusy(before) && !isBusy(after) && after.queue.length === 0;
  return hasEnded && lastRun !== undefined ? endText(lastRun.outcome) : undefined;
}
