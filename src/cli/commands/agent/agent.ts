import { PolypodError } from '../../../base/index.ts';
import { DEFAULT_AGENT } from '../../../daemon/index.ts';
import { agentName, OPTIONS, refuseStartOptions } from './options.ts';
import { runnable } from '../../command.ts';
import { dataPathsOf } from '../../args/data-dir.ts';

const ACTIONS = ['start', 'stop', 'status', 'list'];

/** `polypod agent`: agents that are given work over HTTP. */
export const agent = runnable({
  name: 'agent',
  summary: 'Start, stop and list agents that are given tasks over HTTP.',
  usage: 'start|stop|status|list [NAME] [OPTIONS]',
  options: OPTIONS,
  words: ACTIONS,
  details: `
start opens the tasks door (docs/protocols/tasks.md) in the daemon that is up, or else in a process of its own in the
background, and returns when it answers. It listens on 127.0.0.1; another address is refused without a certificate and its
key, or --behind-proxy. A key is always needed: one for this user's own commands is put into tasks/client.key in the data
directory, and polypod keys makes others. Secrets are given by the environment or by files, never as arguments.
stop closes it; a process of its own ends, a daemon that has other work does not. An agent that was started in a daemon
comes back with the next daemon on the data directory until it is stopped, unless it was started with --foreground. NAME is "${DEFAULT_AGENT}" if none is given.
With start: { command, url } in its configuration the agent is a program of your own, which is started and waited for.

Exit codes: 0 done, 1 failed, 2 usage, configuration, or it is up already, 3 it did not get ready, or is not up (status).

Examples:
  polypod agent start --port 8000 --config agent-config.yaml
  polypod agent start review --port 8001 --cwd ./project --mode read-only
  polypod agent start --address 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
  polypod agent status --json
  polypod agent stop`,
  async run({ values, positionals: [action = '', word, ...rest] }, around) {
    if (!ACTIONS.includes(action))
      throw new PolypodError(
        'bad-request',
        `say ${ACTIONS.join(', ')}, not "${action}": polypod agent start --port 8000`,
      );
    if (rest.length > 0 || (action === 'list' && word !== undefined))
      throw new PolypodError(
        'bad-request',
        `agent ${action} takes ${action === 'list' ? 'no name' : 'one name'}, not "${[word, ...rest].join(' ')}"`,
      );
    if (action !== 'start') refuseStartOptions(action, values);
    if (action === 'start') return (await import('./start.ts')).start(word, values, around);
    const dataPaths = dataPathsOf(values, around);
    const name = agentName(word) ?? DEFAULT_AGENT;
    if (action === 'stop') return (await import('./stop.ts')).stop(name, dataPaths, values, around);
    const { list, status } = await import('./look.ts');
    return action === 'list'
      ? list(dataPaths, values.json, around)
      : status(name, dataPaths, values.json, around);
  },
});
