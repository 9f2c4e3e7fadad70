import { daemonLink } from '../../daemon/index.ts';
import type { DataPaths } from '../../setup/index.ts';
import { sanitizeLine } from '../../terminal/index.ts';
import type { CommandContext } from '../command.ts';
import { compareWithDaemon } from './compare-with-daemon.ts';

/** Prints on stderr how the keys and the configuration of the daemon differ: stdout belongs to the protocol. */
export async function printDifferences(
  dataPaths: DataPaths,
  { env, stderr }: Pick<CommandContext, 'env' | 'stderr'>,
): Promise<void> {
  // The client is served either way, so a failed comparison is not an error.
  const daemon = await daemonLink(dataPaths).catch(() => undefined);
  if (daemon === undefined) return;
  try {
    const { keys, configuration } = await compareWithDaemon(daemon, dataPaths, env);
    for (const text of [...configuration, ...keys]) stderr.write(`polypod: ${sanitizeLine(text)}\n`);
  } catch {
  } finally {
    daemon.close();
  }
}
