import { access, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { isObject, type JsonObject, messageOf, parseObject, stringOf } from '../../base/index.ts';
import type { AgentEvent } from '../agent-event.ts';
import type {
  AgentConnection,
  AgentDescription,
  ConnectOptions,
  ProbeOptions,
  ProbeResult,
} from '../agent-program.ts';
import { AcpError, AcpLink, connectAcp } from './connection.ts';
import type { AcpDescription, PrepareLaunch, ProbeModel } from './program.ts';

/** How long a probe may take. */
const PROBE_MS = 90_000;
const MARK = 'probe-ran';

/** Checks that the agent asks before it runs a command, as it is started for a pod. */
export async function probeAcp(description: AcpDescription, options: ProbeOptions): Promise<ProbeResult> {
  const { probeModel } = description;
  if (probeModel === undefined) return { status: 'failed', detail: 'this agent has no probe' };
  const root = await mkdtemp(join(options.directory, 'probe-'));
  const cwd = join(root, 'project');
  const home = join(root, 'home');
  for (const directory of [cwd, home]) await mkdir(directory, { mode: 0o700 });
  const tool: { name: string } = { name: '' };
  const server = createServer((request, response) => void answer(request, response, tool.name));
  try {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = isObject(address) ? address.port : 0;
    const model = await probeModel(`http://127.0.0.1:${String(port)}`, { env: options.env, home });
    tool.name = model.tool;
    const probed: AcpDescription = { ...description, prepare: withModel(description.prepare, model) };
    const hasAsked = await runProbe(probed, { ...options, env: { ...options.env, ...model.env } }, cwd);
    const hasRun = await access(join(cwd, MARK)).then(
      () => true,
      () => false,
    );
    if (hasRun)
      return { status: 'runs-unasked', detail: `it ran "touch ${MARK}" although nobody had allowed it` };
    return hasAsked
      ? { status: 'asks' }
      : { status: 'failed', detail: 'it ended its turn without a request for permission' };
  } catch (thrown) {
    return { status: 'failed', detail: messageOf(thrown) };
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The arguments and variables of the probe come last: they direct the agent to the model of the probe. */
function withModel(prepare: AcpDescription['prepare'], model: ProbeModel): PrepareLaunch {
  return async (launch) => {
    const prepared = (await prepare?.(launch)) ?? { args: [], env: {}, instructions: '' };
    return { ...prepared, args: [...prepared.args, ...model.args] };
  };
}

/** Runs one turn and denies all calls. Resolves with whether the agent asked. */
async function runProbe(description: AcpDescription, options: ProbeOptions, cwd: string): Promise<boolean> {
  let hasAsked = false;
  let finish = (): void => {};
  let fail = (_: Error): void => {};
  const over = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  over.catch(() => {});
  let connection: AgentConnection | undefined;
  const onEvents = (events: readonly AgentEvent[]): Promise<void> => {
    for (const event of events) {
      if (event.type === 'permission') {
        hasAsked = true;
        connection?.answer(event.request.requestId, { decision: 'deny', reason: 'This is a test.' });
      }
      if (event.type === 'turn-end') finish();
    }
    return Promise.resolve();
  };
  const onEnd: ConnectOptions['onEnd'] = ({ message, stderr }) => fail(new Error(`${message}\n${stderr}`));
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(PROBE_MS)]);
  signal.addEventListener('abort', () =>
    fail(new Error(`the probe did not end within ${PROBE_MS / 1000} s`)),
  );
  connection = await connectAcp(description, { ...idleOptions(options, cwd), onEvents, onEnd });
  try {
    connection.prompt([{ type: 'text', text: `Run: touch ${MARK}` }]);
    await over;
  } finally {
    await connection.close();
  }
  return hasAsked;
}

/** The version of the program and, if it reports that, whether a user is signed in. */
export async function describeAcp(
  description: AcpDescription,
  options: ProbeOptions,
): Promise<AgentDescription> {
  const { title, signIn } = description;
  const cwd = await mkdtemp(join(options.directory, 'describe-'));
  let link: AcpLink | undefined;
  try {
    const nothing = { onEvents: () => Promise.resolve(), onEnd: () => {} };
    link = await AcpLink.start(description, { ...idleOptions(options, cwd), ...nothing });
    const { version } = await link.within(DESCRIBE_MS, 'answer', link.initialize());
    const known = { version: stringOf(version) || 'unknown' };
    if (description.reportsSignIn !== true) return { ...known, signedIn: 'unknown' };
    try {
      await link.within(DESCRIBE_MS, 'open a session', link.request('session/new', { cwd, mcpServers: [] }));
      return { ...known, signedIn: 'yes' };
    } catch (thrown) {
      const isSignedOut = thrown instanceof AcpError && thrown.needsSignIn;
      const problem = isSignedOut ? `${title} is not signed in: ${signIn}` : messageOf(thrown);
      return { ...known, signedIn: isSignedOut ? 'no' : 'unknown', problem };
    }
  } catch (thrown) {
    return { version: undefined, signedIn: 'unknown', problem: messageOf(thrown) };
  } finally {
    await link?.close();
    await rm(cwd, { recursive: true, force: true });
  }
}

const DESCRIBE_MS = 30_000;

/** Options for a session in which nothing is allowed. */
function idleOptions(options: ProbeOptions, cwd: string): Omit<ConnectOptions, 'onEvents' | 'onEnd'> {
  const refuse = (): Promise<never> => Promise.reject(new Error('not available in a test of the agent'));
  return {
    ...options,
    cwd,
    start: { type: 'new' },
    settings: { mode: 'read-only', paths: [] },
    mcpServers: [],
    services: { readTextFile: refuse, writeTextFile: refuse, runCommand: refuse },
  };
}

/** A model that calls the shell tool once. Requests without tools, such as for a title, get a word. */
async function answer(request: IncomingMessage, response: ServerResponse, tool: string): Promise<void> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  const body = parseObject(text) ?? {};
  const isGemini = request.url?.includes(':') === true && !request.url.startsWith('/v1/chat');
  const isFirst =
    Array.isArray(body.tools) && body.tools.length > 0 && !/"functionResponse"|"role":"tool"/.test(text);
  const input = { command: `touch ${MARK}`, description: 'A test of the permissions' };
  if (isGemini)
    sendGemini(
      response,
      request.url ?? '',
      isFirst ? { functionCall: { name: tool, args: input } } : { text: 'Done.' },
    );
  else sendChat(response, body, isFirst ? { name: tool, arguments: JSON.stringify(input) } : undefined);
}

function sendGemini(response: ServerResponse, url: string, part: JsonObject): void {
  const reply = {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    totalTokens: 1,
  };
  const isStream = url.includes('streamGenerateContent');
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  response.end(isStream ? `data: ${JSON.stringify(reply)}\n\n` : JSON.stringify(reply));
}

function sendChat(response: ServerResponse, body: JsonObject, call: JsonObject | undefined): void {
  const message =
    call === undefined
      ? { content: 'Done.' }
      : { tool_calls: [{ index: 0, id: 'call_probe', type: 'function', function: call }] };
  const reason = call === undefined ? 'stop' : 'tool_calls';
  const head = { id: 'probe', created: 0, model: 'probe' };
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
      }),
    );
    return;
  }
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${chunk({ role: 'assistant', ...message }, null)}${chunk({}, reason)}data: [DONE]\n\n`);
}
