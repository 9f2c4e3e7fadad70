import { once } from 'node:events';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { arrayOf, messageOf, objectOf, onAbort, PolypodError, tryParse } from '../../base/index.ts';
import type { AgentEvent } from '../agent-event.ts';
import { AgentProcess } from '../agent-process.ts';
import type {
  AgentConnection,
  AgentDescription,
  AgentEnd,
  AgentServices,
  ProbeOptions,
  ProbeResult,
} from '../agent-program.ts';
import { connectPi } from './connection.ts';

/** Lets a model of our own call `bash`, with an empty configuration of pi, and checks that the call waits for approval. */
export async function probePi(options: ProbeOptions): Promise<ProbeResult> {
  const directory = await mkdtemp(join(options.directory, 'probe-'));
  let answers = 0;
  const server = createServer((request, response) => {
    answers += 1;
    const isFirst = answers === 1;
    request.resume().once('end', () => sendAnswer(response, isFirst));
  });
  try {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening', { signal: options.signal });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return await probeIn(options, directory, `http://127.0.0.1:${port}`);
  } catch (thrown) {
    return { status: 'failed', detail: messageOf(thrown) };
  } finally {
    server.close();
    server.closeAllConnections();
    await rm(directory, { recursive: true, force: true });
  }
}

async function probeIn(options: ProbeOptions, directory: string, url: string): Promise<ProbeResult> {
  const agent = join(directory, 'agent');
  const cwd = join(directory, 'work');
  const files = join(directory, 'files');
  for (const path of [agent, cwd, files]) await mkdir(path, { mode: 0o700 });
  const model = { id: 'probe', contextWindow: 100_000, maxTokens: 1_000 };
  const provider = { baseUrl: url, api: 'anthropic-messages', apiKey: 'probe', models: [model] };
  await writeFile(join(agent, 'models.json'), JSON.stringify({ providers: { polypod: provider } }));
  const asked = await askedBeforeRun(options, { agent, cwd, files });
  if (await exists(join(cwd, PROBE_FILE)))
    return { status: 'runs-unasked', detail: 'pi ran a command that was not approved' };
  return asked
    ? { status: 'asks' }
    : { status: 'failed', detail: 'pi did not ask for approval of a command' };
}

/** Whether pi asks for approval of the call, which is denied. */
async function askedBeforeRun(
  options: ProbeOptions,
  { agent, cwd, files }: { readonly agent: string; readonly cwd: string; readonly files: string },
): Promise<boolean> {
  let isAsked = false;
  let connection: AgentConnection | undefined;
  const ended = new Promise<void>((settle, reject) => {
    const onEvents = async (events: readonly AgentEvent[]): Promise<void> => {
      for (const event of events) {
        if (event.type === 'turn-end') settle();
        if (event.type !== 'permission') continue;
        isAsked = true;
        connection?.answer(event.request.requestId, { decision: 'deny', reason: 'This is a test.' });
      }
    };
    const onEnd = ({ message, stderr }: AgentEnd): void =>
      reject(new PolypodError('unreachable', `pi ended during the check: ${message}. ${stderr}`));
    const env = {
      ...options.env,
      PI_CODING_AGENT_DIR: agent,
      PI_CODING_AGENT_SESSION_DIR: join(agent, 'sessions'),
      PI_OFFLINE: '1',
    };
    const settings = { model: 'polypod/probe', mode: 'workspace-write', paths: [] } as const;
    const launch = { ...options, env, directory: files, cwd, settings, start: { type: 'new' } as const };
    connectPi({ ...launch, mcpServers: [], services: NO_SERVICES, onEvents, onEnd }).then((opened) => {
      connection = opened;
      if (options.signal.aborted) void opened.close();
      else opened.prompt([{ type: 'text', text: 'Check that commands wait for approval.' }]);
    }, reject);
    onAbort(options.signal, () => reject(STOPPED));
  });
  try {
    await ended;
  } finally {
    await connection?.close();
  }
  return isAsked;
}

const STOPPED = new PolypodError('unreachable', 'pi did not answer in time');
const PROBE_FILE = 'probe';

const unavailable = async (): Promise<never> => {
  throw new PolypodError('denied', 'not available');
};
const NO_SERVICES: AgentServices = {
  readTextFile: unavailable,
  writeTextFile: unavailable,
  runCommand: unavailable,
};

/** Answers as the Messages API does: first with a call of `bash`, then with a text. */
function sendAnswer(response: ServerResponse, isFirst: boolean): void {
  const block = isFirst
    ? {
        start: { type: 'tool_use', id: 'toolu_probe', name: 'bash', input: {} },
        delta: { type: 'input_json_delta', partial_json: JSON.stringify({ command: `touch ${PROBE_FILE}` }) },
      }
    : { start: { type: 'text', text: '' }, delta: { type: 'text_delta', text: 'Done.' } };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: 'msg_probe',
    type: 'message',
    role: 'assistant',
    model: 'probe',
    content: [],
    usage,
    stop_reason: null,
    stop_sequence: null,
  };
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block.start },
    { type: 'content_block_delta', index: 0, delta: block.delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: isFirst ? 'tool_use' : 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

/** The version of pi, and whether it has a model that it can use. */
export async function describePi(options: ProbeOptions): Promise<AgentDescription> {
  try {
    const [version] = (await run(options, ['--version'])).lines;
    if (version === undefined || !/^\d+\.\d+\.\d+/.test(version))
      return { version: undefined, signedIn: 'unknown', problem: '"pi --version" printed no version' };
    const { lines, stderr } = await run(
      options,
      ['--mode', 'rpc', '--no-session', '--no-approve', '--offline'],
      { id: 'models', type: 'get_available_models' },
    );
    const response = lines.map((line) => objectOf(tryParse(line))).find(({ id }) => id === 'models');
    if (response === undefined) {
      const isSignedOut = /no models available/i.test(stderr);
      return { version, signedIn: isSignedOut ? 'no' : 'unknown', problem: stderr };
    }
    const hasModels = arrayOf(objectOf(response.data).models).length > 0;
    return hasModels ? { version, signedIn: 'yes' } : { version, signedIn: 'no', problem: NO_MODEL };
  } catch (thrown) {
    return { version: undefined, signedIn: 'unknown', problem: messageOf(thrown) };
  }
}

const NO_MODEL =
  'pi has no model that it can use. Start "pi" and enter /login, or set the key of a provider, such as ANTHROPIC_API_KEY.';

/** Runs pi until it ends by itself, or until it has answered the command. */
async function run(
  { command, env, directory, record, signal }: ProbeOptions,
  args: readonly string[],
  request?: { readonly id: string; readonly type: string },
): Promise<{ readonly lines: readonly string[]; readonly stderr: string }> {
  const lines: string[] = [];
  let [settle, reject] = [() => {}, (_: Error) => {}];
  const ended = new Promise<void>((resolve, fail) => ([settle, reject] = [resolve, fail]));
  const onLines = async (read: readonly string[]): Promise<void> => {
    lines.push(...read);
    if (request !== undefined && read.some((line) => objectOf(tryParse(line)).id === request.id)) settle();
  };
  const onEnd = (): void => settle();
  const program = await AgentProcess.start({ command, args, cwd: directory, env, record, onLines, onEnd });
  try {
    onAbort(signal, () => reject(STOPPED));
    if (request !== undefined) program.send(request);
    await ended;
  } finally {
    await program.close();
  }
  return { lines, stderr: program.stderr };
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
