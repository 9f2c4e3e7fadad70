import { skipping } from './session.ts';

/** The settings of a session that approve calls automatically. */
export interface AutoApprovalSettings {
  readonly acceptEdits?: boolean;
  readonly skipPermissionsUntil?: string;
}

/** The comment for an automatic approval of a client's call, as clients know it; undefined if a person must decide. */
export function autoApprovalFor(
  { acceptEdits = false, skipPermissionsUntil }: AutoApprovalSettings,
  tool: string,
  now: number,
): string | undefined {
  if (skipping(skipPermissionsUntil, now).isOn) return 'Auto-accepted (dangerous skip permissions enabled)';
  return acceptEdits && EDITORS.has(tool) ? 'Auto-accepted (auto-accept mode enabled)' : undefined;
}

/** The tools that "auto-accept edits" approves, by the names of clients and by ours. */
const EDITORS: ReadonlySet<string> = new Set(['Edit', 'Write', 'MultiEdit', 'edit', 'write']);
