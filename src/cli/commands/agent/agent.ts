import { PolypodError } from '../../../base/index.ts';
import { DEFAULT_AGENT } from '../../../daemon/index.ts';
import { agentName, OPTIONS, refuseStartOptions } from './options.ts';
import { runnable } from '../../command.ts';
import { dataPathsOf } from '../../args/data-dir.ts';

const ACTIONS = ['start', 'stop', 'status', 'list'];

/** `polypod agent`: agents that receive tasks over HTTP. */
export const agent = runnable({
  name: 'agent',
  summary: 'Start, stop and list agents that accept tasks over HTTP.',
  usage: 'start|stop|status|list [NAME] [OPTIONS]',
  options: OPTIONS,
  words: ACTIONS,
  details: `
start opens the tasks door (docs/protocols/tasks.md) in the running daemon, or in a new background process, and
returns when it accepts requests. It listens on 127.0.0.1; another address requires a certificate and its key, or
--behind-proxy. Requests always need an API key: start stores one for this user in tasks/client.key in the data
directory, and polypod keys creates others. Pass secrets in the environment or in files, never as arguments.
stop closes the door; it also stops a process that was started for the agent, but not a daemon with other work. The
daemon restarts an agent that was started without --foreground until it is stopped. The default NAME is
"${DEFAULT_AGENT}".
With start: { command, url } in its configuration, the agent is your own program, which Polypod starts and waits for.

Exit codes: 0 done, 1 failed, 2 usage or configuration error, or the agent is already running, 3 the agent did not
become ready, or is not running (status).

Examples:
  polypod agent start --port 8000 --config agent-config.yaml
  polypod agent start review --port 8001 --cwd ./project --mode read-only
  polypod agent start --address 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
  polypod agent status --json
  polypod agent stop`,
  async run({ values, positionals: [action = '', word, ...rest] }, context) {
    if (!ACTIONS.includes(action))
      throw new PolypodError(
        'bad-request',
        `unknown action "${action}": use ${ACTIONS.join(', ')}, as in polypod agent start --port 8000`,
      );
    if (rest.length > 0 || (action === 'list' && word !== undefined))
      throw new PolypodError(
        'bad-request',
        `agent ${action} takes ${action === 'list' ? 'no name' : 'one name'}, not "${[word, ...rest].join(' ')}"`,
      );
    if (action !== 'start') refuseStartOptions(action, values);
    if (action === 'start') return (await import('./start.ts')).start(word, values, context);
    const dataPaths = dataPathsOf(values, context);
    const name = agentName(word) ?? DEFAULT_AGENT;
    if (action === 'stop') return (await import('./stop.ts')).stop(name, dataPaths, values, context);
    const { list, status } = await import('./inspect.ts');
    return action === 'list'
      ? list(dataPaths, values.json, context)
      : status(name, dataPaths, values.json, context);
  },
});
