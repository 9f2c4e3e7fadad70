import { auditFiles, type AuditLimits, AuditLog, type AuditLogOptions } from '../audit/index.ts';
import { type DataPaths, makePrivate } from '../setup/paths/index.ts';

/** The audit log of a data directory; nothing is made before the first event. */
export function openAudit(
  { dataDirectory }: Pick<DataPaths, 'dataDirectory'>,
  options: Pick<AuditLogOptions, 'redact' | 'limits' | 'onFailure'> = {},
): AuditLog {
  return new AuditLog({ files: auditFiles(dataDirectory), makeDirectory: makePrivate, ...options });
}

/** For a command that records an event or two: to begin a new file is left to whoever knows the configuration. */
export const NO_ROTATION: Partial<AuditLimits> = {
  fileBytes: Number.POSITIVE_INFINITY,
  fileAgeMs: Number.POSITIVE_INFINITY,
};
