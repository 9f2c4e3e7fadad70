import type { AuditEvent } from '../../audit/index.ts';
import { asPolypodError, isObject, type JsonObject } from '../../base/index.ts';
import type { Caller, PodCommand } from '../command.ts';
import type { PodFact, Settlement } from '../event.ts';
import type { PodSettings } from '../settings.ts';
import type { PodView } from '../view/view.ts';

/**
 * Returns the audit events of a fact, given the pod's state before it. Every decision through any door is such a fact, and so is
 * a settlement by a deadline or a cancelled run.
 */
export function auditEventsOf(
  fact: PodFact,
  { approvals, settings }: Pick<PodView, 'approvals' | 'settings'>,
  session: string,
): readonly AuditEvent[] {
  switch (fact.type) {
    case 'approval-response': {
      const { approval } = approvals.get(fact.approvalId) ?? {};
      // The child records its own approvals.
      if (approval?.podId !== undefined) return [];
      const { tool, title, arguments: args, runId } = approval ?? {};
      const { comment, updatedArguments, remember } = fact;
      return [
        {
          event: EVENTS[fact.status],
          ...by(fact),
          session,
          target: fact.approvalId,
          details: { tool, title, arguments: args, runId, comment, updatedArguments, remember },
        },
      ];
    }
    case 'settings': {
      const changes = changedSettings(settings, fact.settings);
      return changes === undefined
        ? []
        : [{ event: 'settings.changed', ...by(fact), session, details: changes }];
    }
    case 'shell-start':
      return [{ event: 'shell.started', ...by(fact), session, details: { command: fact.command } }];
    default:
      return [];
  }
}

/** Returns the audit events of a rejected decision: one that came too late, or from a caller without permission. */
export function refusedDecisionEvents(
  command: PodCommand,
  caller: Caller,
  thrown: unknown,
  session: string,
): readonly AuditEvent[] {
  if (command.type !== 'decide') return [];
  const details = { decision: command.decision, reason: asPolypodError(thrown).message };
  return [{ event: 'approval.refused', ...by(caller), session, target: command.approvalId, details }];
}

const EVENTS: Readonly<Record<Settlement['status'], AuditEvent['event']>> = {
  approved: 'approval.approved',
  denied: 'approval.denied',
  expired: 'approval.expired',
  cancelled: 'approval.cancelled',
};

function by({
  by: name,
  door,
}: {
  readonly by?: string;
  readonly door?: string;
}): Pick<AuditEvent, 'by' | 'door'> {
  return { by: name, door };
}

/** Settings that determine what is allowed without approval, or which tools and files are available. */
const PERMISSIONS = [
  'mode',
  'rules',
  'fallbackRules',
  'acceptEdits',
  'skipPermissionsUntil',
  'tools',
  'paths',
  'permissionTool',
  'mcpConfig',
  'editorServers',
] as const satisfies readonly (keyof PodSettings)[];

/** The changed settings with their new values; `null` for a removed one. */
function changedSettings(before: PodSettings, after: PodSettings): JsonObject | undefined {
  const changed = PERMISSIONS.filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  ).map((name) => [name, recordedValue(name, after)] as const);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** Of MCP servers only the names: the values may contain secrets. */
function recordedValue(name: (typeof PERMISSIONS)[number], settings: PodSettings): unknown {
  if (name === 'mcpConfig') return namesIn(settings.mcpConfig?.mcpServers);
  return name === 'editorServers' ? namesIn(settings.editorServers) : (settings[name] ?? null);
}

function namesIn(servers: unknown): readonly string[] | null {
  return isObject(servers) ? Object.keys(servers) : null;
}
