import { readFileSync } from 'node:fs';
import { arrayOf, objectIn, objectOf, stringOf } from '../../base/index.ts';
import type { Overrides } from '../../pod/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import { keysFile } from '../../setup/paths/index.ts';

/**
 * Keeps a task from starting whose key was revoked since it was submitted. Asked right before the start, so that it also
 * holds for what waited while no process was up.
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

/** As much of the keys as is needed; one that cannot be read is reported where keys are used. */
function recordsIn(file: string): readonly Record<string, unknown>[] {
  try {
    return arrayOf(objectIn(readFileSync(file, 'utf8'))?.keys).map(objectOf);
  } catch {
    return [];
  }
}
