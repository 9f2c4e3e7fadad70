import { setTimeout as sleep } from 'node:timers/promises';
import {
  type JsonObject,
  messageOf,
  objectOf,
  PolypodError,
  stringOf,
  withoutUndefined,
} from '../../../base/index.ts';
import {
  type AgentOrder,
  type AgentRecord,
  clientKeyFile,
  daemonLink,
  DEFAULT_AGENT,
  NO_AUTH_WARNING,
  readAgent,
  readAgentSettings,
  readClientKey,
} from '../../../daemon/index.ts';
import { existingDirectory, type DataPaths } from '../../../setup/index.ts';
import { doors } from '../../../registry.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { dataPathsOf } from '../../args/data-dir.ts';
import { daemonArguments, startDetached } from '../../hosting/start-daemon.ts';
import { runDaemon } from '../../hosting/run-daemon.ts';
import { agentName, type AgentValues, argumentsFor, orderFrom } from './options.ts';
import { ask, askWhether } from './probe.ts';
import { startProgram } from './program.ts';
import { followAgent } from './follow-agent.ts';

/** `polypod agent start`: starts an agent in the running daemon or in a new one. In the foreground it runs until interrupted. */
export async function start(
  word: string | undefined,
  values: AgentValues,
  context: CommandContext,
): Promise<ExitCode> {
  const dataPaths = dataPathsOf(values, context);
  const name = agentName(word);
  const order = orderFrom(name, values, context);
  await existingDirectory(order.cwd);
  const { stated, cwd } = await readAgentSettings(order, dataPaths);
  const called = stated.name ?? DEFAULT_AGENT;
  if (stated.start !== undefined) {
    const record = await startProgram({ name: called, ...stated.start, cwd }, dataPaths, context);
    return announce(record, undefined, dataPaths, values, context);
  }
  if (values.prompt !== undefined && stated.tls?.client_ca !== undefined)
    throw new PolypodError(
      'bad-request',
      '--prompt cannot present a client certificate: start the agent without it, then run polypod task submit --cert FILE --key FILE',
    );
  const link = await daemonLink(dataPaths);
  const isInForeground = link === undefined && values.foreground;
  // In the foreground, stderr shows the log with this warning, unless it is quiet.
  if (stated.no_auth === true && (!isInForeground || values.quiet))
    context.stderr.write(`polypod agent: warning: ${NO_AUTH_WARNING}\n`);
  if (isInForeground) {
    const more = (): object => ({ agent: readAgent(dataPaths, called) });
    return runDaemon({ env: context.env, dataPaths, doors, agent: order, more }, values, context);
  }
  if (link === undefined) {
    const args = [...argumentsFor(name, order), '--foreground', '--data-dir', dataPaths.dataDirectory];
    const started = await startDetached('agent start', [...args, ...daemonArguments(values)], context);
    return 'code' in started ? started.code : announceReady(called, stated, dataPaths, values, context);
  }
  try {
    if (values.offline || values.sandbox || values['log-level'] !== undefined)
      context.stderr.write(
        'polypod agent: a daemon is up, which --offline, --sandbox and --log-level do not change\n',
      );
    await link.call('agent-start', { ...order, foreground: values.foreground });
    const code = await announceReady(called, stated, dataPaths, values, context);
    return values.foreground ? await followAgent(called, dataPaths, link, context) : code;
  } finally {
    link.close();
  }
}

async function announceReady(
  called: string,
  stated: Pick<AgentOrder['stated'], 'no_auth'>,
  dataPaths: DataPaths,
  values: AgentValues,
  context: CommandContext,
): Promise<ExitCode> {
  const record = readAgent(dataPaths, called);
  if (record === undefined)
    throw new PolypodError('internal', `the agent ${called} has no record of its address`);
  const key = stated.no_auth === true ? undefined : readClientKey(dataPaths);
  await ready(record, key);
  return announce(record, key, dataPaths, values, context);
}

/** The daemon has reported that the agent listens; this checks that it answers. */
async function ready(record: AgentRecord, key: string | undefined): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const failure = await askWhether(record, '/health', key).then(
      ({ status }) =>
        status === 200 || record.clientCertificate === true ? undefined : `it answered ${status}`,
      messageOf,
    );
    if (failure === undefined) return;
    if (attempt >= ATTEMPTS)
      throw new PolypodError(
        'unreachable',
        `the agent ${record.name} does not answer at ${record.url}: ${failure}; see polypod logs`,
      );
    await sleep(PAUSE_MS);
  }
}

async function announce(
  record: AgentRecord,
  key: string | undefined,
  dataPaths: DataPaths,
  values: AgentValues,
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const task = values.prompt === undefined ? undefined : await submit(record, key, values.prompt);
  const keyFile = key === undefined ? undefined : clientKeyFile(dataPaths);
  if (values.json)
    stdout.write(
      `${JSON.stringify({ ...record, ...(keyFile && { keyFile }), ...withoutUndefined({ task }) })}\n`,
    );
  else if (!values.quiet) {
    const lines = [
      `polypod agent: ${record.name} is up at ${record.url}, process ${record.pid}`,
      ...(keyFile === undefined
        ? []
        : [`its key for this user is in ${keyFile}; polypod keys creates others`]),
      ...(task === undefined ? [] : [`its first task is ${stringOf(task.taskId)}`]),
    ];
    stderr.write(`${lines.join('\n  ')}\n`);
  }
  return EXIT.ok;
}

async function submit(record: AgentRecord, key: string | undefined, prompt: string): Promise<JsonObject> {
  const task = { sessionId: record.name, userPrompt: prompt, taskType: 'complex_task' };
  const { status, body } = await ask(record, '/submit_task', key, task);
  if (status === 200 && body.status === 'accepted') return body;
  const why = stringOf(body.message) || stringOf(objectOf(body.error).message) || `it answered ${status}`;
  throw new PolypodError('provider-failed', `the agent is up, but rejected its first task: ${why}`);
}

const ATTEMPTS = 20;
const PAUSE_MS = 100;
