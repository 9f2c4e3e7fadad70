import { skipping } from './session.ts';

/** What of a session's settings answers questions before they are asked. */
export interface AutoApprovalSettings {
  readonly acceptEdits?: boolean;
  readonly skipPermissionsUntil?: string;
}

/** Why nobody has to decide about a call of a client's, in the words that clients know; undefined when somebody has to. */
export function autoApprovalFor(
  { acceptEdits = false, skipPermissionsUntil }: AutoApprovalSettings,
  tool: string,
  now: number,
): string | undefined {
  if (skipping(skipPermissionsUntil, now).isOn) return 'Auto-accepted (dangerous skip permissions enabled)';
  return acceptEdits && EDITORS.has(tool) ? 'Auto-accepted (auto-accept mode enabled)' : undefined;
}

/** The tools whose calls are accepted with "auto-accept edits", in the words of clients and in ours. */
const EDITORS: ReadonlySet<string> = new Set(['Edit', 'Write', 'MultiEdit', 'edit', 'write']);
