import { resolve } from 'node:path';
import { asPolypodError } from '../../base/index.ts';
import { freeHldSocket } from '../../protocols/index.ts';
import { doors } from '../../registry.ts';
import { EXIT, runnable } from '../command.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { dataPathsOf } from '../args/data-dir.ts';
import { DAEMON_OPTIONS, runDaemon } from '../hosting/run-daemon.ts';

/** `polypod hld`: a daemon with only the HLD door. */
export const hld = runnable({
  name: 'hld',
  summary: 'Start a daemon with only the HLD door, on the socket that HumanLayer clients use.',
  usage: '[OPTIONS]',
  options: {
    socket: {
      type: 'text',
      value: 'PATH',
      help: 'where to listen (default: HUMANLAYER_DAEMON_SOCKET, or ~/.humanlayer/daemon.sock)',
    },
    ...DAEMON_OPTIONS,
  },
  details: `
This is polypod serve without the other doors; status, stop, approvals and the other commands work with it.
polypod serve also opens this door, unless config.yaml has doors: { hld: false }.

Exit codes: 0 stopped on request, 1 another daemon uses the socket or the data directory, 2 configuration error, 3
system error.

Examples:
  polypod hld
  polypod hld --socket ./daemon.sock --data-dir ./sandbox --offline
  humanlayer launch "What does this project do?"`,
  async run({ values, positionals }, context) {
    refuseArguments('hld', positionals);
    const dataPaths = dataPathsOf(values, context);
    const asked = values.socket === undefined ? {} : { HUMANLAYER_DAEMON_SOCKET: resolve(values.socket) };
    const env = { ...context.env, ...asked };
    const only = doors.filter(({ name }) => name === 'hld');
    try {
      // Checked before sessions are opened, because another daemon may serve them.
      const socket = await freeHldSocket({ home: dataPaths.home, env });
      return await runDaemon({ env, dataPaths, doors: only, needsDoors: true, socket }, values, context);
    } catch (thrown) {
      const { code, message } = asPolypodError(thrown);
      if (code !== 'conflict') throw thrown;
      context.stderr.write(`polypod hld: ${message}\n`);
      return EXIT.failed;
    }
  },
});
