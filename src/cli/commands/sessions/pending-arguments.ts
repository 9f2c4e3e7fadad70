import { arrayOf, objectOf } from '../../../base/index.ts';
import { daemonLink } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import type { Row } from '../../../pod/sessions.ts';
import type { Surroundings } from '../../command.ts';
import { openHostInProcess } from '../../hosting/host-in-process.ts';

/** What sessions ask, whole: the arguments as JSON text, by the ids of the approvals. The catalogue has no more than a title. */
export async function pendingArguments(
  rows: readonly Pick<Row, 'id' | 'approvals'>[],
  dataPaths: DataPaths,
  around: Surroundings,
): Promise<ReadonlyMap<string, string>> {
  const asking = rows.filter(({ approvals }) => approvals.length > 0);
  if (asking.length === 0) return new Map();
  const link = await daemonLink(dataPaths);
  if (link === undefined) return argumentsHere(asking, dataPaths, around);
  try {
    const approvals = arrayOf((await link.call('approvals')).approvals).map(objectOf);
    return new Map(
      approvals.flatMap(({ id, arguments: json }) =>
        typeof id === 'string' && typeof json === 'string' ? [[id, json] as const] : [],
      ),
    );
  } finally {
    link.close();
  }
}

/** Without a daemon, in this process. */
async function argumentsHere(
  rows: readonly Pick<Row, 'id'>[],
  dataPaths: DataPaths,
  around: Surroundings,
): Promise<ReadonlyMap<string, string>> {
  const { host, close } = await openHostInProcess({ dataPaths, offline: true }, around);
  try {
    const found = new Map<string, string>();
    for (const { id } of rows) {
      // One that another process has open is not told of: that process asks.
      const snapshot = await host
        .pod(id)
        .snapshot()
        .catch(() => undefined);
      for (const { approvalId, arguments: json } of snapshot?.approvals ?? []) found.set(approvalId, json);
    }
    return found;
  } finally {
    await close();
  }
}
