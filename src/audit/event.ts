import type { JsonObject } from '../base/index.ts';

/** What the audit log records. */
export const AUDIT_EVENTS = [
  'agent.started',
  'agent.stopped',
  'approval.approved',
  'approval.cancelled',
  'approval.denied',
  'approval.expired',
  'approval.refused',
  'approval.skipped',
  'audit.gap',
  'audit.removed',
  'audit.rotated',
  'audit.started',
  'audit.torn',
  'config.reloaded',
  'connection.refused',
  'daemon.started',
  'daemon.stopped',
  'key.created',
  'key.expired',
  'key.revoked',
  'key.rotated',
  'request.accepted',
  'request.refused',
  'rule.created',
  'rule.removed',
  'settings.changed',
  'shell.started',
  'task.cancelled',
  'task.paused',
] as const;
export type AuditEventName = (typeof AUDIT_EVENTS)[number];

/** One thing that somebody did, or was refused. Absent fields are unknown, not empty. */
export interface AuditEvent {
  readonly event: AuditEventName;
  /** The protocol that it came through: `pod`, `rpc`, `hld`, `tasks`, `control`, `cli` … */
  readonly door?: string | undefined;
  /** The person or program: a local user, or the owner of a key. */
  readonly by?: string | undefined;
  readonly keyId?: string | undefined;
  /** The id of the session's pod. */
  readonly session?: string | undefined;
  /** The address that a request came from. */
  readonly remote?: string | undefined;
  /** Made by us. */
  readonly requestId?: string | undefined;
  /** As the client sent it. */
  readonly clientRequestId?: string | undefined;
  /** What was asked for, such as `POST /submit_task`. */
  readonly action?: string | undefined;
  /** What it was about: the id of a task, an approval, a key or a rule. */
  readonly target?: string | undefined;
  /** `allowed`, or the code of the refusal. */
  readonly outcome?: string | undefined;
  /** How many events of this kind the entry stands for, if more than one. */
  readonly count?: number | undefined;
  readonly details?: JsonObject | undefined;
}

/** Records an event. Never throws and never waits: an audit log that cannot be written is reported elsewhere. */
export type Audit = (event: AuditEvent) => void;
