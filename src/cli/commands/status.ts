import { stringOf } from '../../base/index.ts';
import { daemonLink, type DoorHealth, type Health } from '../../daemon/index.ts';
import { span } from '../output/relative-time.ts';
import { EXIT, runnable } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { table } from '../output/table.ts';

/** `polypod status`: whether a daemon is running, and its health. */
export const status = runnable({
  name: 'status',
  summary: 'Show whether the daemon is running, with its doors, pods and runs.',
  usage: '[OPTIONS]',
  options: {
    ...DATA_DIR,
    json: { type: 'flag', help: 'print one JSON object' },
    metrics: { type: 'flag', help: 'print metrics in the Prometheus text format' },
  },
  details: `
Exit codes: 0 a daemon is running, 3 no daemon is running, 2 usage error.

Examples:
  polypod status
  polypod status --json
  polypod status --metrics`,
  async run({ values, positionals }, context) {
    refuseArguments('status', positionals);
    const dataPaths = dataPathsOf(values, context);
    const link = await daemonLink(dataPaths);
    if (link === undefined) {
      const { dataDirectory } = dataPaths;
      if (values.json) context.stdout.write(`${JSON.stringify({ up: false, dataDirectory })}\n`);
      else context.stderr.write(`no daemon is up on ${dataDirectory}; polypod serve starts one\n`);
      return EXIT.broken;
    }
    try {
      if (values.metrics) {
        context.stdout.write(stringOf((await link.callSoon('metrics')).text));
        return EXIT.ok;
      }
      const health = await link.callSoon('status');
      const { compareWithDaemon } = await import('../hosting/compare-with-daemon.ts');
      const { keys, configuration } = await compareWithDaemon(link, dataPaths, context.env);
      const differences = [...configuration, ...keys];
      if (values.json) context.stdout.write(`${JSON.stringify({ up: true, ...health, differences })}\n`);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent by the daemon, which has the same version
      else context.stdout.write(described(health as unknown as Health));
      if (!values.json) for (const text of differences) context.stderr.write(`polypod: ${text}\n`);
      return EXIT.ok;
    } finally {
      link.close();
    }
  },
});

function described(health: Health): string {
  const { pods, runs, sessions, pendingApprovals, diskFreeBytes, failures } = health;
  const rows = [
    [
      'daemon',
      `${health.state}, process ${health.pid}, up ${span(health.uptimeSeconds)}, version ${health.version}`,
    ],
    ['data', health.dataDirectory],
    ['doors', health.doors.length === 0 ? 'none' : health.doors.map(doorText).join(', ')],
    [
      'pods',
      `${pods.live} in memory of at most ${pods.limit}, ${sessions} ${sessions === 1 ? 'session' : 'sessions'}`,
    ],
    ['runs', `${runs.active} of at most ${runs.limit}`],
    ['asked', pendingApprovals === 1 ? '1 approval waits' : `${pendingApprovals} approvals wait`],
    ...(failures === 0 ? [] : [['failed', `${failures} background failures: see polypod logs`]]),
    ...(health.commands === undefined
      ? []
      : [['limits', `${health.commands.limits}; ${health.commands.isolation}`]]),
    ...(diskFreeBytes === undefined ? [] : [['disk', `${(diskFreeBytes / 1024 ** 3).toFixed(1)} GB free`]]),
  ];
  return table(rows);
}

function doorText({ name, state, reason }: DoorHealth): string {
  return `${name} ${state}${reason === undefined ? '' : ` (${reason})`}`;
}
