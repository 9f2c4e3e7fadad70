/** The audit log: one hash-chained, rotated record of who did what in a data directory. */
export { AUDIT_LIMITS, type AuditLimits, AuditLog, type AuditLogOptions } from './audit-log.ts';
export { type AuditEntry, type ChainHead, readEntry } from './entry.ts';
export { type Audit, AUDIT_EVENTS, type AuditEvent, type AuditEventName } from './event.ts';
export { type AuditFiles, auditFiles, listAuditFiles } from './files.ts';
export { type AuditFilter, matchesFilter } from './read.ts';
export { type AuditProblem, type AuditVerdict, verifyAudit, type VerifyOptions } from './verify.ts';
