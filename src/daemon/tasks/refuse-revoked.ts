import { readFileSync } from 'node:fs';
import { arrayOf, parseObject, objectOf, stringOf, tryOrUndefined } from '../../base/index.ts';
import type { Overrides } from '../../pod/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import { keysFile } from '../../setup/paths/index.ts';

/**
 * Prevents the start of a task whose key was revoked after its submission. Checked right before the start, so that it also
 * applies to tasks that were queued while no process was running.
 */
export function refuseRevoked(
  dataPaths: Pick<DataPaths, 'dataDirectory'>,
): (overrides: Overrides | undefined) => string | undefined {
  return (overrides) => {
    const { submitter } = overrides ?? {};
    if (submitter === undefined) return undefined;
    const record = recordsIn(keysFile(dataPaths)).find(({ id }) => id === submitter.keyId);
    return stringOf(record?.revokedAt) === ''
      ? undefined
      : `the key ${submitter.keyId} of ${submitter.owner} was revoked before the task began`;
  };
}

/** Reads only the needed fields; an unreadable key is reported where keys are used. */
function recordsIn(file: string): readonly Record<string, unknown>[] {
  return tryOrUndefined(() => arrayOf(parseObject(readFileSync(file, 'utf8'))?.keys).map(objectOf)) ?? [];
}
