import { auditFiles, type AuditLimits, AuditLog, type AuditLogOptions } from '../audit/index.ts';
import { type DataPaths, makePrivateDirectory } from '../setup/paths/index.ts';

/** Opens the audit log of a data directory; creates no file before the first event. */
export function openAudit(
  { dataDirectory }: Pick<DataPaths, 'dataDirectory'>,
  options: Pick<AuditLogOptions, 'redact' | 'limits' | 'onFailure'> = {},
): AuditLog {
  return new AuditLog({ files: auditFiles(dataDirectory), makeDirectory: makePrivateDirectory, ...options });
}

/** For a command that records a few events: rotation is left to processes that know the configuration. */
export const NO_ROTATION: Partial<AuditLimits> = {
  fileBytes: Number.POSITIVE_INFINITY,
  fileAgeMs: Number.POSITIVE_INFINITY,
};
