import { arrayOf, objectOf, stringOf } from '../../../base/index.ts';
import { daemonLink } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import type { Row } from '../../../pod/sessions.ts';
import type { CommandContext } from '../../command.ts';
import { openHostInProcess } from '../../hosting/host-in-process.ts';

/**
 * The arguments of pending calls as JSON, by approval id. Calls that are too long for the catalogue are read from the session.
 */
export async function pendingArguments(
  rows: readonly Pick<Row, 'id' | 'approvals'>[],
  dataPaths: DataPaths,
  context: CommandContext,
): Promise<ReadonlyMap<string, string>> {
  const approvals = rows.flatMap((row) => row.approvals);
  if (approvals.every((approval) => approval.arguments !== undefined)) return argumentsById(approvals);
  const link = await daemonLink(dataPaths);
  if (link === undefined) return argumentsHere(rows, dataPaths, context);
  try {
    const pending = arrayOf((await link.call('approvals')).approvals).map(objectOf);
    return argumentsById(
      pending.map(({ id, arguments: json }) => ({ approvalId: stringOf(id), arguments: json })),
    );
  } finally {
    link.close();
  }
}

/** Reads them in this process, without a daemon. */
async function argumentsHere(
  rows: readonly Pick<Row, 'id'>[],
  dataPaths: DataPaths,
  context: CommandContext,
): Promise<ReadonlyMap<string, string>> {
  const { host, close } = await openHostInProcess({ dataPaths, offline: true }, context);
  try {
    const ids = new Set(rows.map(({ id }) => id));
    const pending = await host.approvals.pending(({ id }) => ids.has(id));
    return argumentsById(pending.map(({ approval }) => approval));
  } finally {
    await close();
  }
}

function argumentsById(
  approvals: readonly { readonly approvalId: string; readonly arguments?: unknown }[],
): ReadonlyMap<string, string> {
  return new Map(
    approvals.flatMap(({ approvalId, arguments: json }) =>
      typeof json === 'string' ? [[approvalId, json] as const] : [],
    ),
  );
}
