import { setTimeout as sleep } from 'node:timers/promises';
import { PolypodError } from '../../base/index.ts';
import type { ControlLink } from '../../control/index.ts';
import { daemonLink } from '../../daemon/index.ts';
import { daemonLock, type DataPaths } from '../../setup/index.ts';
import { readLock } from '../../store/index.ts';
import { EXIT, runnable } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { refuseArguments } from '../args/no-arguments.ts';

const PAUSE_MS = 20;
const PATIENCE_MS = 5000;

/** `polypod stop`: stops the daemon and waits for its end. */
export const stop = runnable({
  name: 'stop',
  summary: 'Stop the daemon and wait until it has exited.',
  usage: '[OPTIONS]',
  options: { ...DATA_DIR, quiet: { type: 'flag', short: 'q', help: 'print nothing' } },
  details: `
Active runs can finish within shutdown_grace (default: 10 s), then they are interrupted. Runs with a pending approval
are kept.

Exit codes: 0 no daemon is running (also if none was), 2 usage error, 3 the daemon did not stop.

Examples:
  polypod stop
  polypod stop && polypod serve --detach`,
  async run({ values, positionals }, context) {
    refuseArguments('stop', positionals);
    const dataPaths = dataPathsOf(values, context);
    const report = (text: string) => (values.quiet ? true : context.stderr.write(`polypod: ${text}\n`));
    const link = await daemonLink(dataPaths);
    if (link === undefined) {
      report(`no daemon is up on ${dataPaths.dataDirectory}`);
      return EXIT.ok;
    }
    await stopDaemon(link, dataPaths);
    report('the daemon has stopped');
    return EXIT.ok;
  },
});

/** Stops the daemon on a connection, and waits for its end. */
export async function stopDaemon(link: ControlLink, dataPaths: DataPaths): Promise<void> {
  const owner = readLock(daemonLock(dataPaths))?.owner;
  await link.callSoon('stop');
  await link.disconnected();
  for (let waited = 0; readLock(daemonLock(dataPaths))?.state === 'alive'; waited += PAUSE_MS) {
    if (waited >= PATIENCE_MS)
      throw new PolypodError('internal', `the daemon, process ${owner?.pid}, does not end: see polypod logs`);
    await sleep(PAUSE_MS);
  }
}
